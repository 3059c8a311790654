//! Compares several runs with several others.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::comparable::doubts;
use super::side::{Watched, rotated};
use crate::assertion::{ChangeVerdict, Wanted, wanted};
use crate::cli::{DiffArgs, DiffFormat};
use crate::command::{output, verdict, watches};
use crate::exit::{Code, Failure};
use crate::experiment::{Comparison, compared, gate, judge};
use crate::report::{RunsReport, RunsRow, change_annotations};

/// Compares two sides. Returns the report, the annotations for GitHub and the exit code.
pub(super) fn run(args: &DiffArgs, files: [&[PathBuf]; 2]) -> Result<(String, String, Code), Failure> {
    let options = &args.comparison;
    let all = files.concat();
    if let Some(twice) = all.iter().enumerate().find(|(n, file)| all[..*n].contains(file)).map(|(_, f)| f) {
        let what = format!("{} is given twice", twice.display());
        return Err(Failure::new(Code::USAGE, what).remedy("each run counts once"));
    }
    let wanted = wanted(&options.fail_on);
    let read = |files: &[PathBuf]| -> Result<Vec<(Watched, PathBuf)>, Failure> {
        let runs = watches::of(files)?;
        runs.into_iter().map(|parts| Ok((rotated(&parts, &wanted)?, parts[0].clone()))).collect()
    };
    let sides = [read(files[0])?, read(files[1])?];
    let names: BTreeSet<&str> = options.fail_on.iter().map(|assertion| assertion.name.as_str()).collect();
    let doubts = doubts([&refs(&sides[0]), &refs(&sides[1])]);
    if args.strict {
        doubts.refuse()?;
    }
    let rows = rows(&wanted, &sides, &names, options.min_effect_percent());
    let comparison = |name: &str| rows.iter().find(|row| row.name == name).map(|row| &row.comparison);
    let judged: Vec<ChangeVerdict> =
        options.fail_on.iter().map(|assertion| gate(assertion, comparison(&assertion.name))).collect();
    let code = verdict::of_changes(judged.iter());
    let report = RunsReport {
        sides: sides.each_ref().map(|runs| {
            runs.iter().map(|(run, path)| run.shown(path, output::units(options.units))).collect()
        }),
        rows: &rows,
        judged: &judged,
        assertions: &options.fail_on,
        warnings: &doubts.all(),
        min_effect_percent: options.min_effect_percent(),
        code: code.0,
    };
    let annotations = change_annotations(&judged, &report.verdicts());
    let text = match options.format {
        DiffFormat::Text => report.text(output::terminal(options.color), output::units(options.units)),
        DiffFormat::Json => report.json()?,
        DiffFormat::Markdown => report.markdown(output::units(options.units)),
        DiffFormat::Github => annotations.clone(),
    };
    Ok((text, annotations, code))
}

fn refs(runs: &[(Watched, PathBuf)]) -> Vec<&Watched> {
    runs.iter().map(|(run, _)| run).collect()
}

/// Compares all metrics that a run has. Those of `--fail-on` are judged together, or without one all.
fn rows(
    wanted: &[Wanted],
    sides: &[Vec<(Watched, PathBuf)>; 2],
    names: &BTreeSet<&str>,
    min_effect_percent: f64,
) -> Vec<RunsRow> {
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
    judge(&mut judged.collect::<Vec<&mut Comparison>>(), min_effect_percent);
    rows
}
