//! The entry points for fuzzing: they read input from outside, and report it in every format.
//!
//! Nothing may panic, no number may overflow, no report may hold a raw control character, and JSON must parse.

mod graph;
mod sink;

use std::io;

use crate::assertion::{Assertion, Assertions, ChangeAssertion, Side, rows, wanted};
use crate::command::conclude;
use crate::command::observer::{ReportObserver, Warnings};
use crate::gc::facts::{Exit, Facts, LiveState, Lost};
use crate::gc::record::Gc;
use crate::gc::summary::Summary;
use crate::report::{
    CsvReport, DiffReport, DiffSide, End, Filter, GithubOptions, GithubReport, JsonReport, JunitReport,
    MarkdownReport, NdjsonReport, OpenMetricsReport, Place, ReadDocument, Report, TextOptions, TextReport,
    Units, read_document, told,
};
use crate::watch::processor::StreamProcessor;
pub use graph::graph;
use sink::{Kind, Sink, terminal};

/// One assertion for each sort of figure in a recording.
const ASSERTIONS: [&str; 6] = [
    "pause.p99 < 10ms",
    "gc.gen2.count <= 3",
    "moved.bytes.max < 1GiB",
    "heap.after.max < 64MiB",
    "roots.total.max < 1000",
    "lost.events == 0",
];

/// A report that passes everything on to several reports.
struct All(Vec<Box<dyn Report>>);

impl All {
    fn each(&mut self, mut call: impl FnMut(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|report| call(report.as_mut()))
    }
}

impl Report for All {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.each(|report| report.start(facts))
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.each(|report| report.gc(facts, gc))
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        self.each(|report| report.tick(state))
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        self.each(|report| report.warn(message))
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.each(|report| report.end(facts, end))
    }
}

fn every_report() -> All {
    let text = |live| {
        let kind = if live { Kind::LiveText } else { Kind::Text };
        Box::new(TextReport::new(Box::new(Sink::new(kind)), terminal(live), TextOptions::default()))
    };
    let plain = || Box::new(Sink::new(Kind::Text));
    All(vec![
        text(false),
        text(true),
        Box::new(JsonReport::new(Box::new(Sink::new(Kind::Json)))),
        Box::new(NdjsonReport::new(Box::new(Sink::new(Kind::Ndjson)), Filter::default())),
        Box::new(CsvReport::new(plain(), Filter::default())),
        Box::new(MarkdownReport::new(plain(), Units::Iec)),
        Box::new(JunitReport::new(plain(), Units::Si)),
        Box::new(GithubReport::new(plain(), GithubOptions::default())),
        Box::new(OpenMetricsReport::new(Place::Stream(plain()))),
    ])
}

/// Reads a recording in pieces, and reports it in every format; `blocks` as in `--blocks`.
///
/// # Panics
/// A report is not valid.
pub fn recording(bytes: &[u8], blocks: bool) {
    let assertions = Assertions::new(ASSERTIONS.iter().filter_map(|text| text.parse().ok()));
    let mut facts = Facts::default();
    facts.watch.blocks = blocks;
    let mut observer = ReportObserver::new(Box::new(every_report()), &assertions, Warnings::Report);
    let mut processor = StreamProcessor::new(facts, &mut observer, false);
    for (n, piece) in bytes.chunks(1 << 14).enumerate() {
        let _ = processor.bytes(piece);
        let _ = processor.tick(n as u64);
    }
    let _ = processor.finish_live();
    if !processor.aggregator.is_trace() {
        return;
    }
    let results = processor.into_results();
    let verdicts = observer.verdicts(&results);
    let exit = Exit { gcwatch: 0, child: None, reason: "end-of-file" };
    let concluded = conclude::end(results, &mut observer, &verdicts, exit, None);
    assert!(concluded.report_error.is_none(), "a sink accepts every write");
}

/// Parses and judges the expressions of `--assert` and `--fail-on`.
pub fn expression(text: &str) {
    if let Ok(expr) = text.parse::<Assertion>() {
        let verdicts =
            Assertions::new([expr]).judge(&Summary::default(), &Lost::default(), &Facts::default().watch);
        assert_eq!(verdicts.len(), 1);
    }
    let _ = text.parse::<ChangeAssertion>();
}

/// Compares two documents of `--format json`.
pub fn documents(before: &[u8], after: &[u8]) {
    let (Ok(before), Ok(after)) = (read_document(before), read_document(after)) else { return };
    let bounds: Vec<ChangeAssertion> =
        ["pause.p99 +5%", "gc.count +10%"].iter().filter_map(|text| text.parse().ok()).collect();
    let wanted = wanted(&bounds);
    let side = |gcs: &[Gc]| {
        let mut side = Side::new(&wanted);
        gcs.iter().for_each(|gc| side.add(gc));
        side
    };
    let (b, a) = (side(&before.gcs), side(&after.gcs));
    let rows = rows((&b, &before.lost, &before.watch), (&a, &after.lost, &after.watch));
    let judged: Vec<_> = bounds.iter().map(|assertion| assertion.verdict(&rows)).collect();
    let shown = |side: &Side, read: &ReadDocument| DiffSide {
        file: "file".into(),
        title: read.target.command_line.clone(),
        gcs: side.summary.gcs,
        level: read.watch.level,
        duration_ns: read.watch.duration_ns,
        findings: read.findings.clone().map(told),
    };
    let diff = DiffReport {
        before: shown(&b, &before),
        after: shown(&a, &after),
        rows: &rows,
        judged: &judged,
        warnings: &[],
        needed_runs: 5,
        code: 0,
    };
    sink::checked(Kind::Text, diff.text(terminal(false), Units::Iec).as_bytes());
    sink::checked(Kind::Text, diff.markdown(Units::Si).as_bytes());
    if let Ok(json) = diff.json() {
        sink::checked(Kind::Json, json.as_bytes());
    }
}
