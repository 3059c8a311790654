//! Compares several runs with several others.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::exit_code;
use super::side::{Watched, rotated};
use crate::assertion::{ChangeAssertion, ChangeVerdict, Wanted, wanted};
use crate::cli::{DiffArgs, DiffFormat};
use crate::command::{output, watches};
use crate::exit::{Code, Failure};
use crate::experiment::{Comparison, compared, judge, median};
use crate::report::{RunsReport, RunsRow};

/// Sides whose lengths differ by more than this share are named.
const MAX_LENGTH_DIFFERENCE: f64 = 0.1;

/// Compares two sides. Returns the report and the exit code.
pub(super) fn run(args: &DiffArgs, files: [&[PathBuf]; 2]) -> Result<(String, Code), Failure> {
    let all = files.concat();
    if let Some(twice) = all.iter().enumerate().find(|(n, file)| all[..*n].contains(file)).map(|(_, f)| f) {
        let what = format!("{} is given twice", twice.display());
        return Err(Failure::new(Code::USAGE, what).remedy("each run counts once"));
    }
    let wanted = wanted(&args.fail_on);
    let read = |files: &[PathBuf]| -> Result<Vec<(Watched, PathBuf)>, Failure> {
        let runs = watches::of(files)?;
        runs.into_iter().map(|parts| Ok((rotated(&parts, &wanted)?, parts[0].clone()))).collect()
    };
    let sides = [read(files[0])?, read(files[1])?];
    let names: BTreeSet<&str> = args.fail_on.iter().map(|assertion| assertion.name.as_str()).collect();
    let rows = rows(&wanted, &sides, &names);
    let judged: Vec<ChangeVerdict> = args.fail_on.iter().map(|assertion| verdict(assertion, &rows)).collect();
    let code = exit_code::of(&judged);
    let warnings = warnings(&sides);
    let report = RunsReport {
        sides: sides
            .each_ref()
            .map(|runs| runs.iter().map(|(run, path)| run.shown(path, output::units(args.units))).collect()),
        rows: &rows,
        judged: &judged,
        assertions: &args.fail_on,
        warnings: &warnings,
        code: code.0,
    };
    let text = match args.format {
        DiffFormat::Text => report.text(output::terminal(args.color), output::units(args.units)),
        DiffFormat::Json => report.json()?,
        DiffFormat::Markdown => report.markdown(output::units(args.units)),
    };
    Ok((text, code))
}

/// Compares all metrics that a run has. Those of `--fail-on` are judged together, or without one all.
fn rows(wanted: &[Wanted], sides: &[Vec<(Watched, PathBuf)>; 2], names: &BTreeSet<&str>) -> Vec<RunsRow> {
    let values = sides.each_ref().map(|runs| {
        let of = |(run, _): &(Watched, PathBuf)| run.side.values(&run.lost, &run.watch);
        runs.iter().map(of).collect::<Vec<_>>()
    });
    let column = |side: usize, place: usize| -> Vec<f64> {
        values[side].iter().filter_map(|run| run.get(place).copied().flatten()).collect()
    };
    let row = |(place, wanted): (usize, &Wanted)| RunsRow {
        name: wanted.name().to_owned(),
        unit: wanted.unit(),
        comparison: compared(&column(0, place), &column(1, place)),
        is_judged: names.is_empty() || names.contains(wanted.name()),
    };
    let mut rows: Vec<RunsRow> = wanted.iter().enumerate().map(row).collect();
    rows.retain(|row| row.comparison.runs != [0, 0]);
    let judged = rows.iter_mut().filter(|row| row.is_judged).map(|row| &mut row.comparison);
    judge(&mut judged.collect::<Vec<&mut Comparison>>());
    rows
}

/// A change fails if it is beyond noise and beyond the bound.
fn verdict(assertion: &ChangeAssertion, rows: &[RunsRow]) -> ChangeVerdict {
    let fails = rows.iter().find(|row| row.name == assertion.name).and_then(|row| {
        let comparison = &row.comparison;
        let (change, percent) = (comparison.shift?.by, comparison.change_percent()?);
        comparison.beyond_noise().map(|beyond| beyond && assertion.forbids(change, percent))
    });
    ChangeVerdict { text: assertion.text.clone(), name: assertion.name.clone(), fails }
}

/// What makes the runs hard to compare.
fn warnings(sides: &[Vec<(Watched, PathBuf)>; 2]) -> Vec<String> {
    let runs = || sides.iter().flatten().map(|(run, _)| run);
    let mut all = Vec::new();
    let levels: BTreeSet<_> = runs().map(|run| run.watch.level).collect();
    if levels.len() > 1 {
        let names: Vec<String> = levels.iter().map(|level| format!("`{}`", level.name())).collect();
        all.push(format!("watched at {}: watch all at the same --level", names.join(" and ")));
    }
    let off = runs().filter(|run| run.background_gc_off()).count();
    if off > 0 && off < runs().count() {
        all.push(format!(
            "background GC was off in {off} of the runs only: their pauses and counts are those of another collector"
        ));
    }
    let seconds = sides.each_ref().map(|runs| {
        let known = runs.iter().filter_map(|(run, _)| run.watch.duration_ns);
        median(&known.map(|ns| ns as f64 / 1e9).collect::<Vec<_>>())
    });
    if let [Some(before), Some(after)] = seconds
        && (before - after).abs() > MAX_LENGTH_DIFFERENCE * before.max(after)
    {
        all.push(format!(
            "before lasted {before:.1} s and after {after:.1} s (medians): counts and totals are those of whole runs"
        ));
    }
    let cut = runs().filter(|run| run.cut).count();
    if cut > 0 {
        all.push(format!("{cut} recordings are cut off: what they hold was compared"));
    }
    let lost = runs().filter(|run| run.lost.events > 0).count();
    if lost > 0 {
        all.push(format!("events were lost in {lost} runs: their counts and sums are too small"));
    }
    all
}
