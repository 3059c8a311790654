//! `cargo xtask gate-study`: how often a gate raises a false alarm, how often it finds a real change, and how well each metric
//! repeats.
//!
//! The runs are kept in a directory. A study that was stopped goes on where it was.

mod cases;
mod diff;
mod interval;
mod judge;
mod options;
mod page;
mod plan;
mod repeats;
mod results;
mod runner;
mod scripts;
mod store;

use std::fs;
use std::io::{self, Write};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{apps, machine};

pub use cases::CHANGES;
pub use options::{Options, Size};
pub use page::{markdown, write};
pub use results::{Count, Repeat, Results, Row, Section};

/// What all runs of a study have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Setting {
    runtime: String,
    runs: usize,
    /// The compiled program, whose name has a hash of its source.
    program: String,
}

/// Makes the runs that are missing, and judges all of them.
///
/// # Errors
/// If a run fails three times, if the directory holds runs of another program, runtime or number of runs a side, or if a file
/// cannot be read or written.
pub fn run(options: &Options) -> Result<Results> {
    fs::create_dir_all(&options.dir).with_context(|| options.dir.display().to_string())?;
    keep_setting(options)?;
    let machine = kept_machine(options)?;
    let runner = runner::Runner::new(options)?;
    let mut store = store::Store::open(&options.dir)?;
    let steps = plan::steps(options.size, &options.changes);
    let missing: Vec<_> = steps.iter().filter(|step| !store.has(&step.key)).collect();
    let all = missing.len();
    for (done, step) in missing.into_iter().enumerate() {
        if done % 25 == 0 {
            let load = machine::load().map_or_else(|| "-".to_owned(), |load| format!("{load:.1}"));
            say(&format!("{done} of {all} runs, load {load}, next {}", step.key));
        }
        store.add(runner.run_patiently(step)?)?;
    }
    say("comparing");
    let mut results = judge::judge(options, &store)?;
    results.machine = machine;
    results.runtime.clone_from(&options.clr.name);
    results.loads = store.loads();
    results.programs = cases::REPEATED.map(|(program, _)| program.to_owned()).to_vec();
    results.repeated = options.size.repeats;
    results.repeats = repeats::of(&store, runner.metrics());
    fs::write(options.dir.join("results.json"), serde_json::to_string_pretty(&results)? + "\n")?;
    Ok(results)
}

fn keep_setting(options: &Options) -> Result<()> {
    let program = apps::build("gate")?;
    let folder = program.parent().and_then(|dir| dir.file_name()).unwrap_or_default();
    let setting = Setting {
        runtime: options.clr.name.clone(),
        runs: options.size.runs,
        program: folder.to_string_lossy().into_owned(),
    };
    let file = options.dir.join("setting.json");
    if file.exists() {
        let kept: Setting = serde_json::from_slice(&fs::read(&file)?)?;
        ensure!(
            kept == setting,
            "{} holds another study ({kept:?}); choose another --dir, or delete it",
            options.dir.display()
        );
    }
    Ok(fs::write(file, serde_json::to_string_pretty(&setting)?)?)
}

/// The machine as it was when the study began.
fn kept_machine(options: &Options) -> Result<Value> {
    let file = options.dir.join("machine.json");
    if !file.exists() {
        fs::write(&file, serde_json::to_string_pretty(&machine::describe())?)?;
    }
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

fn say(what: &str) {
    // A closed stderr must not end the study.
    let _ = writeln!(io::stderr(), "{what}");
}
