//! `gcwatch report FILE`: the same report, from a recording.

use std::io::{self, Write};

use super::input::{open, unreadable};
use super::verdict;
use super::{finish, output, report_failed};
use crate::cli::{Format, ReportArgs};
use crate::exit::{Code, Failure};
use crate::gc::facts::{BackgroundGc, Exit, Target, Watch};
use crate::gc::record::Level;
use crate::report::Facts;
use crate::target;
use crate::watch::session::{Progress, Session, look_ahead};

/// Reads the file to its end, damaged or not.
pub(crate) fn run(args: &ReportArgs) -> Result<Code, Failure> {
    let mut input = open(&args.file)?;
    let checks = verdict::checks(&args.check)?;
    let mut output = output::open(&args.output, false, false, !checks.is_empty())?;
    let facts = facts(args);
    let mut session = Session::new(facts, output.report.as_mut(), None).judging(&checks);
    if args.file.is_file() {
        session.looked_ahead();
    }
    let mut buffer = vec![0; 1 << 20];
    let mut clean = false;
    let mut broken: Option<String> = None;
    loop {
        let n = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                broken = Some(e.to_string());
                break;
            }
        };
        match session.bytes(&buffer[..n]) {
            Ok(Progress::Goes) => {}
            Ok(Progress::Ended) => {
                clean = true;
                break;
            }
            Ok(Progress::Broken) => break,
            Err(e) => return report_failed(&e, args.output.output.as_deref()),
        }
    }
    if let Err(e) = session.finish().map(|p| clean |= p == Progress::Ended) {
        return report_failed(&e, args.output.output.as_deref());
    }
    let damage = session.damage().map(ToString::to_string).or(broken);
    if !session.is_trace() {
        let what = damage.unwrap_or_else(|| "it is empty, or ends before its header does".into());
        return Err(unreadable(&args.file, &what));
    }
    if session.records == 0 && damage.is_some() {
        return Err(unreadable(&args.file, &damage.unwrap_or_default()));
    }
    let whole = clean && damage.is_none();
    if !whole {
        let what = damage.unwrap_or_else(|| {
            "it ends before its end mark: the writer was killed, or the rest is missing".into()
        });
        let warning = format!("{}: {what}; this is what it holds", args.file.display());
        let warned = match args.output.format {
            Format::Text => session.warn(&warning),
            // Scripts' formats have no place for it.
            _ => writeln!(io::stderr(), "gcwatch: {warning}"),
        };
        if let Err(e) = warned {
            return report_failed(&e, args.output.output.as_deref());
        }
    }
    let incomplete = session.incomplete() || !whole;
    let verdicts = session.verdicts();
    verdict::say(&verdicts, &args.output, None);
    let code = match verdict::code(&verdicts) {
        Code::OK if args.output.strict && incomplete => Code::INCOMPLETE,
        code => code,
    };
    let reason = if whole { "end-of-file" } else { "truncated" };
    finish(session, Exit { gcwatch: code.0, child: None, reason }, args.output.output.as_deref())
}

/// What the report says first. A file is read twice: it tells of its target at its end.
fn facts(args: &ReportArgs) -> Facts {
    let mut facts = Facts {
        target: Target { runtime_name: Some(".NET".into()), ..Target::default() },
        watch: unknown(args.output.blocks),
    };
    if !args.file.is_file() {
        return facts;
    }
    if let Ok(input) = open(&args.file) {
        let told = look_ahead(input);
        facts.watch.level = told.level();
        facts.watch.arming = told.arming();
        facts.watch.background_gc = told.background_gc();
        facts.target.title = told.command_line.as_deref().map(target::title_of);
        facts.target.command_line = told.command_line;
        facts.target.os = told.os;
        facts.target.arch = told.arch;
        facts.target.runtime_version = told.runtime_version;
        facts.target.gc = told.gc;
    }
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
        windows: (0, 0),
        blocks,
    }
}
