//! `--format openmetrics`: the summary as OpenMetrics text, for a file that Prometheus scrapes. Every few seconds a
//! complete file replaces the one before, so a reader never sees half of one.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::model::{End, Facts, LiveState, Report};
use super::multi_process::model::{Format, Overall};
use crate::escape::escape_untrusted;
use crate::gc::facts::{Exit, Lost, Target};
use crate::gc::generation::Generation;
use crate::gc::record::Gc;
use crate::gc::root_kind::RootKind;
use crate::gc::summary::Summary;

/// How often the file is replaced.
const WRITE_INTERVAL_NS: u64 = 5_000_000_000;

/// Where the text goes.
pub(crate) enum Place {
    /// Once, at the end: a pipe or a device.
    Stream(Box<dyn Write>),
    /// Every few seconds, each time a complete file: a regular file, or a path at which there is none yet.
    File(PathBuf),
}

/// The figures of one process.
#[derive(Default)]
struct Entry {
    facts: Facts,
    summary: Summary,
    lost: Lost,
}

/// All processes of one text, and where it goes.
struct Sheet {
    place: Place,
    entries: Vec<Entry>,
}

impl Sheet {
    fn write(&mut self) -> io::Result<()> {
        let mut page = Page::default();
        for entry in &self.entries {
            page.add(entry);
        }
        let text = page.text();
        match &mut self.place {
            Place::Stream(out) => {
                out.write_all(text.as_bytes())?;
                out.flush()
            }
            Place::File(path) => {
                let mut file = crate::sys::replacement(path, true)?;
                file.write_all(text.as_bytes())?;
                file.persist(path).map(drop).map_err(|e| e.error)
            }
        }
    }
}

/// The summary so far.
pub(crate) struct OpenMetricsReport {
    sheet: Rc<RefCell<Sheet>>,
    /// The index of its entry in the sheet.
    index: usize,
    alone: bool,
    written_at_ns: u64,
}

impl OpenMetricsReport {
    pub(crate) fn new(place: Place) -> OpenMetricsReport {
        let sheet = Rc::new(RefCell::new(Sheet { place, entries: vec![Entry::default()] }));
        OpenMetricsReport { sheet, index: 0, alone: true, written_at_ns: 0 }
    }

    fn entry(&mut self, change: impl FnOnce(&mut Entry)) {
        if let Some(mine) = self.sheet.borrow_mut().entries.get_mut(self.index) {
            change(mine);
        }
    }

    fn to_file(&self) -> bool {
        matches!(self.sheet.borrow().place, Place::File(_))
    }
}

/// The summaries of several processes: a family has the samples of all of them.
pub(crate) struct OpenMetricsProcesses(Rc<RefCell<Sheet>>);

impl OpenMetricsProcesses {
    pub(crate) fn new(place: Place) -> OpenMetricsProcesses {
        OpenMetricsProcesses(Rc::new(RefCell::new(Sheet { place, entries: Vec::new() })))
    }
}

impl Format for OpenMetricsProcesses {
    fn process(&mut self, _target: &Target) -> Box<dyn Report> {
        let mut sheet = self.0.borrow_mut();
        sheet.entries.push(Entry::default());
        let (sheet_of_all, index) = (Rc::clone(&self.0), sheet.entries.len() - 1);
        Box::new(OpenMetricsReport { sheet: sheet_of_all, index, alone: false, written_at_ns: 0 })
    }

    fn end(&mut self, _overall: &Overall, _exit: &Exit) -> io::Result<()> {
        self.0.borrow_mut().write()
    }
}

/// Metric families, each with the samples of all processes.
#[derive(Default)]
struct Page {
    /// Name, head, samples.
    families: Vec<(String, String, String)>,
    current: usize,
    target: String,
}

impl Page {
    /// The following samples are of this family.
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let known = self.families.iter().position(|(of, _, _)| of == name);
        self.current = known.unwrap_or(self.families.len());
        if known.is_none() {
            let mut head = format!("# TYPE {name} {kind}\n");
            if !unit.is_empty() {
                head += &format!("# UNIT {name} {unit}\n");
            }
            head += &format!("# HELP {name} {help}\n");
            self.families.push((name.to_owned(), head, String::new()));
        }
    }

    fn sample(&mut self, name: &str, labels: &[(&str, String)], value: impl fmt::Display) {
        let mut all = self.target.clone();
        for (label, value) in labels {
            all += &format!(",{label}=\"{}\"", escaped(value));
        }
        if let Some((_, _, samples)) = self.families.get_mut(self.current) {
            *samples += &format!("{name}{{{all}}} {value}\n");
        }
    }

    /// A family with one sample; a counter's has a suffix.
    fn single(&mut self, name: &str, kind: &str, unit: &str, help: &str, value: impl fmt::Display) {
        self.family(name, kind, unit, help);
        let suffix = if kind == "counter" { "_total" } else { "" };
        self.sample(&format!("{name}{suffix}"), &[], value);
    }

    fn text(self) -> String {
        let families = self.families.into_iter().map(|(_, head, samples)| head + &samples);
        families.chain(["# EOF\n".to_owned()]).collect()
    }
}

fn escaped(text: &str) -> String {
    escape_untrusted(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl Page {
    fn add(&mut self, Entry { facts, summary: sum, lost }: &Entry) {
        let p = self;
        let pid = facts.target.pid.map_or_else(String::new, |pid| pid.to_string());
        let name = escaped(facts.target.title.as_deref().unwrap_or_default());
        p.target = format!("pid=\"{pid}\",process=\"{name}\"");
        let group_labels = |generation: Generation, kind: crate::gc::record::Kind| {
            [("generation", generation.0.to_string()), ("kind", kind.name().to_owned())]
        };
        p.family("gcwatch_collections", "counter", "", "Complete garbage collections.");
        for ((generation, kind), group) in &sum.groups {
            p.sample("gcwatch_collections_total", &group_labels(*generation, *kind), group.count);
        }
        let help = "Time the program stood still per collection.";
        p.family("gcwatch_pause_seconds", "summary", "seconds", help);
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
        let help = "Stops of the program that gcwatch caused; they are in no pause.";
        p.single(
            "gcwatch_caused_by_watching_seconds",
            "counter",
            "seconds",
            help,
            seconds(sum.extra_stops.ns),
        );
        if let Some(bytes) = sum.heap_after_last_bytes {
            p.single("gcwatch_heap_after_bytes", "gauge", "bytes", "Heap after the last collection.", bytes);
        }
        for (what, count) in [
            ("moved", sum.moved.as_ref().map(|m| m.count)),
            ("surviving", sum.surviving.as_ref().map(|s| s.count)),
        ] {
            let Some(count) = count else { continue };
            let (name, help) = (format!("gcwatch_{what}_bytes"), format!("Bytes of {what} blocks."));
            p.single(&name, "counter", "bytes", &help, count.bytes);
            let (name, help) = (format!("gcwatch_{what}_blocks"), format!("{what} blocks."));
            p.single(&name, "counter", "", &help, count.blocks);
        }
        if let Some(roots) = &sum.roots {
            p.family("gcwatch_roots", "gauge", "", "Roots of a collection by kind, median and maximum.");
            for (kind, tally) in RootKind::ALL.iter().zip(&roots.by_kind) {
                for (statistic, value) in [("p50", tally.median()), ("max", tally.max())] {
                    if let Some(value) = value {
                        let labels = [("kind", kind.name().to_owned()), ("statistic", statistic.to_owned())];
                        p.sample("gcwatch_roots", &labels, value);
                    }
                }
            }
        }
        p.family("gcwatch_lost", "counter", "", "What was lost on the way.");
        let kinds = [
            ("collections", lost.gcs),
            ("events", lost.events),
            ("ranges", lost.ranges),
            ("roots", lost.roots),
        ];
        for (what, n) in kinds {
            p.sample("gcwatch_lost_total", &[("what", what.to_owned())], n);
        }
        let help = "Collections that were cut off.";
        p.single("gcwatch_incomplete_collections", "counter", "", help, sum.incomplete_gcs());
        if let Some(ns) = facts.watch.duration_ns {
            p.single("gcwatch_watch_seconds", "gauge", "seconds", "Length of the watch.", seconds(ns));
        }
        if facts.watch.sample.is_some() {
            let windows = facts.watch.windows;
            let help = "Windows in which roots were looked at, and those skipped.";
            p.family("gcwatch_windows", "counter", "", help);
            let skipped = [("background_gc", windows.busy), ("refused", windows.refused)];
            for (outcome, n) in [("taken", windows.taken)].into_iter().chain(skipped) {
                p.sample("gcwatch_windows_total", &[("outcome", outcome.to_owned())], n);
            }
            let (help, seen) =
                ("Collections that showed their roots.", sum.roots.as_ref().map_or(0, |r| r.gcs));
            p.single("gcwatch_collections_with_roots", "counter", "", help, seen);
        }
        p.family("gcwatch_watch", "info", "", "How the process is watched.");
        let background = facts.watch.background_gc.name().to_owned();
        let level = facts.watch.level.name().to_owned();
        p.sample("gcwatch_watch_info", &[("level", level), ("background_gc", background)], 1);
    }
}

impl Report for OpenMetricsReport {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.entry(|mine| mine.facts = facts.clone());
        match self.to_file() {
            // An error of the path shows at once.
            true => self.sheet.borrow_mut().write(),
            false => Ok(()),
        }
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.entry(|mine| {
            if &mine.facts != facts {
                mine.facts = facts.clone();
            }
            mine.summary.add(gc);
        });
        Ok(())
    }

    fn tick_every(&self) -> Option<Duration> {
        self.to_file().then_some(Duration::from_nanos(WRITE_INTERVAL_NS))
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        if !self.to_file() || state.elapsed_ns < self.written_at_ns + WRITE_INTERVAL_NS {
            return Ok(());
        }
        self.written_at_ns = state.elapsed_ns;
        self.entry(|mine| {
            mine.facts.watch.duration_ns = Some(state.elapsed_ns);
            mine.lost = state.lost;
        });
        self.sheet.borrow_mut().write()
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.entry(|mine| {
            *mine = Entry { facts: facts.clone(), summary: end.summary.clone(), lost: *end.lost };
        });
        match self.alone || self.to_file() {
            true => self.sheet.borrow_mut().write(),
            false => Ok(()),
        }
    }
}
