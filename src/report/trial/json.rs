//! JSON, for scripts.

use std::collections::BTreeMap;
use std::io;

use serde::Serialize;

use super::{TrialReport, words};
use crate::escape::to_json_pretty;
use crate::experiment::{Comparison, FAMILY_ERROR, Gated, Measure, Outcome, Side, median, spread};
use crate::report::json::{Number, TOOL, Tool};

#[derive(Serialize)]
struct Wire<'a> {
    schema: &'static str,
    tool: Tool,
    runs: u32,
    warmup: u32,
    processors: usize,
    runtime_version: Option<&'a str>,
    method: Method,
    variants: Vec<VariantOut<'a>>,
    left_out: Vec<LeftOut<'a>>,
    best: Vec<Best<'a>>,
    fail_on: Vec<FailOn<'a>>,
    warnings: &'a [String],
    exit: Exit,
}

/// How differences are judged.
#[derive(Serialize)]
struct Method {
    test: &'static str,
    correction: &'static str,
    /// The permitted probability of any false alarm, for all tests together.
    family_error: f64,
    tests: usize,
    min_effect_percent: f64,
    /// With fewer runs of a variant no difference can be found.
    needed_runs: usize,
}

#[derive(Serialize)]
struct VariantOut<'a> {
    name: &'a str,
    command: Vec<String>,
    environment: BTreeMap<&'a str, &'a str>,
    metrics: Vec<Metric<'a>>,
}

#[derive(Serialize)]
struct Metric<'a> {
    metric: &'a str,
    /// Null: a number that the program prints.
    unit: Option<&'static str>,
    /// Of each run, in their order. Null: unknown.
    values: Vec<Option<Number>>,
    median: Option<Number>,
    /// Half of the runs lie within this distance of the median.
    spread: Option<Number>,
    /// Null for the first variant.
    against_first: Option<Against>,
}

#[derive(Serialize)]
struct Against {
    shift: Option<Number>,
    shift_low: Option<Number>,
    shift_high: Option<Number>,
    change_percent: Option<Number>,
    p: Option<f64>,
    adjusted_p: Option<f64>,
    outcome: &'static str,
    verdict: &'static str,
}

#[derive(Serialize)]
struct LeftOut<'a> {
    name: &'a str,
    reason: &'a str,
}

#[derive(Serialize)]
struct Best<'a> {
    goal: &'static str,
    metric: &'a str,
    /// Null: nothing beats the first variant beyond noise, or there were too few runs to tell.
    variant: Option<&'a str>,
    enough_runs: bool,
    /// The variables in one line, if the variant sets some.
    environment: Option<String>,
    /// The same settings for the file, as far as it has them.
    runtimeconfig: Option<serde_json::Value>,
    only_in_environment: Vec<String>,
}

/// A change that must not occur.
#[derive(Serialize)]
struct FailOn<'a> {
    expr: &'a str,
    /// The variant that was compared with the first.
    variant: &'a str,
    /// Null: it could not be judged.
    fails: Option<bool>,
    adjusted_p: Option<f64>,
}

#[derive(Serialize)]
struct Exit {
    gcwatch: i32,
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Differs => "differs",
        Outcome::Small => "differs-little",
        Outcome::Noise => "within-noise",
        Outcome::Equal => "equal",
        Outcome::TooFew => "too-few-runs",
        Outcome::Unknown => "unknown",
    }
}

fn against(comparison: &Comparison, measure: &Measure) -> Against {
    // JSON has no infinity.
    let number = |value: Option<f64>| value.filter(|value| value.is_finite()).map(Number);
    let interval = comparison.shift.and_then(|shift| shift.interval);
    Against {
        shift: number(comparison.shift.map(|shift| shift.by)),
        shift_low: number(interval.map(|(low, _)| low)),
        shift_high: number(interval.map(|(_, high)| high)),
        change_percent: number(comparison.change_percent()),
        p: comparison.p,
        adjusted_p: comparison.adjusted_p,
        outcome: outcome(comparison.outcome),
        verdict: words::word(comparison, measure),
    }
}

impl TrialReport<'_> {
    /// For scripts.
    pub(crate) fn json(&self) -> io::Result<String> {
        let results = self.results;
        let wire = Wire {
            schema: "gcwatch-try/1",
            tool: TOOL,
            runs: self.runs,
            warmup: self.warmup,
            processors: self.processors,
            runtime_version: self.runtime,
            method: Method {
                test: "rank-sum-exact-two-sided",
                correction: "holm",
                family_error: FAMILY_ERROR,
                tests: results.tests,
                min_effect_percent: results.min_effect_percent,
                needed_runs: results.needed_runs,
            },
            variants: results.sides.iter().map(|side| self.variant(side)).collect(),
            left_out: self.left_out.iter().map(|(name, reason)| LeftOut { name, reason }).collect(),
            best: self.best()?,
            fail_on: self.gated.iter().map(|gated| self.fail_on(gated)).collect(),
            warnings: self.warnings,
            exit: Exit { gcwatch: self.code },
        };
        Ok(to_json_pretty(&wire)? + "\n")
    }

    fn variant<'s>(&'s self, side: &'s Side) -> VariantOut<'s> {
        let metric = |(n, measure): (usize, &'s Measure)| {
            let values: Vec<f64> = side.values(n).collect();
            Metric {
                metric: &measure.name,
                unit: words::unit(measure),
                values: side.runs.iter().map(|run| run.get(n).copied().flatten().map(Number)).collect(),
                median: median(&values).map(Number),
                spread: spread(&values).map(Number),
                against_first: side.comparisons.get(n).map(|comparison| against(comparison, measure)),
            }
        };
        let variables = side.variant.variables.0.iter();
        VariantOut {
            name: &side.variant.name,
            command: side.variant.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            environment: variables.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            metrics: self.results.measures.iter().enumerate().map(metric).collect(),
        }
    }

    fn fail_on<'s>(&'s self, gated: &'s Gated) -> FailOn<'s> {
        FailOn {
            expr: &gated.verdict.text,
            variant: &self.results.sides[gated.side].variant.name,
            fails: gated.verdict.fails,
            adjusted_p: gated.comparison.as_ref().and_then(|comparison| comparison.adjusted_p),
        }
    }

    fn best(&self) -> io::Result<Vec<Best<'_>>> {
        let one = |winner: &crate::experiment::Winner| {
            let side = winner.side.and_then(|side| self.results.sides.get(side));
            let settings = side.and_then(words::settings);
            let json = settings.as_ref().and_then(|settings| settings.json.as_deref());
            Ok(Best {
                goal: winner.goal.name(),
                metric: &self.results.measures[winner.measure].name,
                variant: side.map(|side| side.variant.name.as_str()),
                enough_runs: winner.judged,
                environment: side.map(|side| side.variant.variables.line()).filter(|line| !line.is_empty()),
                runtimeconfig: json.map(serde_json::from_str).transpose()?,
                only_in_environment: settings.map_or_else(Vec::new, |settings| settings.only_in_environment),
            })
        };
        self.winners.iter().map(one).collect()
    }
}
