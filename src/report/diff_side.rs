//! A run in a comparison.

use serde::Serialize;

use crate::escape::cut;
use crate::gc::record::Level;

/// A run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DiffSide {
    pub(crate) file: String,
    pub(crate) title: Option<String>,
    /// Complete collections.
    pub(crate) gcs: u64,
    #[serde(serialize_with = "level_name")]
    pub(crate) level: Level,
    pub(crate) duration_ns: Option<u64>,
    /// What is wrong with it; `None`: it is a document of an earlier version, or was cut off.
    pub(crate) findings: Option<Vec<Found>>,
}

fn level_name<S: serde::Serializer>(level: &Level, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(level.name())
}

/// Findings of a run that are kept. A document of a stranger may have any number.
const MAX_FINDINGS: usize = 64;
/// Characters of one that are kept.
const MAX_FINDING_CHARS: usize = 500;

/// A finding of one run, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Found {
    pub(crate) id: String,
    /// A sentence. It may hold names that a target or a document chose.
    pub(crate) title: String,
}

/// The findings of a document: id and title of each.
pub(crate) fn told(findings: Vec<(String, String)>) -> Vec<Found> {
    let short = |text: String| cut(text, MAX_FINDING_CHARS);
    let found = |(id, title)| Found { id: short(id), title: short(title) };
    findings.into_iter().take(MAX_FINDINGS).map(found).collect()
}
