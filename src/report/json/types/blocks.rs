//! What moved and what survived.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::number::{Address, Int};

/// The blocks of the compacted generations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Moved {
    /// Blocks whose address changed.
    pub(in crate::report::json) blocks: Int,
    pub(in crate::report::json) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(in crate::report::json) bytes_at_least: bool,
    /// Blocks among them that stayed where they were: pinned, or nothing to close up.
    pub(in crate::report::json) stayed_blocks: Int,
    pub(in crate::report::json) stayed_bytes: Int,
    pub(in crate::report::json) block_bytes: Distribution,
    /// How far they moved: |new - old|.
    pub(in crate::report::json) distance_bytes: Distribution,
    pub(in crate::report::json) histogram: Vec<HistogramRow>,
    /// From which generation to which, those that stayed where they were too. Only with `--blocks`; null
    /// when the bounds of the generations were not known.
    pub(in crate::report::json) transitions: Option<Vec<Transition>>,
    /// Every block; null without `--blocks`.
    pub(in crate::report::json) ranges: Option<Vec<MovedRange>>,
}

/// The blocks that survived where they lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Surviving {
    pub(in crate::report::json) blocks: Int,
    pub(in crate::report::json) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(in crate::report::json) bytes_at_least: bool,
    pub(in crate::report::json) block_bytes: Distribution,
    pub(in crate::report::json) histogram: Vec<HistogramRow>,
    /// Every block; null without `--blocks`.
    pub(in crate::report::json) ranges: Option<Vec<SurvivingRange>>,
}

/// Minimum and maximum are exact; a percentile is the upper end of its step of a histogram with 16
/// steps per power of two, at most 6.25 % too high. All null when there is no value.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Distribution {
    pub(in crate::report::json) min: Option<Int>,
    pub(in crate::report::json) p50: Option<Int>,
    pub(in crate::report::json) p90: Option<Int>,
    pub(in crate::report::json) p99: Option<Int>,
    pub(in crate::report::json) max: Option<Int>,
}

/// Blocks of a size: above the bound of the row before, and at most this one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct HistogramRow {
    /// Null in the last row, which has no bound.
    pub(in crate::report::json) le_bytes: Option<Int>,
    pub(in crate::report::json) blocks: Int,
    pub(in crate::report::json) bytes: Int,
}

/// Blocks by generation before and after.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct Transition {
    pub(in crate::report::json) from: &'static str,
    pub(in crate::report::json) to: &'static str,
    pub(in crate::report::json) blocks: Int,
    pub(in crate::report::json) bytes: Int,
}

/// One block of a compacted generation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct MovedRange {
    pub(in crate::report::json) old: Address,
    /// The same as `old`: it stayed.
    pub(in crate::report::json) new: Address,
    pub(in crate::report::json) bytes: Int,
    /// The generation it lay in.
    pub(in crate::report::json) from: Option<&'static str>,
    /// The generation it lies in now.
    pub(in crate::report::json) to: Option<&'static str>,
}

/// One block that survived where it lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::report::json) struct SurvivingRange {
    pub(in crate::report::json) start: Address,
    pub(in crate::report::json) bytes: Int,
    pub(in crate::report::json) generation: Option<&'static str>,
}
