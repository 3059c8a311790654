//! Words and numbers of comparisons of runs, the same in all formats.

use super::TrialReport;
use crate::assertion::Unit;
use crate::escape::{cut, escape_untrusted};
use crate::experiment::{
    Comparison, Direction, FAMILY_ERROR, Gated, Measure, OWN, Outcome, Side, Winner, fragment,
};
use crate::report::gate;
use crate::report::units::{Units, in_unit, plural};

/// A command line in a title has at most so many characters.
const MAX_COMMAND_CHARS: usize = 100;

/// A value of a measure.
pub(super) fn value(value: Option<f64>, measure: &Measure, units: Units, unicode: bool) -> String {
    match value {
        None => "-".to_owned(),
        // Nobody knows the unit of what a program prints.
        Some(value) if measure.name == OWN => significant(value),
        Some(value) => in_unit(value, measure.unit, units, unicode),
    }
}

/// Three significant digits, or all of a whole number.
fn significant(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e15 || size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 0.001 {
        let digits = (2 - size.log10().floor() as i32).max(0) as usize;
        format!("{value:.digits$}")
    } else {
        format!("{value:.2e}")
    }
}

/// The spread in percent of the median: half of the runs are so near to it.
pub(super) fn spread(spread: Option<f64>, median: Option<f64>, unicode: bool) -> String {
    let sign = if unicode { "±" } else { "+-" };
    match spread.zip(median) {
        Some((0.0, _)) => String::new(),
        Some((spread, median)) if median != 0.0 => format!("{sign}{:.1} %", spread / median.abs() * 100.0),
        _ => String::new(),
    }
}

/// The second side as a multiple of the first.
pub(super) fn ratio(comparison: &Comparison) -> String {
    match comparison.change_percent() {
        None => "-".to_owned(),
        Some(percent) if percent.is_infinite() => "new".to_owned(),
        Some(percent) => format!("{:.2}", 1.0 + percent / 100.0),
    }
}

/// The interval of the ratio.
pub(super) fn interval(comparison: &Comparison) -> String {
    match comparison.interval_percent() {
        Some((low, high)) if low.is_finite() && high.is_finite() => {
            format!("{:.2} to {:.2}", 1.0 + low / 100.0, 1.0 + high / 100.0)
        }
        _ => String::new(),
    }
}

/// Whether a difference is one, and whether it is good.
pub(super) fn word(comparison: &Comparison, measure: &Measure) -> &'static str {
    let lower = comparison.shift.is_some_and(|shift| shift.by < 0.0);
    match (comparison.outcome, measure.direction) {
        (Outcome::Differs, Direction::Neutral) if lower => "less",
        (Outcome::Differs, Direction::Neutral) => "more",
        (Outcome::Differs, direction) if lower == (direction == Direction::Lower) => "better",
        (Outcome::Differs, _) => "worse",
        (Outcome::Small, _) => "differs little",
        (Outcome::Noise, _) => "within noise",
        (Outcome::Equal, _) => "equal",
        (Outcome::TooFew, _) => "too few runs",
        (Outcome::Unknown, _) => "",
    }
}

/// How it was tested, in one sentence.
pub(super) fn method(report: &TrialReport<'_>) -> String {
    format!(
        "better, worse: beyond noise by the exact rank-sum test (Mann-Whitney, two-sided) at {:.0} % for all {} tests together (Holm), and at least {} %; ratio: the median of all ratios between runs (Hodges-Lehmann) with its 95 % interval; beside a median: half of the runs are so near to it",
        FAMILY_ERROR * 100.0,
        report.results.tests,
        report.results.min_effect_percent
    )
}

/// What there is to know before the tables.
pub(super) fn about(report: &TrialReport<'_>) -> String {
    let runtime =
        report.runtime.map_or_else(String::new, |version| format!(", .NET {}", escape_untrusted(version)));
    format!(
        "{} variants, {} each in turns after {} that do not count{runtime}, {} processors",
        report.results.sides.len(),
        plural(u64::from(report.runs), "run"),
        report.warmup,
        report.processors
    )
}

/// A command in one line.
pub(super) fn command(side: &Side) -> String {
    let words: Vec<_> = side.variant.command.iter().map(|word| word.to_string_lossy()).collect();
    cut(escape_untrusted(&words.join(" ")), MAX_COMMAND_CHARS)
}

/// Why the runs are too few, and how many would do.
pub(super) fn too_few(report: &TrialReport<'_>) -> Option<String> {
    let results = report.results;
    let few = results.sides.iter().flat_map(|side| &side.comparisons).any(|c| c.outcome == Outcome::TooFew);
    few.then(|| {
        let runs = results.fewest_runs();
        format!(
            "{runs} run{} of each cannot show a difference in {} tests together: --runs {} can",
            if runs == 1 { "" } else { "s" },
            results.tests,
            results.needed_runs
        )
    })
}

impl TrialReport<'_> {
    /// A line for each verdict on a change that must not occur.
    pub(crate) fn verdicts(&self) -> Vec<String> {
        gates(self)
    }
}

/// The verdicts on changes that must not occur.
pub(super) fn gates(report: &TrialReport<'_>) -> Vec<String> {
    let line = |gated: &Gated| {
        let line = gate::line(&gated.verdict, &gated.assertion, gated.comparison.as_ref());
        match report.results.sides.len() {
            0..=2 => line,
            _ => {
                format!("{line}, {}", escape_untrusted(&report.results.sides[gated.side].variant.name))
            }
        }
    };
    report.gated.iter().map(line).collect()
}

/// Who is best for a goal, by which figure.
pub(super) fn winner(report: &TrialReport<'_>, winner: &Winner, units: Units, unicode: bool) -> String {
    let results = report.results;
    let measure = &results.measures[winner.measure];
    let start = format!("{}: ", winner.goal.name());
    let present = if report.several_commands { "command 1" } else { "the present settings" };
    let Some(side) = winner.side.and_then(|side| results.sides.get(side)) else {
        return match winner.judged {
            true => format!("{start}nothing beats {present} beyond noise ({})", measure.name),
            false => format!("{start}too few runs to tell ({})", measure.name),
        };
    };
    let comparison = &side.comparisons[winner.measure];
    let [before, after] = comparison.medians.map(|median| value(median, measure, units, unicode));
    let worse: Vec<String> = costs(report, side)
        .map(|(measure, comparison)| format!("{} x{}", measure.name, ratio(comparison)))
        .collect();
    let but = if worse.is_empty() { String::new() } else { format!("; but {}", worse.join(", ")) };
    let arrow = if unicode { "→" } else { "->" };
    let name = escape_untrusted(&side.variant.name);
    format!("{start}{name} ({} {before} {arrow} {after}{but})", measure.name)
}

/// The figures of the other goals that are worse.
fn costs<'r>(
    report: &'r TrialReport<'_>,
    side: &'r Side,
) -> impl Iterator<Item = (&'r Measure, &'r Comparison)> {
    const DECIDE: [&str; 4] = ["wall", "metric", "pause.p99", "memory.peak"];
    let both = report.results.measures.iter().zip(&side.comparisons);
    both.filter(|(measure, comparison)| {
        DECIDE.contains(&measure.name.as_str()) && word(comparison, measure) == "worse"
    })
}

/// The settings of a side: the line of variables, the `runtimeconfig.json`, and what that cannot say.
pub(super) struct Settings {
    pub(super) line: String,
    pub(super) json: Option<String>,
    pub(super) only_in_environment: Vec<String>,
}

/// The settings of a side that has some.
pub(super) fn settings(side: &Side) -> Option<Settings> {
    let variables = &side.variant.variables;
    if variables.0.is_empty() {
        return None;
    }
    let fragment = fragment(variables);
    let lines: Vec<String> =
        fragment.properties.iter().map(|(name, value)| format!("      \"{name}\": {value}")).collect();
    let json = (!lines.is_empty()).then(|| {
        format!(
            "{{\n  \"runtimeOptions\": {{\n    \"configProperties\": {{\n{}\n    }}\n  }}\n}}",
            lines.join(",\n")
        )
    });
    let only = fragment.only_in_environment.iter().map(|name| escape_untrusted(name)).collect();
    Some(Settings { line: escape_untrusted(&variables.line()), json, only_in_environment: only })
}

/// The unit's name; what a program prints has none.
pub(super) fn unit(measure: &Measure) -> Option<&'static str> {
    (measure.name != OWN).then(|| Unit::name(measure.unit))
}

/// The sides that win for a goal, each once.
pub(super) fn winning_sides<'r>(report: &'r TrialReport<'_>) -> Vec<&'r Side> {
    let mut places: Vec<usize> = report.winners.iter().filter_map(|winner| winner.side).collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter().filter_map(|place| report.results.sides.get(place)).collect()
}
