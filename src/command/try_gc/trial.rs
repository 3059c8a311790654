//! The runs of an experiment, in turns.

use std::time::Duration;

use super::one_run::{Observed, RunEnd, Watcher};
use super::progress::Progress;
use crate::cli::TryArgs;
use crate::exit::{Code, Failure};
use crate::experiment::{
    Direction, Results, Run, Variant, default_variants, measures, not_taken_over, rotation,
};
use crate::sys::{Signal, Signals};

/// What an experiment has brought.
pub(super) struct Done {
    pub(super) results: Results,
    pub(super) several_commands: bool,
    /// Variants that were not tried to the end, and why.
    pub(super) left_out: Vec<(String, String)>,
    pub(super) processors: usize,
    /// The version of the first run's runtime.
    pub(super) runtime: Option<String>,
    pub(super) warnings: Vec<String>,
    /// The signal that ended it early.
    pub(super) interrupted: Option<Signal>,
}

struct Trial<'a> {
    args: &'a TryArgs,
    watcher: Watcher<'a>,
    signals: Signals,
    progress: Progress,
    sides: Vec<(Variant, Vec<Run>)>,
    left_out: Vec<(String, String)>,
    runtime: Option<String>,
    /// Runs of which events were lost, and runs that failed.
    lost: u32,
    failed: u32,
    interrupted: Option<Signal>,
}

/// Runs the variants in turns.
///
/// # Errors
/// A variant cannot be run or watched, or its run failed.
pub(super) async fn run(args: &TryArgs, variants: Vec<Variant>) -> Result<Done, Failure> {
    let own = args.metric.as_ref().map(|_| match args.higher_is_better {
        true => Direction::Higher,
        false => Direction::Lower,
    });
    let several_commands = variants.len() > 1 && args.variants.is_empty();
    let measures = measures(own, several_commands, &args.comparison.fail_on);
    let only_one = variants.len() == 1;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mut trial = Trial {
        args,
        watcher: Watcher::new(&measures, args.metric.as_ref(), args.show_output),
        signals: Signals::listen()?,
        progress: Progress::new(args.show_output),
        sides: variants.into_iter().map(|variant| (variant, Vec::new())).collect(),
        left_out: Vec::new(),
        runtime: None,
        lost: 0,
        failed: 0,
        interrupted: None,
    };
    trial.all(only_one, processors).await?;
    trial.progress.finish();
    let Trial { sides, left_out, runtime, lost, failed, interrupted, .. } = trial;
    let mut sides = sides;
    if interrupted.is_some() {
        // Without a run of the first side there is nothing to compare the others with.
        let is_first_empty = sides.first().is_none_or(|(_, runs)| runs.is_empty());
        sides.retain(|(_, runs)| !is_first_empty && !runs.is_empty());
    }
    let mut warnings = Vec::new();
    if lost > 0 {
        warnings.push(format!("events were lost in {lost} runs: their figures of collections are too small"));
    }
    if failed > 0 {
        warnings.push(format!("{failed} runs failed and count as the others (--ignore-failure)"));
    }
    if interrupted.is_some() {
        warnings.push("a signal ended the runs early: this is what was run until then".to_owned());
    }
    let results = Results::new(measures, sides, args.comparison.min_effect_percent());
    Ok(Done { results, several_commands, left_out, processors, runtime, warnings, interrupted })
}

impl Trial<'_> {
    /// All rounds, until a signal comes. The first run of all shows which settings there are to try.
    async fn all(&mut self, with_defaults: bool, processors: usize) -> Result<(), Failure> {
        let rounds = self.args.warmup.saturating_add(self.args.runs) as usize;
        self.progress.length(rounds * self.sides.len());
        let Some(first) = self.one(0, 0).await? else { return Ok(()) };
        self.runtime = first.runtime_version;
        if with_defaults {
            let (variants, left_out) = default_variants(first.seen, processors);
            self.left_out = left_out;
            let command = self.sides[0].0.command.clone();
            let sides = variants
                .into_iter()
                .map(|(name, variables)| (Variant { name, variables, command: command.clone() }, Vec::new()));
            self.sides.extend(sides);
        }
        self.progress.length(rounds * self.sides.len());
        let mut ignored = Vec::new();
        for n in 1..self.sides.len() {
            let Some(observed) = self.one(n, 0).await? else { return Ok(()) };
            if let Some(why) = not_taken_over(&self.sides[n].0.variables, observed.seen) {
                ignored.push((n, why));
            }
        }
        for (n, why) in ignored.into_iter().rev() {
            self.left_out.push((self.sides.remove(n).0.name, why));
        }
        self.progress.length(rounds * self.sides.len());
        for round in 1..rounds {
            for n in rotation(round, self.sides.len()) {
                if self.one(n, round).await?.is_none() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One run. `None`: a signal ended it.
    async fn one(&mut self, n: usize, round: usize) -> Result<Option<Observed>, Failure> {
        if let Ok(signal) = tokio::time::timeout(Duration::ZERO, self.signals.next()).await {
            self.interrupted = Some(signal);
            return Ok(None);
        }
        let variant = &self.sides[n].0;
        let warmup = self.args.warmup as usize;
        self.progress.begins(&variant.name, round, warmup);
        let name = variant.name.clone();
        let observed = match self.watcher.run(variant, &mut self.signals).await.map_err(|e| of(&name, e))? {
            RunEnd::Ended(observed) => observed,
            RunEnd::Interrupted(signal) => {
                self.interrupted = Some(signal);
                return Ok(None);
            }
        };
        if observed.exit != 0 {
            if !self.args.ignore_failure {
                return Err(failed(&name, &observed));
            }
            self.failed += u32::from(round >= warmup);
        }
        if self.args.metric.is_some() && !observed.printed_metric && observed.exit == 0 {
            let what = format!("nothing that a run of `{name}` printed on stdout matches --metric");
            let failure = observed.said.iter().fold(Failure::new(Code::USAGE, what), Failure::seen);
            return Err(failure.remedy("its one group must match a number, such as `([0-9.]+) requests/s`"));
        }
        if round >= warmup {
            self.lost += u32::from(observed.lost);
            self.sides[n].1.push(observed.run.clone());
        }
        self.progress.ended();
        Ok(Some(*observed))
    }
}

/// A failure to run or watch a variant.
fn of(name: &str, failure: Failure) -> Failure {
    Failure { what: format!("a run of `{name}`: {}", failure.what), ..failure }
}

/// The failure of a program. Its exit code is ours, as in `gcwatch run`.
fn failed(name: &str, observed: &Observed) -> Failure {
    let what = format!("a run of `{name}` failed with exit code {}", observed.exit);
    let failure = observed.said.iter().fold(Failure::new(Code(observed.exit), what), Failure::seen);
    failure.remedy("mend the program or its arguments, leave the variant out, or give --ignore-failure")
}
