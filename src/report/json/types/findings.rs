//! What is wrong.

use crate::finding::{self, Finding as Found};
use crate::report::in_short::sentence;
use crate::report::json::number::Number;
use crate::report::json::wire::wire;
use crate::report::units::Units;

wire! {
    /// One thing that is wrong, with its figures and what to change. The first explains most of the pauses or of the
    /// heap.
    Finding(to, found: Found) {
        /// Its kind, which is also the name of its page in docs/findings.
        id: &'static str,
        /// "warning", or "notice" where watching has part in it or the watch is too short to be sure.
        severity: &'static str = found.severity.name(),
        /// What, how much, and whose it is.
        title: String = sentence(&found.title, Units::Iec, true),
        evidence: Vec<Evidence>,
        /// What to change.
        remedy: String = sentence(&found.remedy, Units::Iec, true),
        /// The page about it.
        doc: String = format!("docs/findings/{}.md", found.id),
    }

    /// A figure that was judged.
    Evidence(to, of: finding::Evidence) {
        /// Its name.
        metric: &'static str,
        /// "bytes", "bytes_per_second", "count", "ns", "percent" or "per_second".
        unit: &'static str = of.unit.name(),
        value: Number = Number(of.value),
        /// The figure is at or beyond this bound.
        bound: Number = Number(of.bound),
        /// The numbers of collections that show it, at most ten.
        gcs: Vec<u32>,
    }
}
