//! Reads one run: a document, or the files of a recording.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::assertion::{Side, Wanted};
use crate::command::input::{held_bytes, open, unreadable};
use crate::exit::Failure;
use crate::finding::{Finding, Rules};
use crate::gc::facts::{BackgroundGc, Facts, Lost, Target, Watch};
use crate::gc::record::Gc;
use crate::report::{self, DiffSide, Found, Units};
use crate::watch::aggregator::Results;
use crate::watch::observer::Observer;
use crate::watch::playback::{PartEnd, Playback};
use crate::watch::processor::StreamProcessor;
use crate::watch::replay::Source;

/// One run.
pub(super) struct Watched {
    pub(super) side: Side,
    pub(super) watch: Watch,
    pub(super) lost: Lost,
    pub(super) target: Target,
    /// The recording or document is incomplete.
    pub(super) cut: bool,
    /// The program ended with a failure. A recording cannot tell this.
    pub(super) failed: bool,
    /// The program was watched from its start to its own end. A recording cannot tell this.
    pub(super) whole_program: bool,
    findings: Findings,
}

/// What is wrong with a run.
enum Findings {
    /// As the rules judge its collections.
    Judged(Vec<Finding>),
    /// As the document says; `None`: it does not.
    Read(Option<Vec<Found>>),
}

impl Watched {
    pub(super) fn parts(&self) -> (&Side, &Lost, &Watch) {
        (&self.side, &self.lost, &self.watch)
    }

    pub(super) fn shown(&self, path: &Path, units: Units) -> DiffSide {
        DiffSide {
            file: path.display().to_string(),
            title: self.target.command_line.clone(),
            gcs: self.side.summary.gcs,
            level: self.watch.level,
            duration_ns: self.watch.duration_ns,
            findings: match &self.findings {
                Findings::Judged(findings) => Some(report::found(findings, units)),
                Findings::Read(found) => found.clone(),
            },
        }
    }

    /// Whether watching switched background GC off.
    pub(super) fn background_gc_off(&self) -> bool {
        matches!(
            self.watch.background_gc,
            BackgroundGc::OffForGraph
                | BackgroundGc::OffInWindows
                | BackgroundGc::OffWhileWatched
                | BackgroundGc::OffUntilExit
        )
    }
}

/// Reads a JSON document, which begins with a brace, or a recording.
///
/// # Errors
/// It cannot be read, or is neither.
pub(super) fn watched(path: &Path, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let mut input = open(path)?;
    let mut first = [0; 1];
    let n = input.read(&mut first).map_err(|e| unreadable(path, &e.to_string()))?;
    let input = io::Cursor::new(first[..n].to_vec()).chain(input);
    if n == 1 && (first[0] == b'{' || first[0].is_ascii_whitespace()) {
        document(path, input, wanted)
    } else {
        recording(path, vec![Source::stream(Box::new(input), held_bytes(path))], wanted)
    }
}

fn document(path: &Path, input: impl Read, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let read = report::read_document(io::BufReader::new(input))
        .map_err(|what| unreadable(path, &what).remedy("a document is what `--format json` writes"))?;
    let mut side = Side::new(wanted);
    read.gcs.iter().for_each(|gc| side.add(gc));
    Ok(Watched {
        side,
        watch: read.watch,
        lost: read.lost,
        target: read.target,
        cut: !read.complete,
        failed: read.failed,
        whole_program: read.whole_program,
        findings: Findings::Read(read.findings.map(report::told)),
    })
}

/// An observer that adds the collections up, and shows them to the rules.
struct Collect(Side, Rules);

impl Observer for Collect {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.0.add(gc);
        self.1.add(gc);
        Ok(())
    }

    fn warn(&mut self, _message: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the files of one rotation, in their order, as one run.
///
/// # Errors
/// As [`watched`].
pub(super) fn rotated(files: &[PathBuf], wanted: &[Wanted]) -> Result<Watched, Failure> {
    let [first, _, ..] = files else {
        return files
            .first()
            .map_or_else(|| Err(unreadable(Path::new(""), "no file")), |file| watched(file, wanted));
    };
    let open = |file: &PathBuf| Ok::<_, Failure>(Source::stream(open(file)?, held_bytes(file)));
    recording(first, files.iter().map(open).collect::<Result<_, _>>()?, wanted)
}

fn recording(path: &Path, inputs: Vec<Source>, wanted: &[Wanted]) -> Result<Watched, Failure> {
    let mut collect = Collect(Side::new(wanted), Rules::default());
    let mut processor = StreamProcessor::new(Facts::default(), &mut collect, false);
    let parts = inputs.len();
    let mut playback = Playback::new(inputs);
    let (mut clean, mut broken) = (true, None);
    for part in 0..parts {
        if part > 0 {
            processor.aggregator.next_part();
        }
        let end: PartEnd = processor.replay(&mut playback)?;
        clean &= end.clean;
        let damage = processor.aggregator.damage().map(ToString::to_string);
        broken = broken.or(damage).or(end.broken);
    }
    processor.finish()?;
    let damage = processor.aggregator.damage().map(ToString::to_string).or(broken);
    let is_trace = processor.aggregator.is_trace();
    let Results { facts, shown, lost, summary, .. } = processor.into_results();
    if !is_trace || (shown == 0 && damage.is_some()) {
        let what = damage.unwrap_or_else(|| "it is empty, or its header is incomplete".into());
        return Err(unreadable(path, &what));
    }
    let cut = !clean || damage.is_some();
    let findings = Findings::Judged(collect.1.findings(&facts, &summary));
    Ok(Watched {
        side: collect.0,
        watch: facts.watch,
        lost,
        target: facts.target,
        cut,
        failed: false,
        whole_program: false,
        findings,
    })
}
