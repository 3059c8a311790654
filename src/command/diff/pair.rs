//! Compares two watches, one a side.

use std::collections::BTreeSet;
use std::path::Path;

use super::comparable::doubts;
use super::side::watched;
use crate::assertion::{rows, wanted};
use crate::cli::{DiffArgs, DiffFormat};
use crate::command::{output, verdict};
use crate::exit::{Code, Failure};
use crate::experiment::{FAMILY_ERROR, to_judge};
use crate::report::{DiffReport, change_annotations};

/// Compares two files. Returns the report, the annotations for GitHub and the exit code.
pub(super) fn run(args: &DiffArgs, paths: [&Path; 2]) -> Result<(String, String, Code), Failure> {
    let options = &args.comparison;
    let wanted = wanted(&options.fail_on);
    let (before, after) = (watched(paths[0], &wanted)?, watched(paths[1], &wanted)?);
    let doubts = doubts([&[&before], &[&after]]);
    if args.strict {
        doubts.refuse()?;
    }
    let rows = rows(before.parts(), after.parts());
    let judged: Vec<_> = options.fail_on.iter().map(|assertion| assertion.verdict(&rows)).collect();
    let code = verdict::of_changes(judged.iter());
    let judged_metrics: BTreeSet<&str> = judged.iter().map(|judged| judged.name.as_str()).collect();
    let tests = if judged.is_empty() { rows.len() } else { judged_metrics.len() };
    let diff = DiffReport {
        before: before.shown(paths[0], output::units(options.units)),
        after: after.shown(paths[1], output::units(options.units)),
        rows: &rows,
        judged: &judged,
        warnings: &doubts.all(),
        needed_runs: to_judge(tests, FAMILY_ERROR),
        code: code.0,
    };
    let annotations = change_annotations(&judged, &diff.verdicts());
    let text = match options.format {
        DiffFormat::Text => diff.text(output::terminal(options.color), output::units(options.units)),
        DiffFormat::Json => diff.json()?,
        DiffFormat::Markdown => diff.markdown(output::units(options.units)),
        DiffFormat::Github => annotations.clone(),
    };
    Ok((text, annotations, code))
}
