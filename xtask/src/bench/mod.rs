//! `cargo xtask bench`: what gcwatch costs, compared with no tool, with the least that any profiler costs, and with
//! other tools. Variants take turns, round after round, so that a figure compares what ran at about the same time.

mod attach;
mod callbacks;
mod figure;
mod graph;
mod kestrel;
mod load;
pub(crate) mod markdown;
mod paced;
mod process;
mod replay;
mod size;
mod statistics;
mod tools;
mod windows;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use xtask::clr::{self, Clr};
use xtask::{machine, workspace};

use crate::command::bench::Bench as Options;

use figure::Figure;
pub(crate) use figure::Run;

/// The variant without a tool.
const NONE: &str = "none";
/// dotnet-trace with the runtime's events for moved and surviving objects.
const TRACE: &str = "dotnet-trace 0x400001";

type Group = (&'static str, fn(&mut Bench) -> Result<()>);

/// The groups, by the names that `--only` takes.
const GROUPS: [Group; 12] = [
    ("size", size::measure),
    ("callbacks", callbacks::measure),
    ("replay", replay::measure),
    ("huge", replay::measure_huge),
    ("attaching", attach::measure),
    ("target", load::measure_heaps),
    ("blocks", paced::measure_blocks),
    ("mixes", load::measure_mixes),
    ("kestrel", kestrel::measure),
    ("watching", paced::measure_watching),
    ("loss", paced::measure_loss),
    ("graph", graph::measure),
];

#[derive(Debug)]
struct Bench {
    gcwatch: PathBuf,
    clrs: Vec<Clr>,
    newest: Clr,
    rounds: usize,
    cases: Vec<String>,
    dir: TempDir,
    group: &'static str,
    run: Run,
}

/// One load, measured with several variants.
#[derive(Debug)]
struct Case<'a> {
    name: String,
    variants: &'a [&'static str],
    rounds: usize,
    /// What the values of one measurement mean, in order. Goals of variants that are not measured are ignored.
    figures: Vec<Figure>,
}

/// Measures, and calls `save` after each group, so that an interrupted run keeps what it has measured.
pub(crate) fn run(options: &Options, mut save: impl FnMut(&Run) -> Result<()>) -> Result<()> {
    let selects = |part: &String, name: &str| name.contains(part.as_str());
    for part in &options.only {
        if !GROUPS.iter().any(|(name, _)| selects(part, name)) {
            bail!("no group has {part:?} in its name");
        }
    }
    let machine = machine::describe();
    let all = clr::find_all()?;
    let newest = all.last().context("no runtime was found")?.clone();
    let clrs = if options.all { all } else { vec![newest.clone()] };
    let parent = workspace::target_dir().join("bench");
    std::fs::create_dir_all(&parent)?;
    let mut bench = Bench {
        gcwatch: workspace::release_gcwatch()?,
        run: Run {
            schema: "gcwatch-bench/2".to_owned(),
            machine,
            rounds: options.rounds,
            runtimes: clrs.iter().map(|clr| clr.name.clone()).collect(),
            ..Run::default()
        },
        clrs,
        newest,
        rounds: options.rounds,
        cases: options.cases.clone(),
        dir: tempfile::tempdir_in(parent)?,
        group: "",
    };
    for (name, measure) in GROUPS {
        if options.only.is_empty() || options.only.iter().any(|part| selects(part, name)) {
            bench.group = name;
            bench.say(name);
            if let Err(error) = measure(&mut bench) {
                bench.skip(name, &error);
            }
            save(&bench.run)?;
        }
    }
    Ok(())
}

impl Bench {
    /// Measures every variant once in each round; `one` returns a value for each of the case's figures. If a variant
    /// fails, it is listed as not measured, and not tried again.
    fn measure(
        &mut self,
        case: Case<'_>,
        mut one: impl FnMut(&Bench, &'static str) -> Result<Vec<f64>>,
    ) -> Vec<Figure> {
        if !self.wants(&case.name) {
            return Vec::new();
        }
        self.say(&format!("  {}", case.name));
        let mut measured: BTreeMap<&str, Option<Vec<Vec<f64>>>> = BTreeMap::new();
        for _ in 0..case.rounds {
            for name in case.variants {
                let Some(rounds) = measured.entry(name).or_insert_with(|| Some(Vec::new())) else { continue };
                match one(self, name) {
                    Ok(values) => rounds.push(values),
                    Err(error) => {
                        measured.insert(name, None);
                        self.skip(&format!("{}: {name}", case.name), &error);
                    }
                }
            }
        }
        let mut figures = Vec::new();
        for (index, mut figure) in case.figures.into_iter().enumerate() {
            figure.keep_goals_of(case.variants);
            for name in case.variants {
                if let Some(Some(rounds)) = measured.get(name) {
                    figure = figure.with(name, rounds.iter().map(|values| values[index]).collect());
                }
            }
            figures.push(self.add(&case.name, figure));
        }
        figures
    }

    /// Adds a figure of the current group.
    fn add(&mut self, case: &str, figure: Figure) -> Figure {
        let figure = figure.of(self.group, case);
        self.run.figures.push(figure.clone());
        figure
    }

    fn wants(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|part| case.contains(part.as_str()))
    }

    fn say(&self, what: &str) {
        // A closed stderr must not end the run.
        let _ = writeln!(io::stderr(), "{what}");
    }

    fn skip(&mut self, what: &str, why: &anyhow::Error) {
        self.say(&format!("  not measured: {what}: {why:#}"));
        self.run.skipped.push((what.to_owned(), format!("{why:#}")));
    }
}
