//! Findings of the runs of both sides of a comparison.

use std::collections::BTreeSet;

use super::diff_side::{DiffSide, Found};
use super::in_short;
use super::style::wrapped;
use super::units::Units;
use crate::escape::escape_untrusted;
use crate::finding::Finding;

/// Findings in words.
pub(crate) fn found(findings: &[Finding], units: Units) -> Vec<Found> {
    let words = in_short::all(findings, units, true).into_iter();
    words.map(|shown| Found { id: shown.id.to_owned(), title: shown.title }).collect()
}

/// Lines that say what is new, what is gone, and what stays; none if a run does not tell its findings.
pub(super) fn lines(before: &[DiffSide], after: &[DiffSide]) -> Vec<String> {
    let known = |side: &[DiffSide]| side.iter().all(|run| run.findings.is_some());
    if !known(before) || !known(after) {
        return Vec::new();
    }
    let ids: BTreeSet<&str> = before
        .iter()
        .chain(after)
        .flat_map(|run| run.findings.iter().flatten())
        .map(|f| f.id.as_str())
        .collect();
    if ids.is_empty() {
        return vec!["no rule found anything on either side".to_owned()];
    }
    ids.into_iter().map(|id| line(id, before, after)).collect()
}

fn line(id: &str, before: &[DiffSide], after: &[DiffSide]) -> String {
    let of = |run: &&DiffSide| run.findings.iter().flatten().any(|found| found.id == id);
    let (n_before, n_after) = (before.iter().filter(of).count(), after.iter().filter(of).count());
    let word = match (n_before, n_after) {
        (0, _) => "new",
        (_, 0) => "gone",
        _ => "in both",
    };
    let runs = if before.len() + after.len() > 2 {
        format!(" ({n_before} of {} runs before, {n_after} of {} after)", before.len(), after.len())
    } else {
        String::new()
    };
    let mut all = after.iter().chain(before).flat_map(|run| run.findings.iter().flatten());
    let title = all.find(|found| found.id == id).map_or("", |found| found.title.as_str());
    escape_untrusted(&format!("{word}{runs}: {id}: {title}"))
}

/// The same as the end of a text; empty where nothing is known.
pub(super) fn text(before: &[DiffSide], after: &[DiffSide], columns: usize) -> Vec<String> {
    let lines = lines(before, after);
    if lines.is_empty() {
        return Vec::new();
    }
    let mut text = vec![String::new(), "Findings".to_owned()];
    text.extend(lines.iter().flat_map(|line| wrapped(line, 2, columns)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::Level;

    fn run(ids: Option<&[&str]>) -> DiffSide {
        let found = |id: &&str| Found { id: (*id).to_owned(), title: format!("about {id}") };
        DiffSide {
            file: "file".to_owned(),
            title: None,
            gcs: 1,
            level: Level::Basic,
            duration_ns: None,
            findings: ids.map(|ids| ids.iter().map(found).collect()),
        }
    }

    #[test]
    fn each_finding_is_new_or_gone_or_in_both() {
        let (before, after) = ([run(Some(&["induced", "stacks"]))], [run(Some(&["stacks", "mid-life"]))]);
        assert_eq!(
            lines(&before, &after),
            [
                "gone: induced: about induced",
                "new: mid-life: about mid-life",
                "in both: stacks: about stacks"
            ]
        );
        assert_eq!(lines(&[run(None)], &after), Vec::<String>::new());
        assert_eq!(lines(&[run(Some(&[]))], &[run(Some(&[]))]).len(), 1);
        let several = [run(Some(&["induced"])), run(Some(&[]))];
        assert_eq!(
            lines(&several, &[run(Some(&["induced"]))]),
            ["in both (1 of 2 runs before, 1 of 1 after): induced: about induced"]
        );
    }
}
