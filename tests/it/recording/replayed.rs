//! In every format, `report` prints of a recording what `run` and `attach` printed live.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::attach::Churn;
use crate::it::recording::record::{Recorded, blank, compare_but, differences, replay, told_last, untold};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, Json, Signal, lines, signal, start_attach, until};

const WORK: &str = "live=8000 seed=5";

pub(crate) fn register(suite: &mut Suite) {
    // Each level with `run` and `attach`, with both kinds of GC, and each pair of these in both formats.
    for (n, level) in ["basic", "moves", "roots"].into_iter().enumerate() {
        for (m, way) in [Way::Run, Way::Attach].into_iter().enumerate() {
            for (k, heap) in [Heap::Workstation, Heap::Server].into_iter().enumerate() {
                let format = if (n + m + k) % 2 == 0 { Format::Text } else { Format::Ndjson };
                let name = format!("replayed::{way:?}_{level}_as_{format:?}::{heap:?}").to_lowercase();
                let needs: &[Need] = if heap.server() { &[Need::TwoProcessors] } else { &[] };
                suite.with(&name, needs, move |clr| printed(clr, way, heap, level, format));
            }
        }
    }
    suite.once("replayed::a_storm_as_text", &[], storm);
    suite.each("replayed::a_killed_target_as_json", &[], killed);
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Run,
    Attach,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Text,
    Ndjson,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Ndjson => "ndjson",
        }
    }
}

fn printed(clr: &Clr, way: Way, heap: Heap, level: &str, format: Format) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (out, recording) = (dir.path().join("out"), dir.path().join("it.nettrace"));
    let gcwatch = |verb: &str| {
        Gcwatch::on(clr)
            .args(&format!("{verb} --level {level} --format {} --record", format.name()))
            .arg(&recording)
            .option("-o", &out)
    };
    match way {
        Way::Run => {
            gcwatch("run")
                .envs(heap.environment())
                .app(clr, "churn", &format!("{WORK} work=120000"))?
                .output()?
                .expect(0)?;
            // The replay must not lose background collections either.
            let background =
                || Ok::<_, anyhow::Error>(std::fs::read_to_string(&out)?.contains("background\","));
            ensure!(
                !matches!((level, heap, format), ("moves", Heap::Workstation, Format::Ndjson))
                    || background()?,
                "no background collection: the test needs another load"
            );
        }
        Way::Attach => {
            let churn = Churn::start(clr, heap, WORK)?;
            gcwatch("attach --gcs 12").arg(churn.pid().to_string()).output()?.expect(0)?;
            churn.stop(clr, WORK)?;
        }
    }
    match format {
        Format::Text => same_text(clr, &out, &recording),
        Format::Ndjson => same_lines(clr, &out, &recording),
    }
}

fn report(recording: &Path, format: Format) -> Result<Vec<u8>> {
    let report = Gcwatch::new().args(&format!("report --format {}", format.name())).arg(recording);
    Ok(report.output()?.expect(0)?.stdout)
}

/// Only a live report has the estimate of a blocking collection, a sentence that ends at the empty line before the
/// table. A recording gives the limits in another sentence.
fn without_estimate(text: &str) -> Vec<&str> {
    let begins = ["a blocking gen2 GC is estimated", "once gen2 GCs that block because of us"];
    let mut inside = false;
    let outside = text.lines().filter(|line| {
        inside = !line.is_empty() && (inside || begins.iter().any(|begin| line.starts_with(begin)));
        !inside
    });
    outside.collect()
}

fn same_text(clr: &Clr, out: &Path, recording: &Path) -> Result<()> {
    let live = std::fs::read_to_string(out)?;
    let replayed = String::from_utf8(report(recording, Format::Text)?)?;
    let (all_live, all_replayed) = (without_estimate(&live), without_estimate(&replayed));
    let mut pairs = all_live.iter().zip(&all_replayed);
    // The first line has program and runtime; a recording may lack the GC's settings.
    let (first, again) = pairs.next().context("nothing was printed")?;
    let known = |line: &str| line.split_once(&clr.name).map(|(known, _)| known.to_owned());
    ensure!(known(first).is_some() && known(first) == known(again), "{first:?}, replayed {again:?}");
    for (line, again) in pairs {
        ensure!(line == again, "{line:?}, replayed {again:?}");
    }
    ensure!(all_live.len() == all_replayed.len(), "{live}\nreplayed:\n{replayed}");
    // The report is not empty.
    let counted = live.lines().any(|line| line.contains(" collections in "));
    ensure!(counted && live.lines().count() > 15, "{live}");
    Ok(())
}

fn same_lines(clr: &Clr, out: &Path, recording: &Path) -> Result<()> {
    let mut live = lines(&std::fs::read(out)?)?;
    let mut replayed = lines(&report(recording, Format::Ndjson)?)?;
    ensure!(
        live.len() == replayed.len() && live.len() > 7,
        "{} lines, replayed {}",
        live.len(),
        replayed.len()
    );
    for all in [&mut live, &mut replayed] {
        let last = all.last_mut().context("no lines")?;
        let version = last["target"]["runtime"]["version"].take();
        ensure!(version == clr.name.as_str(), "the runtime's version is {version}");
        for path in &untold()? {
            all.iter_mut().for_each(|line| blank(line, path));
        }
        // The start line of a replay may know more about the watch than the live one did.
        let first = all.first_mut().context("no lines")?;
        first["watch"]["started_at"] = Value::Null;
        first["target"]["processors"] = Value::Null;
        // The schema of the line marks it.
        first["parent_pid"] = Value::Null;
    }
    let mut found = Vec::new();
    for (n, (line, again)) in live.iter().zip(&replayed).enumerate() {
        differences(&format!("line {n}"), line, again, &mut found);
    }
    ensure!(found.is_empty(), "{} differences: {:#?}", found.len(), &found[..found.len().min(20)]);
    Ok(())
}

/// So many collections that text folds them: live by the clock, in a replay by their own times.
fn storm(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "exits", &["storm"], &[("DOTNET_GCgen0size", "200000")])?;
    program.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let (out, recording) = (dir.path().join("out"), dir.path().join("it.nettrace"));
    Gcwatch::on(clr)
        .args("attach --gcs 1200 --level basic --format text --record")
        .arg(&recording)
        .option("-o", &out)
        .arg(program.pid().to_string())
        .output()?
        .expect(0)?;
    same_text(clr, &out, &recording)?;
    // Marked collections keep their lines, and so do those in seconds with 50 or fewer; the number of these depends on
    // the machine.
    let text = std::fs::read_to_string(&out)?;
    let unmarked = text.lines().filter(|line| !line.starts_with('!')).count();
    let document = replay(&recording, "")?;
    let starts: Vec<u64> = document.gcs()?.iter().filter_map(|gc| gc["at_ns"].as_u64()).collect();
    let first = starts.iter().take(50).count();
    let apart = starts.windows(51).filter(|these| these[0] + 1_000_000_000 <= these[50]).count();
    let calm = first + apart;
    ensure!(
        unmarked < calm + 100,
        "nothing was folded: {unmarked} lines, {calm} of {} collections calm",
        starts.len()
    );
    Ok(())
}

/// Collections that were open when the target was killed are cut off in the replay, too.
fn killed(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "exits", &["storm"], &[("DOTNET_GCgen0size", "400000")])?;
    program.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("it.nettrace"));
    let options = format!("--level moves --record {}", recording.display());
    let mut gcwatch = start_attach(clr, program.pid(), &options, &path)?;
    let seen = || Ok(std::fs::read_to_string(&path)?.matches("\"at_ns\"").count() >= 100);
    until("some collections", DEADLINE, seen)?;
    signal(program.pid(), Signal::KILL)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {gcwatch:?}");
    let live = Document::read(&path)?;
    ensure!(live.0.uint("/summary/gcs")? >= 20, "{}", live.0["summary"]["gcs"]);
    compare_but(&Recorded { live, recording, _dir: dir }, "", &told_last()?)
}
