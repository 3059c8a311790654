//! Roots by the type of what they hold.

use std::cmp::{Ordering, Reverse};

use super::rows::Row;
use crate::gc::generation::Generation;
use crate::gc::names::{Name, Tables};
use crate::gc::root_kind::{RootFlags, RootKind};

/// Roots of one kind, with the same flags, to objects of one type in one generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeRow {
    pub(crate) name: Name,
    pub(crate) kind: RootKind,
    pub(crate) flags: RootFlags,
    pub(crate) generation: Option<Generation>,
    /// Roots.
    pub(crate) count: u64,
    /// Bytes of the objects themselves, each counted once.
    pub(crate) bytes: u64,
}

/// Rows with the names of their types. Handles of arrays that hold the values of static fields become a kind of their
/// own.
pub(super) fn typed(rows: &[Row], names: &mut Tables) -> Vec<(Row, Name)> {
    rows.iter()
        .map(|row| {
            let mut row = *row;
            if row.kind == RootKind::HANDLE && names.holds_a_slot(row.object, row.bytes) {
                row.kind = RootKind::STATICS;
            }
            (row, names.class_name(row.class))
        })
        .collect()
}

/// The largest first.
pub(super) fn types(rows: &[(Row, Name)]) -> Vec<TypeRow> {
    let flat = |row: &Row| (row.kind, row.flags, row.generation);
    let mut sorted: Vec<&(Row, Name)> = rows.iter().collect();
    // The sort is stable: the first row of an object stays first.
    sorted.sort_by(|(a, a_name), (b, b_name)| {
        flat(a).cmp(&flat(b)).then_with(|| by_text(a_name, b_name)).then(a.object.cmp(&b.object))
    });
    let same = |a: &&(Row, Name), b: &&(Row, Name)| flat(&a.0) == flat(&b.0) && by_text(&a.1, &b.1).is_eq();
    let mut types: Vec<TypeRow> = Vec::new();
    for of_one in sorted.chunk_by(same) {
        let Some((first, name)) = of_one.first() else { continue };
        let (name, kind, flags, generation) = (name.clone(), first.kind, first.flags, first.generation);
        let objects = of_one.chunk_by(|a, b| a.0.object == b.0.object).filter_map(<[_]>::first);
        types.push(TypeRow {
            name,
            kind,
            flags,
            generation,
            count: of_one.iter().fold(0, |sum, (row, _)| sum.saturating_add(row.count)),
            bytes: objects.fold(0, |sum, (row, _)| sum.saturating_add(row.bytes)),
        });
    }
    types.sort_by(|a, b| {
        let key = |t: &TypeRow| (Reverse(t.bytes), Reverse(t.count), t.kind, t.flags, t.generation);
        key(a).cmp(&key(b)).then_with(|| by_text(&a.name, &b.name))
    });
    types
}

/// Compares names. Equal names are mostly the same allocation.
pub(super) fn by_text(a: &Name, b: &Name) -> Ordering {
    if Name::ptr_eq(a, b) { Ordering::Equal } else { a.cmp(b) }
}
