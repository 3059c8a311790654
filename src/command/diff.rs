//! `gcwatch diff BEFORE AFTER`: compares two watches.

use std::io::{self, Read, Write};
use std::path::Path;

use super::conclude::report_failed;
use super::input::{held_bytes, open, unreadable};
use super::{output, spared};
use crate::assertion::{Side, Wanted, lengths, rows, wanted};
use crate::cli::{DiffArgs, DiffFormat};
use crate::exit::{Code, Failure};
use crate::gc::facts::{BackgroundGc, Facts, Lost, Watch};
use crate::gc::record::Gc;
use crate::report::{self, DiffReport, DiffSide};
use crate::sys;
use crate::watch::aggregator::Results;
use crate::watch::observer::Observer;
use crate::watch::playback::{PartEnd, Playback};
use crate::watch::processor::StreamProcessor;
use crate::watch::replay::Source;

pub(crate) fn run(args: &DiffArgs) -> Result<Code, Failure> {
    spared::inputs(args.output.as_deref(), [args.before.as_path(), args.after.as_path()])?;
    let wanted = wanted(&args.fail_on);
    let (before, after) = (watched(&args.before, &wanted)?, watched(&args.after, &wanted)?);
    let rows = rows(before.parts(), after.parts());
    let judged: Vec<_> = args.fail_on.iter().map(|assertion| assertion.verdict(&rows)).collect();
    let code = if judged.iter().any(|j| j.fails == Some(true)) {
        Code::BROKEN
    } else if judged.iter().any(|j| j.fails.is_none()) {
        Code::INCOMPLETE
    } else {
        Code::OK
    };
    let warnings = warnings(&before, &after);
    let diff = DiffReport {
        before: before.shown(&args.before),
        after: after.shown(&args.after),
        rows: &rows,
        judged: &judged,
        warnings: &warnings,
        code: code.0,
    };
    let text = match args.format {
        DiffFormat::Text => diff.text(output::terminal(args.color), output::units(args.units)),
        DiffFormat::Json => diff.json()?,
        DiffFormat::Markdown => diff.markdown(output::units(args.units)),
    };
    let written = match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => sys::create(path).and_then(|mut file| file.write_all(text.as_bytes())),
        None => io::stdout().write_all(text.as_bytes()),
    };
    match written {
        // A closed pipe is no failure, and keeps the verdict's exit code.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            report_failed(&e, args.output.as_deref()).map(|_| code)
        }
        _ => Ok(code),
    }
}

/// One of the two watches.
struct Watched {
    side: Side,
    watch: Watch,
    lost: Lost,
    title: Option<String>,
    /// The recording or document is incomplete.
    cut: bool,
}

impl Watched {
    fn parts(&self) -> (&Side, &Lost, &Watch) {
        (&self.side, &self.lost, &self.watch)
    }

    fn shown(&self, path: &Path) -> DiffSide {
        DiffSide {
            file: path.display().to_string(),
            title: self.title.clone(),
            gcs: self.side.summary.gcs,
            level: self.watch.level,
            duration_ns: self.watch.duration_ns,
        }
    }
}

/// The differences that make two watches hard to compare.
fn warnings(before: &Watched, after: &Watched) -> Vec<String> {
    let mut all = Vec::new();
    let (b, a) = (&before.watch, &after.watch);
    if b.level != a.level {
        let names = (b.level.name(), a.level.name());
        all.push(format!(
            "watched at `{}` before and `{}` after: watch both at the same --level",
            names.0, names.1
        ));
    }
    if let Some((before_s, after_s)) = lengths(b, a) {
        all.push(format!(
            "before lasted {before_s:.1} s and after {after_s:.1} s: counts and totals are compared per second"
        ));
    }
    let off = |watch: &Watch| {
        matches!(
            watch.background_gc,
            BackgroundGc::OffInWindows | BackgroundGc::OffWhileWatched | BackgroundGc::OffUntilExit
        )
    };
    if off(b) != off(a) {
        let side = if off(b) { "before" } else { "after" };
        all.push(format!(
            "background GC was off {side} only: pauses and counts are those of another collector"
        ));
    }
    for (name, watched) in [("before", before), ("after", after)] {
        if watched.cut {
            all.push(format!("the recording of {name} is cut off: what it holds was compared"));
        }
        if watched.lost.events > 0 {
            all.push(format!(
                "{} events were lost {name}: counts and sums are too small",
                watched.lost.events
            ));
        }
    }
    all
}

/// Reads a JSON document, which begins with a brace, or a recording.
fn watched(path: &Path, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let mut input = open(path)?;
    let mut first = [0; 1];
    let n = input.read(&mut first).map_err(|e| unreadable(path, &e.to_string()))?;
    let input = io::Cursor::new(first[..n].to_vec()).chain(input);
    if n == 1 && (first[0] == b'{' || first[0].is_ascii_whitespace()) {
        document(path, input, wanted)
    } else {
        recording(path, Source::stream(Box::new(input), held_bytes(path)), wanted)
    }
}

fn document(path: &Path, input: impl Read, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let read = report::read_document(io::BufReader::new(input))
        .map_err(|what| unreadable(path, &what).remedy("a document is what `--format json` writes"))?;
    let mut side = Side::new(wanted);
    read.gcs.iter().for_each(|gc| side.add(gc));
    Ok(Watched { side, watch: read.watch, lost: read.lost, title: read.title, cut: !read.complete })
}

/// An observer that adds the collections up.
struct Collect(Side);

impl Observer for Collect {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.0.add(gc);
        Ok(())
    }

    fn warn(&mut self, _message: &str) -> io::Result<()> {
        Ok(())
    }
}

fn recording(path: &Path, input: Source, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let mut collect = Collect(Side::new(wanted));
    let mut processor = StreamProcessor::new(Facts::default(), &mut collect, false);
    let PartEnd { clean, broken } = processor.replay(&mut Playback::new(vec![input]))?;
    processor.finish()?;
    let damage = processor.aggregator.damage().map(ToString::to_string).or(broken);
    let is_trace = processor.aggregator.is_trace();
    let Results { facts, shown, lost, .. } = processor.into_results();
    if !is_trace || (shown == 0 && damage.is_some()) {
        let what = damage.unwrap_or_else(|| "it is empty, or its header is incomplete".into());
        return Err(unreadable(path, &what));
    }
    let cut = !clean || damage.is_some();
    Ok(Watched { side: collect.0, watch: facts.watch, lost, title: facts.target.command_line, cut })
}
