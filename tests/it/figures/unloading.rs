//! Modules are unloaded during a watch: a program loads and unloads copies of itself, whose methods make handles and
//! collect.

use anyhow::{Result, ensure};
use serde_json::Value;
use xtask::Clr;

use crate::it::suite::{Need, Suite};
use crate::it::support::repeated::again;
use crate::it::support::{DEADLINE, Json, end_lines, line_of, number, start_lines};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("unloading::churn_of_collectible_contexts", &[Need::Proc], churn);
}

const PLUGINS: u64 = 40;
/// After an unload the profiler has to define all methods again, which it may not do before the program ends.
const MAX_TRIES: usize = 20;

fn churn(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("lines.ndjson");
    let (mut program, gcwatch) = start_lines(clr, "plugins", &path)?;
    let churned = program.ask(&format!("churn {PLUGINS}"), "churned ", DEADLINE)?;
    ensure!(number(&churned, "unloaded")? == PLUGINS, "watching keeps a module loaded: {churned}");
    for tried in 1.. {
        let number = number(&program.ask("collect", "collected ", DEADLINE)?, "index")?;
        let gc = line_of(&path, number)?;
        if induced_by(&gc, "Demo.Program.Collect") {
            break;
        }
        ensure!(tried < MAX_TRIES, "a loaded method has no name: {}", gc["triggered_by"]);
        again();
    }
    let lines = end_lines(program, gcwatch, &path)?;
    let gcs: Vec<&Value> = lines.iter().filter(|line| line["type"] == "gc").collect();
    let named = gcs.iter().filter(|gc| induced_by(gc, "Demo.Plugin.Work")).count();
    ensure!(named > 0, "no collection of {} was induced by an unloaded method", gcs.len());
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

fn induced_by(gc: &Value, method: &str) -> bool {
    let frames = gc["triggered_by"]["frames"].as_array();
    frames.is_some_and(|frames| frames.iter().any(|frame| frame == method))
}
