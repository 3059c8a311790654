//! What a finding is.

use super::sentence::Sentence;

/// Collections that a piece of evidence names.
pub(super) const MAX_GCS: usize = 10;

/// How sure a finding is of its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The program should be changed, or its settings.
    Warning,
    /// Watching has part in it, or the watch is too short to be sure.
    Notice,
}

impl Severity {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Notice => "notice",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    /// One of [`IDS`](super::IDS); `docs/findings/ID.md` is about it.
    pub(crate) id: &'static str,
    pub(crate) severity: Severity,
    /// What, how much, and whose it is.
    pub(crate) title: Sentence,
    pub(crate) evidence: Vec<Evidence>,
    /// What to change.
    pub(crate) remedy: Sentence,
    /// The part that it explains, from 0 to 1: of all pauses, or of the heap. Findings are sorted by it.
    pub(crate) share: f64,
}

/// A figure that a rule judged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evidence {
    pub(crate) metric: &'static str,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
    /// The value from which on, or up to which, the rule finds something.
    pub(crate) bound: f64,
    /// Numbers of collections that show it, at most ten.
    pub(crate) gcs: Vec<u32>,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    BytesPerSecond,
    Count,
    Ns,
    NsPerMib,
    Percent,
    PerSecond,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "bytes_per_second",
            Unit::Count => "count",
            Unit::Ns => "ns",
            Unit::NsPerMib => "ns_per_mib",
            Unit::Percent => "percent",
            Unit::PerSecond => "per_second",
        }
    }
}

impl Evidence {
    pub(super) fn new(metric: &'static str, unit: Unit, value: f64, bound: f64) -> Evidence {
        Evidence { metric, unit, value, bound, gcs: Vec::new() }
    }

    pub(super) fn in_gcs(mut self, gcs: &[u32]) -> Evidence {
        self.gcs.extend(gcs.iter().take(MAX_GCS));
        self
    }
}
