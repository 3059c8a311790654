//! Whether a graph is the whole heap.

use crate::format::{EndRecord, Truncated};

/// What is known to be missing in a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completeness {
    /// Where the file is cut or damaged.
    pub truncated: Option<Truncated>,
    /// What the writer counted, and lost. `None` if the file has lost its end.
    pub written: Option<EndRecord>,
    /// The same counts of what was read; the losses are 0.
    pub read: EndRecord,
    /// References to places where no object is.
    pub missing_targets: u64,
    /// References without a field, from or to places where no object is.
    pub missing_edges: u64,
    /// Roots that refer to places where no object is. Roots outside of the heap are among them.
    pub missing_roots: u64,
}

/// A count that differs between what was written and what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was counted, in plural.
    pub what: &'static str,
    /// The writer's count.
    pub written: u64,
    /// The reader's count.
    pub read: u64,
}

impl Completeness {
    /// Counts that differ. Empty if the file has lost its end.
    pub fn differences(&self) -> Vec<Difference> {
        let Some(written) = &self.written else { return Vec::new() };
        let counts = |end: &EndRecord| {
            [end.objects, end.object_bytes, end.references, end.classes, end.roots, end.edges, end.strings]
        };
        let what = [
            "objects",
            "bytes of objects",
            "references",
            "classes",
            "roots",
            "references without a field",
            "strings",
        ];
        let pairs = counts(written).into_iter().zip(counts(&self.read));
        let all =
            what.into_iter().zip(pairs).map(|(what, (written, read))| Difference { what, written, read });
        all.filter(|difference| difference.written != difference.read).collect()
    }

    /// Whether the file is whole, and has all that its writer counted and no reference to nowhere.
    pub fn is_whole(&self) -> bool {
        let lost = self.written.is_none_or(|end| end.lost_roots > 0);
        !lost && self.truncated.is_none() && self.differences().is_empty() && self.missing_targets == 0
    }
}
