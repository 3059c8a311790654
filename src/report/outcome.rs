//! How a watch went, apart from its assertions, in words: the same in every format that CI systems show.

use super::missing;
use super::model::{End, Facts};
use super::multi_process::model::{NOT_WATCHED, UNREADABLE};
use crate::gc::facts::Exit;

/// Why nothing was watched; `None`: something was.
pub(super) fn not_watched(facts: &Facts, exit: &Exit) -> Option<String> {
    let why = facts.watch.level_reason.as_deref();
    match exit.reason {
        NOT_WATCHED => {
            Some(why.map_or_else(|| "not watched".to_owned(), |why| format!("not watched: {why}")))
        }
        UNREADABLE => Some(why.unwrap_or("the recording cannot be read").to_owned()),
        _ => None,
    }
}

/// Why gcwatch could not do its work, or why its exit code is not 0 although no assertion and no exit code of the program
/// explains that; `None`: it could.
pub(super) fn fault(facts: &Facts, end: &End<'_>) -> Option<String> {
    let not_watched = not_watched(facts, end.exit);
    if not_watched.is_some() || end.verdicts.iter().any(|verdict| verdict.holds != Some(true)) {
        return not_watched;
    }
    let why = unexplained(end.exit)?;
    let missing = end.lost.gap.map(missing::gap).or_else(|| missing::counts(end.lost));
    Some(missing.map_or_else(|| why.clone(), |missing| format!("{why}: {missing}")))
}

/// gcwatch's exit code, unless it is 0 or that of the program.
pub(super) fn unexplained(exit: &Exit) -> Option<String> {
    let known = exit.gcwatch == 0 || Some(exit.gcwatch) == exit.child;
    (!known).then(|| format!("gcwatch ended with exit code {} ({})", exit.gcwatch, exit.reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::facts::{Gap, Lost};
    use crate::gc::summary::Summary;

    fn said(gcwatch: i32, child: Option<i32>, reason: &'static str, gap: Option<Gap>) -> Option<String> {
        let (summary, lost) = (Summary::default(), Lost { gap, ..Lost::default() });
        let exit = Exit { gcwatch, child, reason };
        let end = End { summary: &summary, lost: &lost, verdicts: &[], findings: &[], exit: &exit };
        let mut facts = Facts::default();
        facts.watch.level_reason = Some("its diagnostics are switched off".to_owned());
        fault(&facts, &end)
    }

    #[test]
    fn each_exit_code_is_explained_once() {
        assert_eq!(said(0, Some(0), "target-ended", None), None);
        assert_eq!(said(134, Some(134), "target-ended", Some(Gap::Killed)), None);
        let why = "not watched: its diagnostics are switched off";
        assert_eq!(said(0, Some(0), NOT_WATCHED, None).as_deref(), Some(why));
        assert_eq!(said(7, Some(7), NOT_WATCHED, None).as_deref(), Some(why));
        let interrupted = said(130, None, "interrupted", None);
        assert_eq!(interrupted.as_deref(), Some("gcwatch ended with exit code 130 (interrupted)"));
        let strict = said(11, None, "truncated", Some(Gap::Truncated)).unwrap_or_default();
        assert!(
            strict.starts_with("gcwatch ended with exit code 11 (truncated): the recording ends"),
            "{strict}"
        );
    }
}
