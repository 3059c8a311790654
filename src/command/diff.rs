//! `gcwatch diff BEFORE AFTER`: two watches side by side.

use std::io::{self, Read, Write};
use std::path::Path;

use super::input::{open, unreadable};
use super::output;
use super::report::unknown;
use super::spared;
use crate::assertion::{Side, Wanted, lengths, rows, wanted};
use crate::cli::{DiffArgs, DiffFormat};
use crate::exit::{Code, Failure};
use crate::gc::facts::{BackgroundGc, Lost, Target, Watch};
use crate::gc::record::Gc;
use crate::report::{self, ChangeVerdict, DiffReport, DiffSide, End, Facts, Report};
use crate::sys;
use crate::watch::session::{Progress, Session};

/// Reads both, compares, judges.
pub(crate) fn run(args: &DiffArgs) -> Result<Code, Failure> {
    spared::inputs(args.output.as_deref(), [args.before.as_path(), args.after.as_path()])?;
    let wanted = wanted(&args.fail_on);
    let (before, after) = (watched(&args.before, &wanted)?, watched(&args.after, &wanted)?);
    let rows = rows(before.parts(), after.parts());
    let judged: Vec<ChangeVerdict> = args
        .fail_on
        .iter()
        .map(|bound| ChangeVerdict {
            text: bound.text.clone(),
            name: bound.name.clone(),
            fails: bound.fails(&rows),
        })
        .collect();
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
        // A verdict is owed all the same.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            super::report_failed(&e, args.output.as_deref()).map(|_| code)
        }
        _ => Ok(code),
    }
}

/// One of the two.
struct Watched {
    side: Side,
    watch: Watch,
    lost: Lost,
    title: Option<String>,
    /// It was cut off.
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

/// What keeps two watches from being compared like with like.
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

/// A document begins with a brace, a recording with its magic.
fn watched(path: &Path, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let mut input = open(path)?;
    let mut first = [0; 1];
    let n = input.read(&mut first).map_err(|e| unreadable(path, &e.to_string()))?;
    let input = io::Cursor::new(first[..n].to_vec()).chain(input);
    if n == 1 && (first[0] == b'{' || first[0].is_ascii_whitespace()) {
        document(path, input, wanted)
    } else {
        recording(path, input, wanted)
    }
}

fn document(path: &Path, input: impl Read, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let read = report::read_document(io::BufReader::new(input))
        .map_err(|what| unreadable(path, &what).remedy("a document is what `--format json` writes"))?;
    let mut side = Side::new(wanted);
    read.gcs.iter().for_each(|gc| side.add(gc));
    Ok(Watched { side, watch: read.watch, lost: read.lost, title: read.title, cut: !read.whole })
}

/// Takes collections instead of writing them.
#[derive(Debug)]
struct Collect {
    side: Side,
    facts: Facts,
    lost: Lost,
}

impl Report for Collect {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.side.add(gc);
        Ok(())
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.facts = facts.clone();
        self.lost = *end.lost;
        Ok(())
    }
}

fn recording(path: &Path, mut input: impl Read, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let facts = Facts { target: Target::default(), watch: unknown(false) };
    let mut collect = Collect { side: Side::new(wanted), facts: facts.clone(), lost: Lost::default() };
    let mut session = Session::new(facts, &mut collect);
    let mut buffer = vec![0; 1 << 20];
    let mut ended = false;
    let mut broken = None;
    while !ended {
        let n = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                broken = Some(e.to_string());
                break;
            }
        };
        match session.bytes(&buffer[..n])? {
            Progress::Goes => {}
            Progress::Ended => ended = true,
            Progress::Broken => break,
        }
    }
    ended |= session.finish()? == Progress::Ended;
    let damage = session.damage().map(ToString::to_string).or(broken);
    if !session.is_trace() || (session.records == 0 && damage.is_some()) {
        let what = damage.unwrap_or_else(|| "it is empty, or ends before its header does".into());
        return Err(unreadable(path, &what));
    }
    session.end(&crate::gc::facts::Exit { gcwatch: 0, child: None, reason: "end-of-file" })?;
    let cut = !ended || damage.is_some();
    let Collect { side, facts, lost } = collect;
    Ok(Watched { side, watch: facts.watch, lost, title: facts.target.command_line, cut })
}
