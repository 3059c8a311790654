//! `gcwatch ps`: lists .NET processes, and whether gcwatch can watch them.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use dotnet_diagnostics_client::{Error, ProcessStatus, discovery, process};
use serde::Serialize;

use super::conclude::report_failed;
use crate::cli::{PsArgs, PsFormat};
use crate::escape::{escape_untrusted, to_json_pretty};
use crate::exit::{Code, Failure};
use crate::gc::record::Level;
use crate::target;

/// One process.
#[derive(Debug, Serialize)]
struct Row {
    pid: u32,
    title: Option<String>,
    runtime_version: Option<String>,
    arch: Option<String>,
    command_line: Option<String>,
    /// The highest possible level, as far as gcwatch can tell without touching the process.
    level: Option<&'static str>,
    /// Why not at `roots`, or not at all.
    why: Option<String>,
}

pub(crate) fn run(args: &PsArgs) -> Result<Code, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rows = runtime.block_on(rows(args.why));
    let text = if args.format == PsFormat::Pids {
        let line = |r: &Row| format!("{}\t{}", r.pid, escape_untrusted(r.title.as_deref().unwrap_or(".NET")));
        rows.iter().map(line).collect::<Vec<_>>().join("\n")
    } else if args.json || args.format == PsFormat::Json {
        let all: Vec<&Row> = rows.iter().collect();
        to_json_pretty(&all)?
    } else {
        table(&rows, args.why)
    };
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Code::OK),
        Err(e) => report_failed(&e, None),
    }
}

async fn rows(why: bool) -> Vec<Row> {
    let found = discovery::list().found;
    let pids: Vec<u32> = found.iter().map(|found| found.pid).collect();
    let read = || pids.into_iter().map(ProcessStatus::read).collect::<Vec<_>>();
    let (asked, facts) = target::ask_all(found, target::LIMIT, read).await;
    let answered = |((_, info), facts): (target::Asked, ProcessStatus)| match info {
        Ok(info) => row(&facts, Some(&info)),
        Err(e) if e.is_unknown_command() => row(&facts, None),
        Err(e) => Row { level: None, why: Some(why_not(&e, &facts)), ..row(&facts, None) },
    };
    let mut rows: Vec<Row> = asked.into_iter().zip(facts).map(answered).collect();
    if why {
        // Add processes that have a runtime but no endpoint.
        let known: Vec<u32> = rows.iter().map(|r| r.pid).collect();
        for pid in process::pids().into_iter().filter(|pid| !known.contains(pid)) {
            let facts = ProcessStatus::read(pid);
            if facts.runtime_library.is_none() {
                continue;
            }
            if let Err(e) = discovery::find(pid) {
                let f = target::not_found(&e);
                let seen = f.seen.first().map(|s| format!(" ({s})")).unwrap_or_default();
                rows.push(Row { level: None, why: Some(format!("{}{seen}", f.what)), ..row(&facts, None) });
            }
        }
    }
    rows.sort_by_key(|r| r.pid);
    rows
}

fn why_not(error: &Error, facts: &ProcessStatus) -> String {
    match error {
        Error::Timeout { .. } if process::is_stopped(facts.pid) => {
            "no answer: it is stopped (by SIGSTOP, SIGTSTP or a debugger)".to_owned()
        }
        error => target::unreachable(error, facts).what,
    }
}

fn row(facts: &ProcessStatus, info: Option<&dotnet_diagnostics_client::ProcessInfo>) -> Row {
    let described = target::describe(info, Some(facts));
    let (level, why) = match (info, facts.profiler_disabled_by()) {
        // A runtime that answers without a runtime library is linked into the executable, and is not CoreCLR.
        (Some(_), _) if facts.mappings_readable && facts.runtime_library.is_none() => {
            (Level::Basic, Some("compiled ahead of time (NativeAOT): it takes no profiler".to_owned()))
        }
        (_, Some(variable)) => (Level::Moves, Some(format!("profilers are forbidden by {variable}=0"))),
        (None, None) => {
            (Level::Moves, Some("its runtime takes no profiler from outside (before .NET 5)".to_owned()))
        }
        (Some(_), None) if target::has_our_profiler(facts.pid) => {
            (Level::Moves, Some("watched by another gcwatch at level roots".to_owned()))
        }
        (Some(_), None) => (Level::Roots, None),
    };
    Row {
        pid: facts.pid,
        title: described.title,
        runtime_version: described.runtime_version,
        arch: described.arch,
        command_line: described.args.map(|a| a.join(" ")).or(described.command_line),
        level: Some(level.name()),
        why,
    }
}

fn table(rows: &[Row], why: bool) -> String {
    if rows.is_empty() {
        return "no .NET process was found (--why lists those that cannot be watched)".into();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["pid", "level", "runtime", "name"];
    if why {
        header.push("why");
    }
    // The last column, because it can be so long that columns after it would be out of sight.
    header.push("command line");
    table.set_header(header);
    let text = |s: &Option<String>| escape_untrusted(s.as_deref().unwrap_or("-"));
    for r in rows {
        let mut cells = vec![
            r.pid.to_string(),
            r.level.unwrap_or("-").to_owned(),
            text(&r.runtime_version),
            text(&r.title),
        ];
        if why {
            cells.push(text(&r.why));
        }
        cells.push(text(&r.command_line));
        table.add_row(cells);
    }
    if let Some(pid) = table.column_mut(0) {
        pid.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}
