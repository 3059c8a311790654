//! `--format openmetrics`: the summary as OpenMetrics text, for a scrape file. A file is replaced as a
//! whole, every few seconds, so that a reader never meets half of it.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use super::{End, Facts, LiveState, Report};
use crate::gc::facts::Lost;
use crate::gc::record::{Gc, ROOT_KINDS};
use crate::gc::summary::Summary;

/// How often a file is written anew.
const EVERY_NS: u64 = 5_000_000_000;

/// Where the text goes.
pub(crate) enum Place {
    /// Once, at the end.
    Stream(Box<dyn Write>),
    /// Again and again.
    File(PathBuf),
}

/// The summary so far.
pub(crate) struct OpenMetricsReport {
    place: Place,
    facts: Facts,
    summary: Summary,
    written_at_ns: u64,
}

impl fmt::Debug for OpenMetricsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenMetricsReport").finish_non_exhaustive()
    }
}

impl OpenMetricsReport {
    pub(crate) fn new(place: Place) -> OpenMetricsReport {
        OpenMetricsReport { place, facts: Facts::default(), summary: Summary::default(), written_at_ns: 0 }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        match &mut self.place {
            Place::Stream(out) => {
                out.write_all(text.as_bytes())?;
                out.flush()
            }
            Place::File(path) => {
                let dir = path.parent().filter(|p| !p.as_os_str().is_empty());
                let dir = dir.unwrap_or_else(|| std::path::Path::new("."));
                let mut file = tempfile::Builder::new().prefix(".gcwatch-").tempfile_in(dir)?;
                // A scraper runs as another user.
                crate::sys::readable_by_all(file.as_file())?;
                file.write_all(text.as_bytes())?;
                file.persist(path).map(drop).map_err(|e| e.error)
            }
        }
    }
}

/// One metric family in the making.
struct Page {
    text: String,
    target: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        self.text += &format!("# TYPE {name} {kind}\n");
        if !unit.is_empty() {
            self.text += &format!("# UNIT {name} {unit}\n");
        }
        self.text += &format!("# HELP {name} {help}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, String)], value: impl fmt::Display) {
        let mut all = self.target.clone();
        for (label, value) in labels {
            all += &format!(",{label}=\"{}\"", escaped(value));
        }
        self.text += &format!("{name}{{{all}}} {value}\n");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn page(facts: &Facts, sum: &Summary, lost: &Lost) -> String {
    let pid = facts.target.pid.map_or_else(String::new, |pid| pid.to_string());
    let name = escaped(facts.target.title.as_deref().unwrap_or_default());
    let mut p = Page { text: String::new(), target: format!("pid=\"{pid}\",process=\"{name}\"") };
    let group_labels = |generation: u8, kind: crate::gc::record::Kind| {
        [("generation", generation.to_string()), ("kind", kind.name().to_owned())]
    };
    p.family("gcwatch_collections", "counter", "", "Complete garbage collections.");
    for ((generation, kind), group) in &sum.groups {
        p.sample("gcwatch_collections_total", &group_labels(*generation, *kind), group.count);
    }
    p.family("gcwatch_pause_seconds", "summary", "seconds", "Time the program stood still per collection.");
    for ((generation, kind), group) in &sum.groups {
        let labels = group_labels(*generation, *kind);
        for (quantile, percent) in [("0.5", 50.0), ("0.9", 90.0), ("0.99", 99.0), ("1", 100.0)] {
            if let Some(ns) = group.pauses.percentile(percent) {
                let mut labels = labels.to_vec();
                labels.push(("quantile", quantile.to_owned()));
                p.sample("gcwatch_pause_seconds", &labels, seconds(ns));
            }
        }
        p.sample("gcwatch_pause_seconds_sum", &labels, seconds(group.pauses.total()));
        p.sample("gcwatch_pause_seconds_count", &labels, group.count);
    }
    if let Some(bytes) = sum.heap_after_last_bytes {
        p.family("gcwatch_heap_after_bytes", "gauge", "bytes", "Heap after the last collection.");
        p.sample("gcwatch_heap_after_bytes", &[], bytes);
    }
    for (what, count) in [
        ("moved", sum.moved.as_ref().map(|m| m.count)),
        ("surviving", sum.surviving.as_ref().map(|s| s.count)),
    ] {
        let Some(count) = count else { continue };
        let name = format!("gcwatch_{what}_bytes");
        p.family(&name, "counter", "bytes", &format!("Bytes of {what} blocks."));
        p.sample(&format!("{name}_total"), &[], count.bytes);
        let name = format!("gcwatch_{what}_blocks");
        p.family(&name, "counter", "", &format!("{what} blocks."));
        p.sample(&format!("{name}_total"), &[], count.blocks);
    }
    if let Some(roots) = &sum.roots {
        p.family("gcwatch_roots", "gauge", "", "Roots of a collection by kind, median and maximum.");
        for (kind, tally) in ROOT_KINDS.iter().zip(&roots.by_kind) {
            for (statistic, value) in [("p50", tally.median()), ("max", tally.max())] {
                if let Some(value) = value {
                    let labels = [("kind", (*kind).to_owned()), ("statistic", statistic.to_owned())];
                    p.sample("gcwatch_roots", &labels, value);
                }
            }
        }
    }
    p.family("gcwatch_lost", "counter", "", "What was lost on the way.");
    for (what, n) in [("events", lost.events), ("ranges", lost.ranges), ("roots", lost.roots)] {
        p.sample("gcwatch_lost_total", &[("what", what.to_owned())], n);
    }
    p.family("gcwatch_incomplete_collections", "counter", "", "Collections that were cut off.");
    p.sample("gcwatch_incomplete_collections_total", &[], sum.incomplete_gcs());
    if let Some(ns) = facts.watch.duration_ns {
        p.family("gcwatch_watch_seconds", "gauge", "seconds", "Length of the watch.");
        p.sample("gcwatch_watch_seconds", &[], seconds(ns));
    }
    p.family("gcwatch_watch", "info", "", "How the process is watched.");
    let background = facts.watch.background_gc.name().to_owned();
    let level = facts.watch.level.name().to_owned();
    p.sample("gcwatch_watch_info", &[("level", level), ("background_gc", background)], 1);
    p.text + "# EOF\n"
}

impl Report for OpenMetricsReport {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.facts = facts.clone();
        match self.place {
            // The place is tried at once.
            Place::File(_) => self.write(&page(facts, &self.summary.clone(), &Lost::default())),
            Place::Stream(_) => Ok(()),
        }
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        if &self.facts != facts {
            self.facts = facts.clone();
        }
        self.summary.add(gc);
        Ok(())
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        if matches!(self.place, Place::Stream(_)) || state.elapsed_ns < self.written_at_ns + EVERY_NS {
            return Ok(());
        }
        self.written_at_ns = state.elapsed_ns;
        self.facts.watch.duration_ns = Some(state.elapsed_ns);
        let text = page(&self.facts, &self.summary, &state.lost);
        self.write(&text)
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let text = page(facts, end.summary, end.lost);
        self.write(&text)
    }
}
