//! `gcwatch ps` lists the processes that can be watched, and says why others cannot.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::{Target, peer};

use super::errors_target::AOT;
use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Json, Signal, signal, start_attach, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("ps::lists_a_started_program", &[], ps);
    suite.once("ps::says_why_not", &[], ps_why);
    suite.once("ps::says_what_another_gcwatch_watches", &[Need::Proc], ps_watched);
    suite.once("ps::says_that_native_aot_takes_no_profiler", &[Need::Peer(AOT)], ps_native_aot);
    suite.once("ps::waits_for_all_silent_ones_together", &[], ps_silent);
}

fn ps(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid();
    let text = Gcwatch::on(clr).arg("ps").output()?.expect(0)?;
    let row = text.out()?.lines().find(|line| line.split_whitespace().any(|word| word == pid.to_string()));
    ensure!(
        row.is_some_and(|row| row.contains("roots") && row.contains(&clr.name)),
        "no row of {pid}:\n{}",
        text.out()?
    );
    let mut documents = Vec::new();
    for options in ["--format json", "--json"] {
        let json = Gcwatch::on(clr).arg("ps").args(options).output()?.expect(0)?;
        let json: Value = serde_json::from_slice(&json.stdout)?;
        let list = json.as_array().or_else(|| json["processes"].as_array()).context("no list")?;
        let found = list.iter().find(|process| process["pid"] == pid);
        documents.push(found.cloned().with_context(|| format!("no {pid} in {json}"))?);
    }
    ensure!(documents[0] == documents[1], "{documents:?}");
    ensure!(documents[0].to_string().contains(&clr.name), "no runtime version: {}", documents[0]);
    Ok(())
}

fn ps_why(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[("DOTNET_EnableDiagnostics", "0")])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid().to_string();
    let listed = |options| Gcwatch::on(clr).arg("ps").args(options).output()?.expect(0);
    let row = |text: &str| {
        text.lines().find(|line| line.split_whitespace().any(|word| word == pid)).map(str::to_owned)
    };
    ensure!(row(listed("")?.out()?).is_none(), "a process that cannot be watched is listed as if it could");
    let why = listed("--why")?;
    let row = row(why.out()?).with_context(|| format!("no {pid} in\n{}", why.out().unwrap_or_default()))?;
    ensure!(why.out()?.contains("DOTNET_EnableDiagnostics"), "the reason is missing: {row}\n{}", why.out()?);
    let (reason, line) = (row.find("DOTNET_EnableDiagnostics"), row.rfind("roots.dll"));
    ensure!(reason < line, "the reason comes after the command line: {row}");
    Ok(())
}

/// The row of a process in `gcwatch ps --json`.
fn ps_row(clr: &Clr, pid: u32) -> Result<Value> {
    let listed = Gcwatch::on(clr).args("ps --json").output()?.expect(0)?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let row = listed.as_array().context("no list")?.iter().find(|row| row["pid"] == pid);
    row.cloned().with_context(|| format!("no {pid} in {listed}"))
}

/// A runtime accepts one profiler at a time; when the first has left, it accepts another.
fn ps_watched(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    ensure!(ps_row(clr, target.pid())?["level"] == "roots", "{}", ps_row(clr, target.pid())?);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch = start_attach(clr, target.pid(), "--level roots", &path)?;
    let row = ps_row(clr, target.pid())?;
    ensure!(row["level"] == "moves" && row.text("/why")?.contains("another gcwatch"), "{row}");
    signal(gcwatch.pid(), Signal::INT)?;
    gcwatch.wait(DEADLINE)?;
    until("the profiler's end", DEADLINE, || Ok(ps_row(clr, target.pid())?["level"] == "roots"))
}

fn ps_native_aot(clr: &Clr) -> Result<()> {
    let mut command = Command::new(peer(AOT)?);
    command.args(["600", "1"]);
    let target = Target::spawn(command)?;
    until("its row", DEADLINE, || Ok(ps_row(clr, target.pid()).is_ok()))?;
    let row = ps_row(clr, target.pid())?;
    ensure!(row["level"] == "basic" && row.text("/why")?.contains("NativeAOT"), "{row}");
    Ok(())
}

/// Eight stopped processes: a list that asked them one after the other would wait eight times.
fn ps_silent(clr: &Clr) -> Result<()> {
    let mut silent = (0..8).map(|_| Target::app(clr, "roots", &[], &[])).collect::<Result<Vec<_>>>()?;
    for target in &mut silent {
        target.wait_line("ready ", DEADLINE)?;
        signal(target.pid(), Signal::STOP)?;
    }
    let list = || -> Result<_> {
        let began = Instant::now();
        let listed = Gcwatch::on(clr).args("ps --why --json").output()?.expect(0)?;
        Ok((listed, began.elapsed()))
    };
    let (listed, taken) = list()?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    for target in &silent {
        let row = listed.as_array().context("no list")?.iter().find(|row| row["pid"] == target.pid());
        let row = row.with_context(|| format!("no {} in {listed}", target.pid()))?;
        ensure!(row["level"].is_null(), "a level for a process that does not answer: {row}");
        let why = row["why"].as_str().unwrap_or_default();
        ensure!(why.contains("no answer") && why.contains("it is stopped"), "{row}");
        ensure!(row["title"].is_string(), "what the operating system knows of it is missing: {row}");
    }
    for target in silent.iter().skip(1) {
        signal(target.pid(), Signal::CONT)?;
    }
    let (_, one) = list()?;
    // Asking one after the other would take eight times as long as for one.
    ensure!(taken < 4 * one, "{taken:?} for eight silent processes, {one:?} for one");
    Ok(())
}
