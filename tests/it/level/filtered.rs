//! Programs under a filter of system calls (seccomp): the profiler makes no call for which the filter kills.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Need, Suite};
use crate::it::support::{
    DEADLINE, Gcwatch, Guard, Json, Signal, fact, line_of, lines, number, repeated, signal, until,
    wait_for_start,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("filtered::run_under_one_that_kills", &[Need::SystemCallFilter], |clr| run(clr, "kill"));
    suite.once("filtered::run_under_one_that_refuses", &[Need::SystemCallFilter], |clr| run(clr, "refuse"));
    suite.each("filtered::attach_under_one_that_kills", &[Need::SystemCallFilter], attach);
    suite.once("filtered::the_filter_kills", &[Need::SystemCallFilter], it_kills);
}

/// Collects and makes handles before and after the filter is installed.
fn act(program: &mut Target, filter: &str) -> Result<Vec<u64>> {
    let mut numbers = vec![number(&program.ask("collect", "collected ", DEADLINE)?, "index")?];
    program.ask(&format!("filter {filter}"), "filtered answer=0", DEADLINE)?;
    for _ in 0..5 {
        numbers.push(number(&program.ask("collect", "collected ", DEADLINE)?, "index")?);
    }
    if filter == "refuse" {
        program.ask("forbidden", "answer=-1 error=1", DEADLINE)?;
    }
    Ok(numbers)
}

fn run(clr: &Clr, filter: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("lines.ndjson");
    let mut program = Gcwatch::on(clr)
        .args("run --level roots --format ndjson -o")
        .arg(&path)
        .app(clr, "filtered", "")?
        .spawn()?;
    let _guard = Guard(fact(&program.wait_line("ready ", DEADLINE)?, "pid")?.parse()?);
    let mut numbers = act(&mut program, filter)?;
    until_named(&mut program, &path, &mut numbers)?;
    program.send_line("exit")?;
    let status = program.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {program:?}");
    check(&std::fs::read(&path)?, &numbers, 0)
}

fn attach(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("lines.ndjson");
    let mut program = Target::app(clr, "filtered", &[], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    // The filter is installed before the profiler is loaded.
    program.ask("filter kill", "filtered answer=0", DEADLINE)?;
    let pid = program.pid().to_string();
    let mut gcwatch =
        Gcwatch::on(clr).args("attach --level roots --format ndjson -o").arg(&path).arg(&pid).spawn()?;
    wait_for_start(&mut gcwatch, &path)?;
    let (mut numbers, seen) = first_seen(&mut program, &path)?;
    for _ in 0..5 {
        numbers.push(number(&program.ask("collect", "collected ", DEADLINE)?, "index")?);
    }
    until_named(&mut program, &path, &mut numbers)?;
    signal(gcwatch.pid(), Signal::INT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    program.ask("collect", "collected ", DEADLINE)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    check(&std::fs::read(&path)?, &numbers, seen)
}

/// Collects until the profiler has seen a handle being made: on a busy machine it begins to watch handles after the report
/// has begun. The number of that collection, and how many handles it shows with their maker.
fn first_seen(program: &mut Target, document: &Path) -> Result<(Vec<u64>, u64)> {
    let mut seen = (Vec::new(), 0);
    until("a handle with its maker", DEADLINE, || {
        let index = number(&program.ask("collect", "collected ", DEADLINE)?, "index")?;
        seen = (vec![index], made_by_hold(&line_of(document, index)?)?);
        Ok(seen.1 > 0)
    })?;
    Ok(seen)
}

/// Collects until the last collection has all its names: on a busy machine they may come late.
fn until_named(program: &mut Target, document: &Path, numbers: &mut Vec<u64>) -> Result<()> {
    until("a collection with all its names", DEADLINE, || {
        let line = line_of(document, *numbers.last().context("no collection")?)?;
        let unnamed = |part: &Value| part.to_string().contains("(unnamed)");
        let named = !unnamed(&line["roots"]) && !unnamed(&line["triggered_by"]);
        if !named {
            repeated::again();
            numbers.push(number(&program.ask("collect", "collected ", DEADLINE)?, "index")?);
        }
        Ok(named)
    })
}

/// Pinned handles that the program is known to have made.
fn made_by_hold(gc: &Value) -> Result<u64> {
    let made = gc.list("/roots/pinned")?.iter().filter(|row| row["created_by"] == "Demo.Sandbox.Hold");
    made.map(|row| row.uint("/count")).sum()
}

/// Every collection has roots and the name of the method that induced it; the last one has every handle by its maker.
/// `seen`: handles with their maker in the first collection.
fn check(document: &[u8], numbers: &[u64], seen: u64) -> Result<()> {
    let lines = lines(document)?;
    let gc = |number: u64| {
        let found = lines.iter().find(|line| line["type"] == "gc" && line["number"] == number);
        found.with_context(|| format!("no line of GC {number}"))
    };
    for number in numbers {
        let gc = gc(*number)?;
        ensure!(gc["complete"] == true && gc["level"] == "roots", "GC {number}: {gc}");
        let frames = gc.list("/triggered_by/frames")?;
        let late = |frame: &Value| frame == "(unnamed)" && Some(number) != numbers.last();
        let asked = frames.iter().any(|frame| frame == "Demo.Sandbox.Sweep" || late(frame));
        ensure!(asked, "GC {number}: {frames:?}");
    }
    let last = gc(*numbers.last().context("no collection")?)?;
    let (count, expected) = (made_by_hold(last)?, seen + numbers.len() as u64 - 1);
    // One handle was made after the last collection.
    ensure!(count == expected, "{count} of {expected}: {}", last["roots"]);
    Ok(())
}

/// The filter kills, as the other tests assume.
fn it_kills(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "filtered", &[], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    program.ask("filter kill", "filtered answer=0", DEADLINE)?;
    program.send_line("forbidden")?;
    let status = program.wait(DEADLINE)?;
    let by = std::os::unix::process::ExitStatusExt::signal(&status);
    ensure!(by == Some(31), "{status} instead of SIGSYS");
    Ok(())
}
