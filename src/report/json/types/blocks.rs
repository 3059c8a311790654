//! What moved and what survived.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::number::{Address, Int};

/// The blocks of the compacted generations.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Moved {
    /// Blocks whose address changed.
    pub(crate) blocks: Int,
    pub(crate) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(crate) bytes_at_least: bool,
    /// Blocks among them that stayed where they were: pinned, or nothing to close up.
    pub(crate) stayed_blocks: Int,
    pub(crate) stayed_bytes: Int,
    pub(crate) block_bytes: Distribution,
    /// How far they moved: |new - old|.
    pub(crate) distance_bytes: Distribution,
    pub(crate) histogram: Vec<HistogramRow>,
    /// From which generation to which, those that stayed where they were too. Only with `--blocks`; null
    /// when the bounds of the generations were not known.
    pub(crate) transitions: Option<Vec<Transition>>,
    /// Every block; null without `--blocks`.
    pub(crate) ranges: Option<Vec<MovedRange>>,
}

/// The blocks that survived where they lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Surviving {
    pub(crate) blocks: Int,
    pub(crate) bytes: Int,
    /// A block of 4 GiB or more was reported by a runtime that has 32-bit lengths.
    pub(crate) bytes_at_least: bool,
    pub(crate) block_bytes: Distribution,
    pub(crate) histogram: Vec<HistogramRow>,
    /// Every block; null without `--blocks`.
    pub(crate) ranges: Option<Vec<SurvivingRange>>,
}

/// Minimum and maximum are exact; a percentile is the upper end of its step of a histogram with 16
/// steps per power of two, at most 6.25 % too high. All null when there is no value.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Distribution {
    pub(crate) min: Option<Int>,
    pub(crate) p50: Option<Int>,
    pub(crate) p90: Option<Int>,
    pub(crate) p99: Option<Int>,
    pub(crate) max: Option<Int>,
}

/// Blocks of a size: above the bound of the row before, and at most this one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistogramRow {
    /// Null in the last row, which has no bound.
    pub(crate) le_bytes: Option<Int>,
    pub(crate) blocks: Int,
    pub(crate) bytes: Int,
}

/// Blocks by generation before and after.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Transition {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) blocks: Int,
    pub(crate) bytes: Int,
}

/// One block of a compacted generation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MovedRange {
    pub(crate) old: Address,
    /// The same as `old`: it stayed.
    pub(crate) new: Address,
    pub(crate) bytes: Int,
    /// The generation it lay in.
    pub(crate) from: Option<&'static str>,
    /// The generation it lies in now.
    pub(crate) to: Option<&'static str>,
}

/// One block that survived where it lay.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SurvivingRange {
    pub(crate) start: Address,
    pub(crate) bytes: Int,
    pub(crate) generation: Option<&'static str>,
}
