//! The interface of the formats that write several processes: the trait [`Format`] and the totals.

use std::collections::BTreeMap;
use std::io;

use crate::assertion::Verdict;
use crate::escape::escape_untrusted;
use crate::gc::facts::{Exit, Lost, Target};
use crate::gc::generation::Generation;
use crate::gc::record::Kind;
use crate::report::model::{End, Facts, Report};

/// The exit reason of a process that was not watched.
pub(crate) const NOT_WATCHED: &str = "not-watched";
/// The exit reason of a recording that cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable";

/// An output format for several processes.
pub(crate) trait Format {
    /// The report of one more process.
    fn process(&mut self, target: &Target) -> Box<dyn Report>;

    /// Writes a process that could not be watched, and why: as a report without collections.
    fn not_watched(&mut self, facts: &Facts, _why: &str, end: &End<'_>) -> io::Result<()> {
        let mut report = self.process(&facts.target);
        report.start(facts)?;
        report.end(facts, end)
    }

    /// Called once, after the last process.
    fn end(&mut self, overall: &Overall, exit: &Exit) -> io::Result<()>;
}

/// The label of a process among several: title and process id.
pub(crate) fn label(target: &Target) -> String {
    let title = target.title.as_deref().or(target.executable.as_deref()).unwrap_or("process");
    let title: String = escape_untrusted(title).chars().take(24).collect();
    match target.pid {
        Some(pid) => format!("{title}[{pid}]"),
        None => title,
    }
}

/// Collections of one generation and kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) count: u64,
    /// Sum and maximum of their pauses; `None`: no pause was measured.
    pub(crate) pause_total_ns: Option<u64>,
    pub(crate) pause_max_ns: Option<u64>,
}

/// The verdicts of all processes, by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct VerdictCounts {
    pub(crate) hold: u64,
    pub(crate) fail: u64,
    pub(crate) not_judged: u64,
}

/// The totals of all processes. Percentiles cannot be added up: they are not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Overall {
    /// Processes in the report, including those that could not be watched.
    pub(crate) processes: u64,
    pub(crate) not_watched: u64,
    /// Complete collections.
    pub(crate) gcs: u64,
    pub(crate) incomplete: u64,
    pub(crate) groups: BTreeMap<(Generation, Kind), Count>,
    /// All pauses of complete collections, ns.
    pub(crate) pause_ns: u64,
    pub(crate) verdicts: VerdictCounts,
    pub(crate) lost: Lost,
}

impl Overall {
    /// Adds a process that has ended.
    pub(crate) fn add(&mut self, end: &End<'_>) {
        let sum = end.summary;
        self.processes += 1;
        self.gcs = self.gcs.saturating_add(sum.gcs);
        self.incomplete = self.incomplete.saturating_add(sum.incomplete_gcs());
        self.pause_ns = self.pause_ns.saturating_add(sum.pause_ns);
        for (of, group) in &sum.groups {
            let all = self.groups.entry(*of).or_default();
            all.count = all.count.saturating_add(group.count);
            if let Some(max) = group.pauses.max() {
                let total = all.pause_total_ns.unwrap_or(0).saturating_add(group.pauses.total());
                all.pause_total_ns = Some(total);
                all.pause_max_ns = all.pause_max_ns.max(Some(max));
            }
        }
        end.verdicts.iter().for_each(|verdict| self.judge(verdict));
        self.lost.gcs = self.lost.gcs.saturating_add(end.lost.gcs);
        self.lost.events = self.lost.events.saturating_add(end.lost.events);
        self.lost.ranges = self.lost.ranges.saturating_add(end.lost.ranges);
        self.lost.roots = self.lost.roots.saturating_add(end.lost.roots);
        self.lost.gap = self.lost.gap.or(end.lost.gap);
    }

    fn judge(&mut self, verdict: &Verdict) {
        match verdict.holds {
            Some(true) => self.verdicts.hold += 1,
            Some(false) => self.verdicts.fail += 1,
            None => self.verdicts.not_judged += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::{EXIT, quiet_run, summed, tiny};

    #[test]
    fn sums_are_those_of_the_parts() {
        let (lost, more_lost) =
            (Lost { events: 1, ..Lost::default() }, Lost { roots: 2, events: 3, ..Lost::default() });
        let (one, other) = (summed(&quiet_run()), summed(&[tiny()]));
        let mut overall = Overall::default();
        overall.add(&End { summary: &one, lost: &lost, verdicts: &[], findings: &[], exit: &EXIT });
        overall.add(&End { summary: &other, lost: &more_lost, verdicts: &[], findings: &[], exit: &EXIT });
        assert_eq!((overall.processes, overall.gcs), (2, one.gcs + other.gcs));
        assert_eq!(overall.pause_ns, one.pause_ns + other.pause_ns);
        assert_eq!(overall.groups.values().map(|g| g.count).sum::<u64>(), overall.gcs);
        assert_eq!(overall.groups.values().filter_map(|g| g.pause_total_ns).sum::<u64>(), overall.pause_ns);
        assert_eq!(overall.lost, Lost { events: 4, roots: 2, ..Lost::default() });
    }
}
