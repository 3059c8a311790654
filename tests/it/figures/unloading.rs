//! Modules are unloaded while they are watched: a program loads and unloads a copy of itself, whose methods make handles
//! and collect, as collections go on.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Json, lines, number, wait_for_start};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("unloading::churn_of_collectible_contexts", &[Need::Proc], churn);
}

const PLUGINS: u64 = 40;

fn churn(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("lines.ndjson");
    let mut program = Target::app(clr, "plugins", &[], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --level roots --format ndjson -o")
        .arg(&path)
        .arg(program.pid().to_string())
        .spawn()?;
    wait_for_start(&mut gcwatch, &path)?;
    let churned = program.ask(&format!("churn {PLUGINS}"), "churned ", DEADLINE)?;
    ensure!(number(&churned, "unloaded")? == PLUGINS, "watching keeps a module loaded: {churned}");
    let last = number(&program.ask("collect", "collected ", DEADLINE)?, "index")?;
    program.send_line("exit")?;
    let status = program.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {program:?}");
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");

    let lines = lines(&fs::read(&path)?)?;
    let gcs: Vec<&Value> = lines.iter().filter(|line| line["type"] == "gc").collect();
    let asked_by = |gc: &Value, method: &str| {
        gc["triggered_by"]["frames"]
            .as_array()
            .is_some_and(|frames| frames.iter().any(|frame| frame == method))
    };
    let named = gcs.iter().filter(|gc| asked_by(gc, "Demo.Plugin.Work")).count();
    ensure!(named > 0, "no collection of {} was asked for by a method that came and went", gcs.len());
    let gc = gcs.iter().find(|gc| gc["number"] == last).context("no line of the last collection")?;
    ensure!(asked_by(gc, "Demo.Program.Collect"), "what stays has lost its name: {}", gc["triggered_by"]);
    for gc in &gcs {
        let Ok(pinned) = gc.list("/roots/pinned") else { continue };
        // Who made it has gone, or is known: nobody else is named.
        for row in pinned.iter().filter(|row| row["by"] == "handle" && row["type"] == "byte[]") {
            let maker = row["created_by"].as_str();
            ensure!(
                maker.is_none_or(|maker| maker == "Demo.Plugin.Work" || !maker.starts_with("Demo.")),
                "{row}"
            );
        }
    }
    Ok(())
}
