//! Pinned objects, and what pins them.

use std::cmp::Reverse;

use super::rows::Row;
use crate::gc::generation::Generation;
use crate::gc::map::{HashMap, HashSet};
use crate::gc::names::{Name, Tables};
use crate::gc::root_kind::RootKind;

/// Objects of one type that are pinned the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinnedRow {
    pub(crate) type_name: Name,
    /// "handle", "fixed local" or "other".
    pub(crate) by: &'static str,
    /// `None` where the profiler did not see how the handle was allocated.
    pub(crate) handle_type: Option<&'static str>,
    /// The method that allocated the handle, or that has the local.
    pub(crate) allocated_by: Option<Name>,
    pub(crate) generation: Option<Generation>,
    /// Distinct objects.
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// In how many collections in a row the object that is pinned longest was pinned.
    pub(crate) seen_in_gcs: u64,
}

/// SetGCHandle's kinds by their numbers.
const HANDLE_TYPES: [&str; 13] = [
    "weak_short",
    "weak_long",
    "strong",
    "pinned",
    "variable",
    "refcounted",
    "dependent",
    "async_pinned",
    "sized_ref",
    "weak_native_com",
    "weak_interior_pointer",
    "cross_reference",
    "dependent_interior",
];

/// The largest first.
pub(super) fn pinned(
    rows: &[(Row, Name)],
    pinned_for: &HashMap<u64, u64>,
    names: &mut Tables,
) -> Vec<PinnedRow> {
    type Key = (Name, &'static str, Option<&'static str>, Option<Name>, Option<Generation>);
    let mut found: HashMap<Key, (PinnedRow, HashSet<u64>)> = HashMap::default();
    for (row, type_name) in rows.iter().filter(|(row, _)| row.pinning()) {
        let (by, allocated_by) = match row.kind {
            RootKind::STACK => ("fixed local", Some(names.method_name(row.id))),
            RootKind::HANDLE => {
                ("handle", (row.allocated_by != 0).then(|| names.method_name(row.allocated_by)))
            }
            _ => ("other", None),
        };
        let handle_type = row
            .handle_kind
            .filter(|_| row.kind == RootKind::HANDLE)
            .map(|k| HANDLE_TYPES.get(usize::from(k)).copied());
        let handle_type = handle_type.flatten();
        let key = (type_name.clone(), by, handle_type, allocated_by.clone(), row.generation);
        let (pinned, objects) = found.entry(key).or_insert_with(|| {
            let pinned = PinnedRow {
                type_name: type_name.clone(),
                by,
                handle_type,
                allocated_by,
                generation: row.generation,
                count: 0,
                bytes: 0,
                seen_in_gcs: 0,
            };
            (pinned, HashSet::default())
        });
        if objects.insert(row.object) {
            pinned.count += 1;
            pinned.bytes = pinned.bytes.saturating_add(row.bytes);
        }
        pinned.seen_in_gcs = pinned.seen_in_gcs.max(pinned_for.get(&row.object).copied().unwrap_or(0));
    }
    let mut all: Vec<PinnedRow> = found.into_values().map(|(pinned, _)| pinned).collect();
    all.sort_by_cached_key(|p| {
        let size = (Reverse(p.bytes), Reverse(p.count));
        (size, p.by, p.handle_type, p.generation, p.type_name.clone(), p.allocated_by.clone())
    });
    all
}
