//! Modules are unloaded during a watch: a program loads and unloads copies of itself, whose methods make handles and
//! collect.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Json, end_lines, number, start_lines};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("unloading::churn_of_collectible_contexts", &[Need::Proc], churn);
}

const PLUGINS: u64 = 40;

fn churn(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("lines.ndjson");
    let (mut program, gcwatch) = start_lines(clr, "plugins", &path)?;
    let churned = program.ask(&format!("churn {PLUGINS}"), "churned ", DEADLINE)?;
    ensure!(number(&churned, "unloaded")? == PLUGINS, "watching keeps a module loaded: {churned}");
    let last = number(&program.ask("collect", "collected ", DEADLINE)?, "index")?;
    let lines = end_lines(program, gcwatch, &path)?;
    let gcs: Vec<&Value> = lines.iter().filter(|line| line["type"] == "gc").collect();
    let asked_by = |gc: &Value, method: &str| {
        gc["triggered_by"]["frames"]
            .as_array()
            .is_some_and(|frames| frames.iter().any(|frame| frame == method))
    };
    let named = gcs.iter().filter(|gc| asked_by(gc, "Demo.Plugin.Work")).count();
    ensure!(named > 0, "no collection of {} was induced by an unloaded method", gcs.len());
    let gc = gcs.iter().find(|gc| gc["number"] == last).context("no line of the last collection")?;
    ensure!(asked_by(gc, "Demo.Program.Collect"), "a loaded method has no name: {}", gc["triggered_by"]);
    for gc in &gcs {
        let Ok(pinned) = gc.list("/roots/pinned") else { continue };
        // The method that made it has its name, or none after the unload; no other method is named.
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
