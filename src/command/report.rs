//! `gcwatch report FILE…`: the same report, from recordings.

use std::path::PathBuf;

use super::input::{is_document, recording, unreadable};
use super::spared;
use super::verdict;
use super::watches;
use super::{document_of_failure, finish, output, report_failed};
use crate::assertion::Assertions;
use crate::cli::{Format, ReportArgs};
use crate::escape::escape_untrusted;
use crate::exit::{Code, Failure};
use crate::gc::facts::{BackgroundGc, Exit, Gap, Target, Watch, WindowCounts};
use crate::gc::record::Level;
use crate::report::{Facts, IgnoreBrokenPipe, Report, label};
use crate::target;
use crate::watch::playback::{PartEnd, Playback};
use crate::watch::replay::look_ahead;
use crate::watch::session::{ReportError, Session};

/// Reads files to their ends, damaged or not. Those of one rotation are one watch.
pub(crate) fn run(args: &ReportArgs) -> Result<Code, Failure> {
    let checks = verdict::checks(&args.check)?;
    let read = args.files.iter().chain(&args.check.assert_file).map(PathBuf::as_path);
    spared::inputs(args.output.output.as_deref(), read)?;
    let watches = watches::of(&args.files)?;
    if let [files] = &watches[..] {
        let inputs = inputs(files)?;
        let mut output = output::open(&args.output, false, false, !checks.is_empty())?;
        let facts = facts(args, files);
        return one(args, files, inputs, facts, output.report.as_mut(), &checks, None).map(|(code, _)| code);
    }
    several(args, &watches, &checks)
}

/// Recordings of several watches, one after the other in one report.
fn several(args: &ReportArgs, watches: &[watches::Watch], checks: &Assertions) -> Result<Code, Failure> {
    let mut multi_process = output::open_multi_process(&args.output, false)?;
    let (mut code, mut reason) = (Code::OK, END);
    for files in watches {
        let told = inputs(files).and_then(|inputs| {
            let facts = facts(args, files);
            let mut report = multi_process.process(&facts.target);
            if !checks.is_empty() {
                report = Box::new(IgnoreBrokenPipe::new(report));
            }
            let name = facts.target.title.is_some().then(|| label(&facts.target));
            one(args, files, inputs, facts, report.as_mut(), checks, name.as_deref())
        });
        let (own, its_reason) = match told {
            Ok(told) => told,
            // The others are read all the same.
            Err(failure) if failure.code == Code::BAD_INPUT => {
                super::say(&format!("gcwatch: {failure}"));
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

/// Why a report ends.
const END: &str = "end-of-file";
const TRUNCATED: &str = "truncated";

/// All are opened before anything is said, and their first bytes read meanwhile.
fn inputs(files: &[PathBuf]) -> Result<Playback, Failure> {
    files.iter().map(|file| recording(file)).collect::<Result<_, _>>().map(Playback::new)
}

/// Reports one watch. The code, and why it ends.
fn one(
    args: &ReportArgs,
    files: &[PathBuf],
    mut inputs: Playback,
    facts: Facts,
    report: &mut dyn Report,
    checks: &Assertions,
    name: Option<&str>,
) -> Result<(Code, &'static str), Failure> {
    let mut session = Session::new(facts, report).judging(checks);
    if files.iter().all(|file| file.is_file()) {
        session.looked_ahead();
    }
    let place = args.output.output.as_deref();
    let mut damages = Vec::new();
    for (n, file) in files.iter().enumerate() {
        if n > 0 {
            session.next_part();
        }
        match read(&mut session, &mut inputs) {
            Ok(None) => {}
            Ok(Some(damage)) => damages.push((file, damage)),
            Err(e) => return report_failed(&e, place).map(|code| (code, END)),
        }
    }
    if let Err(e) = session.over() {
        return report_failed(&e, place).map(|code| (code, END));
    }
    let unread = if session.is_trace() {
        let damage = damages.iter().find(|(_, what)| what != CUT);
        damage.filter(|_| session.records == 0).map(|(file, what)| unreadable(file, what))
    } else {
        let what = damages.first().map_or(NO_TRACE, |(_, what)| what);
        Some(unreadable(&files[0], if what == CUT { NO_TRACE } else { what }))
    };
    if let Some(failure) = unread {
        let facts = session.facts.clone();
        drop(session);
        let exit = Exit { gcwatch: failure.code.0, child: None, reason: UNREADABLE };
        document_of_failure(report, &facts, &exit, &args.output)?;
        return Err(match is_document(&files[0]) {
            true => Failure { remedy: vec![DOCUMENT.to_owned()], ..failure },
            false => failure,
        });
    }
    if args.output.format == Format::Text && session.is_later_part() {
        let first = "it begins in the middle of a watch: the files before it are not here";
        if let Err(e) = session.warn(&format!("{}: {first}", files[0].display())) {
            return report_failed(&e, place).map(|code| (code, END));
        }
    }
    for (file, what) in &damages {
        let warning = format!("{}: {what}; this is what it holds", file.display());
        let warned = match args.output.format {
            Format::Text => session.warn(&warning),
            // Scripts' formats have no place for it.
            _ => {
                super::say(&format!("gcwatch: {}", escape_untrusted(&warning)));
                Ok(())
            }
        };
        if let Err(e) = warned {
            return report_failed(&e, place).map(|code| (code, END));
        }
    }
    let whole = damages.is_empty();
    for (_, what) in &damages {
        session.has_gap(if what == CUT { Gap::Truncated } else { Gap::Damaged });
    }
    let incomplete = session.incomplete() || !whole;
    let verdicts = session.verdicts();
    verdict::say(&verdicts, &args.output, name);
    let code = match verdict::code(&verdicts) {
        Code::OK if args.output.strict && incomplete => Code::INCOMPLETE,
        code => code,
    };
    let reason = if whole { END } else { TRUNCATED };
    finish(session, Exit { gcwatch: code.0, child: None, reason }, place).map(|code| (code, reason))
}

const NO_TRACE: &str = "it ends before its header does: the writer was killed, or the rest is missing";
const DOCUMENT: &str =
    "it is a JSON document: `gcwatch diff BEFORE AFTER` compares two of them; `report` reads recordings";
/// The reason of a document about it.
const UNREADABLE: &str = "unreadable";
const CUT: &str = "it ends before its end mark: the writer was killed, or the rest is missing";

/// Reads one file to its end. What is wrong with it, if anything.
fn read(session: &mut Session<'_>, inputs: &mut Playback) -> Result<Option<String>, ReportError> {
    let PartEnd { clean, broken } = session.replay(inputs)?;
    let damage = session.damage().map(ToString::to_string);
    Ok(damage.or(broken).or_else(|| (!clean).then(|| CUT.to_owned())))
}

/// What the report says first. Files are read twice: they tell of their target at their end.
fn facts(args: &ReportArgs, files: &[PathBuf]) -> Facts {
    let mut facts = Facts {
        target: Target { runtime_name: Some(".NET".into()), ..Target::default() },
        watch: unknown(args.output.blocks),
    };
    if !files.iter().all(|file| file.is_file()) {
        return facts;
    }
    let info = look_ahead(files.iter().filter_map(|file| recording(file).ok()));
    facts.watch.level = info.level();
    facts.watch.arming = info.arming();
    facts.watch.background_gc = info.background_gc();
    (facts.watch.sample, facts.watch.windows) = info.windows();
    facts.watch.step_back = info.step_back.map(|plan| plan.limits);
    facts.target.title = info.command_line.as_deref().map(target::title_of);
    facts.target.command_line = info.command_line;
    facts.target.os = info.os;
    facts.target.arch = info.arch;
    facts.target.runtime_version = info.runtime_version;
    facts.target.gc = info.gc;
    facts
}

/// What a file cannot know at its start.
pub(super) fn unknown(blocks: bool) -> Watch {
    Watch {
        level: Level::Basic,
        level_reason: None,
        started_at: None,
        duration_ns: None,
        background_gc: BackgroundGc::Untouched,
        arming: None,
        sample: None,
        windows: WindowCounts::default(),
        blocks,
        estimate: None,
        max_blocking_ns: None,
        step_back: None,
        windows_after_gen2: false,
        stepped_back: None,
    }
}
