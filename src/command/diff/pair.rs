//! Compares two watches, one a side.

use std::collections::BTreeSet;
use std::path::Path;

use super::exit_code;
use super::side::{Watched, watched};
use crate::assertion::{lengths, rows, wanted};
use crate::cli::{DiffArgs, DiffFormat};
use crate::command::output;
use crate::exit::{Code, Failure};
use crate::experiment::{FAMILY_ERROR, to_judge};
use crate::report::DiffReport;

/// Compares two files. Returns the report and the exit code.
pub(super) fn run(args: &DiffArgs, paths: [&Path; 2]) -> Result<(String, Code), Failure> {
    let wanted = wanted(&args.fail_on);
    let (before, after) = (watched(paths[0], &wanted)?, watched(paths[1], &wanted)?);
    let rows = rows(before.parts(), after.parts());
    let judged: Vec<_> = args.fail_on.iter().map(|assertion| assertion.verdict(&rows)).collect();
    let code = exit_code::of(&judged);
    let judged_metrics: BTreeSet<&str> = judged.iter().map(|judged| judged.name.as_str()).collect();
    let tests = if judged.is_empty() { rows.len() } else { judged_metrics.len() };
    let warnings = warnings(&before, &after);
    let diff = DiffReport {
        before: before.shown(paths[0], output::units(args.units)),
        after: after.shown(paths[1], output::units(args.units)),
        rows: &rows,
        judged: &judged,
        warnings: &warnings,
        needed_runs: to_judge(tests, FAMILY_ERROR),
        code: code.0,
    };
    let text = match args.format {
        DiffFormat::Text => diff.text(output::terminal(args.color), output::units(args.units)),
        DiffFormat::Json => diff.json()?,
        DiffFormat::Markdown => diff.markdown(output::units(args.units)),
    };
    Ok((text, code))
}

/// The differences that make two watches hard to compare.
fn warnings(before: &Watched, after: &Watched) -> Vec<String> {
    let mut all = Vec::new();
    let (b, a) = (&before.watch, &after.watch);
    if b.level != a.level {
        let names = (b.level.name(), a.level.name());
        all.push(format!(
            "watched at `{}` before and `{}` after: watch both at the same --level",
            names.0, names.1
        ));
    }
    if let Some((before_s, after_s)) = lengths(b, a) {
        all.push(format!(
            "before lasted {before_s:.1} s and after {after_s:.1} s: counts and totals are compared per second"
        ));
    }
    if before.background_gc_off() != after.background_gc_off() {
        let side = if before.background_gc_off() { "before" } else { "after" };
        all.push(format!(
            "background GC was off {side} only: pauses and counts are those of another collector"
        ));
    }
    for (name, watched) in [("before", before), ("after", after)] {
        if watched.cut {
            all.push(format!("the recording of {name} is cut off: what it holds was compared"));
        }
        if watched.lost.events > 0 {
            all.push(format!(
                "{} events were lost {name}: counts and sums are too small",
                watched.lost.events
            ));
        }
    }
    all
}
