//! In a program that makes handles as fast as it can, the profiler stops looking up who makes them, also in the next
//! watch of the same process. The test does not measure speed.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Json, Signal, lines, signal, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("handle_storm::verdict_holds_in_the_next_watch", &[Need::Proc], verdict);
}

const SAID: &str = "gcwatch no longer records which methods make its handles";

fn verdict(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "handles", &["threads=2"], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    program.ask("keep", "kept", DEADLINE)?;
    // The first watch takes some collections to give up; the next one has given up from its first collection on.
    watch(clr, &mut program)?;
    let gcs = watch(clr, &mut program)?;
    let [gc, more @ ..] = &gcs[..] else { bail!("no collection") };
    // The first collection's line may come a moment before the notice.
    ensure!(more.len() <= 1, "it took {} collections", gcs.len());
    let frames = gc.list("/triggered_by/frames")?;
    ensure!(frames.iter().any(|frame| frame == "Demo.Program.Collect"), "other names are lost: {frames:?}");
    let pinned = gc.list("/roots/pinned")?;
    let kept = pinned.iter().find(|row| row["type"] == "byte[]" && row["by"] == "handle");
    let kept = kept.with_context(|| format!("no pinned array: {pinned:?}"))?;
    ensure!(kept["created_by"].is_null() && kept["handle_type"].is_null(), "{kept}");
    program.send_line("exit")?;
    let status = program.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {program:?}");
    Ok(())
}

/// Attaches, makes the program collect until the report has the notice, and leaves. Returns all collections.
fn watch(clr: &Clr, program: &mut Target) -> Result<Vec<Value>> {
    let dir = tempfile::tempdir()?;
    let (text, recording) = (dir.path().join("report.txt"), dir.path().join("all.nettrace"));
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --level roots -o")
        .arg(&text)
        .option("--record", &recording)
        .arg(program.pid().to_string())
        .spawn()?;
    until("the profiler", DEADLINE, || {
        Ok(fs::read_to_string(&text).is_ok_and(|text| text.contains("roots:")))
    })
    .with_context(|| format!("{gcwatch:?}"))?;
    until("the notice", DEADLINE, || {
        let lines = fs::read_to_string(&text)?.matches("induced").count();
        program.ask("collect", "collected ", DEADLINE)?;
        until("a line", DEADLINE, || Ok(fs::read_to_string(&text)?.matches("induced").count() > lines))?;
        Ok(fs::read_to_string(&text)?.contains(SAID))
    })?;
    signal(gcwatch.pid(), Signal::INT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    let report = Gcwatch::new().args("report --format ndjson").arg(&recording).output()?.expect(0)?;
    Ok(lines(&report.stdout)?.into_iter().filter(|line| line["type"] == "gc").collect())
}
