//! `cargo xtask gate-study`, as small as it can be.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::study::{self, Count, Options, Results, Size};

use crate::it::suite::Suite;
use crate::it::support::program_file;

pub(crate) fn register(suite: &mut Suite) {
    suite.once("gate_study::finds_a_change_and_goes_on", &[], finds_a_change);
}

fn cell(results: &Results, section: &str, gate: &str, runs: usize, case: &str) -> Result<Count> {
    let section =
        results.sections.iter().find(|found| found.title.contains(section)).context("no section")?;
    let row = section.rows.iter().find(|row| row.gate == gate && row.runs == runs);
    row.and_then(|row| row.cases.get(case)).copied().with_context(|| format!("no {gate} of {case}"))
}

/// Two pairs of the unchanged program, two of a change, two runs a side.
fn finds_a_change(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut options = Options {
        gcwatch: program_file().to_owned(),
        clr: clr.clone(),
        dir: dir.path().to_owned(),
        size: Size { pairs: 2, detect: 2, runs: 2, repeats: 2 },
        changes: vec!["old"],
    };
    let results = study::run(&options)?;
    // What the runs found: the change is one of the live set, which the program doubles, and of nothing that it allocates.
    let gate = "heap.after.max > +10%";
    let count = cell(&results, "one run", gate, 1, "old")?;
    ensure!(count == Count { alarms: 4, judged: 4, n: 4 }, "{count:?}");
    ensure!(results.changes["old"]["heap.after.max"] > 20.0, "{:?}", results.changes["old"]);
    ensure!(results.changes["old"]["alloc.total"].abs() < 10.0, "{:?}", results.changes["old"]);
    let allocated = "MemoryDiagnoser: Allocated";
    for (runs, n) in [(1, 4), (2, 2)] {
        for case in ["unchanged", "old"] {
            let count = cell(&results, "script", allocated, runs, case)?;
            ensure!(count == Count { alarms: 0, judged: n, n }, "{count:?}");
        }
    }
    // So few runs cannot be judged by ranks.
    let count = cell(&results, "each gate alone", gate, 2, "old")?;
    ensure!(count == Count { alarms: 0, judged: 0, n: 2 }, "{count:?}");
    let repeats = |metric: &str| results.repeats.iter().find(|repeat| repeat.metric == metric);
    let heap = repeats("roots.stack.max").context("no roots.stack.max")?;
    ensure!(heap.percent.len() == 3 && heap.median_percent.is_some(), "{heap:?}");

    // The documents are those that the figures came from.
    let runs = fs::read_to_string(dir.path().join("runs.ndjson"))?;
    ensure!(runs.lines().count() == 8 + 8 + 2 * 9, "{} runs", runs.lines().count());
    let first: Value =
        serde_json::from_str(runs.lines().find(|line| line.contains("\"case\":\"old\"")).context("no run")?)?;
    let (own, seen) = (first["own"]["allocated"].as_f64(), first["metrics"]["alloc.total"].as_f64());
    let share = seen.context("no alloc.total")? / own.context("no allocated")?;
    // Where threads really run at once, gcwatch sees up to an eighth more: the heap that allocations take, with gaps.
    ensure!((0.9..1.2).contains(&share), "gcwatch saw {share} of what the program allocated");

    // Without one of its runs a study makes that run again, and no other.
    let removed = dir.path().join("documents/old-1-after-0.json");
    fs::remove_file(&removed)?;
    let again = study::run(&options)?;
    let (before, after) = (lines(&runs), lines(&fs::read_to_string(dir.path().join("runs.ndjson"))?));
    let changed: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    ensure!(removed.exists() && changed.len() == 1 && before.len() == after.len(), "{changed:?}");
    ensure!(again.pairs == results.pairs && again.by_chance == results.by_chance, "{again:?}");

    // Its page.
    let text = study::markdown(&again);
    for words in
        ["unchanged 2", "| `heap.after.max > +10%` | 1 | ", "| `roots.stack.max` | ", "too few runs (n = 2)"]
    {
        ensure!(text.contains(words), "{words}:\n{text}");
    }
    // Runs of another study are not mixed in.
    options.size.runs = 3;
    let error = study::run(&options).err().context("it went on")?.to_string();
    ensure!(error.contains("another study"), "{error}");
    Ok(())
}

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}
