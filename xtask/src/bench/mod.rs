//! `cargo xtask bench`: what gcwatch costs, against doing without, against the least it could cost, and against other
//! tools. Each figure is compared within one run: variants take turns, round after round.

mod attaching;
mod blocks;
mod callbacks;
mod figure;
pub(crate) mod goals;
mod kestrel;
mod loss;
mod machine;
mod markdown;
mod paced;
mod pooled;
mod process;
mod replay;
mod size;
mod statistics;
mod target;
mod toggle;
mod tools;
mod watching;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::clr::{self, Clr};
use xtask::workspace;

use figure::Findings;
use machine::Machine;
use tools::Tool;

/// What is measured, and with what.
#[derive(Debug)]
pub(crate) struct Bench {
    gcwatch: PathBuf,
    /// The runtimes to measure on.
    clrs: Vec<Clr>,
    /// What other tools and programs run on.
    newest: Clr,
    quick: bool,
    /// Of the groups with loads, the cases with one of these in their names; all without any.
    cases: Vec<String>,
    rounds: usize,
    dir: TempDir,
    findings: Findings,
}

/// A group of figures: a row of the goals' table, or a few that are measured together.
type Group = (&'static str, fn(&mut Bench) -> Result<()>);

const GROUPS: [Group; 11] = [
    ("size", size::measure),
    ("callbacks", callbacks::measure),
    ("replay", replay::measure),
    ("huge", replay::measure_huge),
    ("attaching", attaching::measure),
    ("target", target::measure),
    ("blocks", blocks::measure),
    ("mixes", target::measure_mixes),
    ("kestrel", kestrel::measure),
    ("watching", watching::measure),
    ("loss", loss::measure),
];

/// What a run is asked for.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) quick: bool,
    pub(crate) rounds: Option<usize>,
    /// Groups by a part of their name; all without any.
    pub(crate) only: Vec<String>,
    /// Cases of loads by a part of their name; all without any.
    pub(crate) cases: Vec<String>,
    /// All runtimes, not only the newest.
    pub(crate) all_runtimes: bool,
}

/// Measures, and hands over the tables after each group, as JSON and as Markdown: what was measured outlives a run that
/// is cut short.
pub(crate) fn run(wish: &Wish, mut save: impl FnMut(&Value, &str) -> Result<()>) -> Result<()> {
    let machine = Machine::of_this();
    let all = clr::find_all()?;
    let newest = all.last().context("no runtime was found")?.clone();
    let clrs = if wish.all_runtimes { all } else { vec![newest.clone()] };
    let parent = workspace::target_dir().join("bench");
    std::fs::create_dir_all(&parent)?;
    let mut bench = Bench {
        gcwatch: workspace::release_gcwatch()?,
        clrs,
        newest,
        quick: wish.quick,
        cases: wish.cases.clone(),
        rounds: wish.rounds.unwrap_or(if wish.quick { 3 } else { 6 }),
        dir: tempfile::tempdir_in(parent)?,
        findings: Findings::default(),
    };
    let known = |part: &String| GROUPS.iter().any(|(name, _)| name.contains(part.as_str()));
    if let Some(part) = wish.only.iter().find(|part| !known(part)) {
        bail!("no group has {part:?} in its name");
    }
    for (name, measure) in GROUPS {
        if !wish.only.is_empty() && !wish.only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        bench.say(&format!("{name} …"));
        let rounds = bench.rounds;
        if let Err(error) = measure(&mut bench) {
            bench.skip(name, &error);
        }
        bench.rounds = rounds;
        let (json, markdown) = bench.tables(&machine);
        save(&json, &markdown)?;
    }
    Ok(())
}

impl Bench {
    fn tables(&self, machine: &Machine) -> (Value, String) {
        let findings = &self.findings;
        let json = json!({
            "schema": "gcwatch-bench/1",
            "machine": machine.to_json(),
            "quick": self.quick,
            "rounds": self.rounds,
            "runtimes": self.clrs.iter().map(|clr| &clr.name).collect::<Vec<_>>(),
            "figures": findings.figures.iter().map(figure::Figure::to_json).collect::<Vec<_>>(),
            "growth": findings.growth.iter().map(figure::Growth::to_json).collect::<Vec<_>>(),
            "skipped": findings.skipped,
            "notes": findings.notes,
        });
        let goals = goals::render(std::slice::from_ref(&json));
        let markdown = markdown::render(machine, &goals, findings);
        (json, markdown)
    }

    /// Tells how far it is; a run takes long.
    fn say(&self, what: &str) {
        // Where stderr is closed, nobody wants to know.
        let _ = writeln!(io::stderr(), "{what}");
    }

    fn skip(&mut self, what: &str, why: &anyhow::Error) {
        self.say(&format!("  not measured: {what}: {why:#}"));
        self.findings.skipped.push((what.to_owned(), format!("{why:#}")));
    }

    /// Measures every variant once in each round. One that fails is not tried again, and named among what was not
    /// measured.
    fn interleave<T>(
        &mut self,
        case: &str,
        variants: &[&'static str],
        mut measure: impl FnMut(&Bench, &'static str) -> Result<T>,
    ) -> Vec<Taken<T>> {
        let mut taken: Vec<Taken<T>> =
            variants.iter().map(|name| Taken { name, values: Vec::new(), failed: false }).collect();
        for _ in 0..self.rounds {
            for variant in &mut taken {
                if variant.failed {
                    continue;
                }
                match measure(self, variant.name) {
                    Ok(value) => variant.values.push(value),
                    Err(error) => {
                        variant.failed = true;
                        let what = format!("{case}: {}", variant.name);
                        self.skip(&what, &error);
                    }
                }
            }
        }
        taken.retain(|variant| !variant.failed);
        taken
    }
}

/// What a variant gave in each round.
#[derive(Debug)]
struct Taken<T> {
    name: &'static str,
    values: Vec<T>,
    failed: bool,
}

impl<T> Taken<T> {
    fn each(&self, value: impl Fn(&T) -> f64) -> Vec<f64> {
        self.values.iter().map(value).collect()
    }
}
