//! `gcwatch report FILE…`: makes from recordings the reports that a live watch makes.

use std::path::PathBuf;

use super::conclude::{self, document_of_failure, report_failed};
use super::input::{is_document, recording, unreadable};
use super::observer::ReportObserver;
use super::stderr::say;
use super::watches;
use super::{output, spared, verdict};
use crate::assertion::Assertions;
use crate::cli::{Format, ReportArgs};
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Facts, Gap, Target, Watch};
use crate::report::{UNREADABLE, label};
use crate::target;
use crate::watch::aggregator::Results;
use crate::watch::playback::{PartEnd, Playback};
use crate::watch::processor::{ObserverError, StreamProcessor};
use crate::watch::replay::look_ahead;

/// Reads all files to their ends, damaged or not, and reports on them. The files of one rotation are one watch.
pub(crate) fn run(args: &ReportArgs) -> Result<Code, Failure> {
    let assertions = verdict::assertions(&args.assertions)?;
    let read = args.files.iter().chain(&args.assertions.assert_file).map(PathBuf::as_path);
    spared::inputs(args.output.output.as_deref(), read)?;
    let watches = watches::of(&args.files)?;
    if let [files] = &watches[..] {
        let inputs = inputs(files)?;
        let (report, warnings) = output::open(&args.output, false, false)?;
        let mut observer = ReportObserver::new(report, &assertions, warnings);
        let facts = facts(args, files);
        return one(args, files, inputs, facts, &mut observer, None).map(|(code, _)| code);
    }
    several(args, &watches, &assertions)
}

/// Puts several watches into one report, one after the other.
fn several(args: &ReportArgs, watches: &[watches::Watch], assertions: &Assertions) -> Result<Code, Failure> {
    let mut multi_process = output::open_multi_process(&args.output, false)?;
    let (mut code, mut reason) = (Code::OK, END);
    for files in watches {
        let reported = inputs(files).and_then(|inputs| {
            let facts = facts(args, files);
            let report = multi_process.process(&facts.target);
            let mut observer = ReportObserver::new(report, assertions, output::warnings(&args.output, false));
            let name = facts.target.title.is_some().then(|| label(&facts.target));
            one(args, files, inputs, facts, &mut observer, name.as_deref())
        });
        let (own, its_reason) = match reported {
            Ok(code_and_reason) => code_and_reason,
            // Go on with the other watches.
            Err(failure) if failure.code == Code::BAD_INPUT => {
                say(&format!("gcwatch: {failure}"));
                (failure.code, TRUNCATED)
            }
            Err(failure) => return Err(failure),
        };
        let graver = |rank: &&Code| **rank == own || **rank == code;
        code = *[Code::BAD_INPUT, Code::BROKEN, Code::INCOMPLETE].iter().find(graver).unwrap_or(&code);
        if its_reason == TRUNCATED {
            reason = TRUNCATED;
        }
    }
    match multi_process.end(&Exit { gcwatch: code.0, child: None, reason }) {
        Ok(()) => Ok(code),
        Err(e) => report_failed(&e, args.output.output.as_deref()).map(|_| code),
    }
}

/// The reasons why a report ends.
const END: &str = "end-of-file";
const TRUNCATED: &str = "truncated";

/// Opens all files of a watch before the report begins. Playback reads their first bytes meanwhile.
fn inputs(files: &[PathBuf]) -> Result<Playback, Failure> {
    files.iter().map(|file| recording(file)).collect::<Result<_, _>>().map(Playback::new)
}

/// Reports on one watch. Returns the exit code, and the reason why the report ends.
fn one(
    args: &ReportArgs,
    files: &[PathBuf],
    mut inputs: Playback,
    facts: Facts,
    observer: &mut ReportObserver,
    name: Option<&str>,
) -> Result<(Code, &'static str), Failure> {
    let place = args.output.output.as_deref();
    let played = match play(&mut inputs, files, facts, observer) {
        Ok(played) => played,
        Err(e) => return report_failed(&e, place).map(|code| (code, END)),
    };
    let Played { mut results, damages, is_trace, is_later_part } = played;
    let unread = if is_trace {
        let damage = damages.iter().find(|(_, what)| what != CUT);
        damage.filter(|_| results.shown == 0).map(|(file, what)| unreadable(file, what))
    } else {
        let what = damages.first().map_or(NO_TRACE, |(_, what)| what);
        Some(unreadable(&files[0], if what == CUT { NO_TRACE } else { what }))
    };
    if let Some(failure) = unread {
        let exit = Exit { gcwatch: failure.code.0, child: None, reason: UNREADABLE };
        let why = (&failure, "the recording cannot be read");
        document_of_failure(observer, &results.facts, &exit, why, &args.output)?;
        return Err(match is_document(&files[0]) {
            true => Failure { remedy: vec![DOCUMENT.to_owned()], ..failure },
            false => failure,
        });
    }
    let mut warnings = Vec::new();
    if args.output.format == Format::Text && is_later_part {
        let first = "it begins in the middle of a watch: the files before it are missing";
        warnings.push(format!("{}: {first}", files[0].display()));
    }
    for (file, what) in &damages {
        warnings.push(format!("{}: {what}; the report covers what it holds", file.display()));
        results.lost.gap.get_or_insert(if what == CUT { Gap::Truncated } else { Gap::Damaged });
    }
    for warning in warnings {
        let warned = match args.output.format {
            Format::Text => observer.write(|report| report.warn(&warning)),
            // The other formats cannot hold warnings.
            _ => {
                say(&format!("gcwatch: {warning}"));
                Ok(())
            }
        };
        if let Err(e) = warned {
            return report_failed(&e, place).map(|code| (code, END));
        }
    }
    let whole = damages.is_empty();
    let verdicts = observer.verdicts(&results);
    verdict::say(&verdicts, &args.output, name);
    let code = conclude::judged(&verdicts, args.output.strict && (results.incomplete || !whole));
    let reason = if whole { END } else { TRUNCATED };
    let exit = Exit { gcwatch: code.0, child: None, reason };
    let concluded = conclude::end(results, observer, &verdicts, exit, None);
    concluded.into_result(place).map(|code| (code, reason))
}

/// The results of playing the files of one watch.
struct Played<'f> {
    results: Results,
    /// The damaged files, and what is wrong with each.
    damages: Vec<(&'f PathBuf, String)>,
    is_trace: bool,
    /// The first file begins in the middle of a watch; earlier files are missing.
    is_later_part: bool,
}

/// Plays the files of one watch.
fn play<'f>(
    inputs: &mut Playback,
    files: &'f [PathBuf],
    facts: Facts,
    observer: &mut ReportObserver,
) -> Result<Played<'f>, ObserverError> {
    let looked_ahead = files.iter().all(|file| file.is_file());
    let mut processor = StreamProcessor::new(facts, observer, looked_ahead);
    let mut damages = Vec::new();
    for (n, file) in files.iter().enumerate() {
        if n > 0 {
            processor.aggregator.next_part();
        }
        let PartEnd { clean, broken } = processor.replay(inputs)?;
        let damage = processor.aggregator.damage().map(ToString::to_string);
        damages
            .extend(damage.or(broken).or_else(|| (!clean).then(|| CUT.to_owned())).map(|what| (file, what)));
    }
    processor.finish()?;
    let aggregator = &processor.aggregator;
    let (is_trace, is_later_part) = (aggregator.is_trace(), aggregator.is_later_part());
    Ok(Played { results: processor.into_results(), damages, is_trace, is_later_part })
}

const NO_TRACE: &str = "its header is incomplete: the writer was killed, or the rest is missing";
const DOCUMENT: &str =
    "it is a JSON document: `gcwatch diff BEFORE AFTER` compares two of them; `report` reads recordings";
const CUT: &str = "it ends before its end mark: the writer was killed, or the rest is missing";

/// What the report says first. This reads regular files once more, as they describe their target at their end.
fn facts(args: &ReportArgs, files: &[PathBuf]) -> Facts {
    let mut facts = Facts {
        target: Target { runtime_name: Some(".NET".into()), ..Target::default() },
        watch: Watch { blocks: args.output.blocks, ..Watch::default() },
    };
    if !files.iter().all(|file| file.is_file()) {
        return facts;
    }
    let info = look_ahead(files.iter().filter_map(|file| recording(file).ok()));
    info.complete(&mut facts);
    facts.target.title = info.command_line.as_deref().map(target::title_of);
    facts
}
