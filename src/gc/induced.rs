//! Which methods induced collections.

use std::cmp::Reverse;

use super::map::{HashMap, bounded_entry};
use super::names::Name;
use super::record::Gc;

/// The collections that one method induced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InducedBy {
    pub(crate) method: Name,
    pub(crate) count: u64,
    pub(crate) pause_ns: u64,
}

/// Collections by the method that induced them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InducedTotals(HashMap<Name, (u64, u64)>);

/// The method in a stack that called the class `GC`: the innermost frame outside that class.
pub(super) fn inducing_method(frames: &[Name]) -> Option<&Name> {
    frames.iter().find(|name| !name.starts_with("GC."))
}

impl InducedTotals {
    pub(crate) fn add(&mut self, gc: &Gc) {
        let Some(inducing_method) = gc.induced_by.as_deref().and_then(inducing_method) else { return };
        if let Some((count, ns)) = bounded_entry(&mut self.0, inducing_method.clone(), || (0, 0)) {
            *count += 1;
            *ns = ns.saturating_add(gc.pause_ns.unwrap_or(0));
        }
    }

    /// The most frequent first; `None` where no method is known.
    pub(crate) fn rows(&self) -> Option<Vec<InducedBy>> {
        let row = |(method, (count, pause_ns)): (&Name, &(u64, u64))| InducedBy {
            method: method.clone(),
            count: *count,
            pause_ns: *pause_ns,
        };
        let mut rows: Vec<InducedBy> = self.0.iter().map(row).collect();
        rows.sort_by_cached_key(|row| (Reverse(row.count), Reverse(row.pause_ns), row.method.clone()));
        (!rows.is_empty()).then_some(rows)
    }
}
