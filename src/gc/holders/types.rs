//! Roots by the type of what they hold.

use std::cmp::Reverse;

use super::{Row, STATICS};
use crate::gc::map::{HashMap, HashSet};
use crate::gc::names::{Name, Tables};

/// Roots of one kind, with the same flags, to objects of one type in one generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeRow {
    pub(crate) name: Name,
    /// Index into [`super::HOLDER_KINDS`].
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) generation: Option<u8>,
    /// Roots.
    pub(crate) count: u64,
    /// Of the objects themselves, each once.
    pub(crate) bytes: u64,
}

/// Rows with the names of their types. Arrays in which static fields lie are told from handles that
/// somebody made.
pub(super) fn typed(rows: &[Row], names: &mut Tables) -> Vec<(Row, Name)> {
    let mut slots: Vec<u64> = names.fields().map(|(_, field)| field.slot).filter(|s| *s != 0).collect();
    slots.sort_unstable();
    let holds_a_slot = |row: &Row| {
        let next = slots.partition_point(|slot| *slot < row.object);
        slots.get(next).is_some_and(|slot| slot - row.object < row.bytes)
    };
    rows.iter()
        .map(|row| {
            let mut row = *row;
            if row.kind == 1 && holds_a_slot(&row) {
                row.kind = STATICS;
            }
            (row, names.class_name(row.class))
        })
        .collect()
}

/// The largest first.
pub(super) fn types(rows: &[(Row, Name)]) -> Vec<TypeRow> {
    type Key = (Name, u8, u8, Option<u8>);
    let mut found: HashMap<Key, (TypeRow, HashSet<u64>)> = HashMap::default();
    for (row, name) in rows {
        let key = (name.clone(), row.kind, row.flags, row.generation);
        let (held, objects) = found.entry(key).or_insert_with(|| {
            let (name, kind, flags, generation) = (name.clone(), row.kind, row.flags, row.generation);
            (TypeRow { name, kind, flags, generation, count: 0, bytes: 0 }, HashSet::default())
        });
        held.count += row.count;
        if objects.insert(row.object) {
            held.bytes = held.bytes.saturating_add(row.bytes);
        }
    }
    let mut types: Vec<TypeRow> = found.into_values().map(|(held, _)| held).collect();
    types.sort_by(|a, b| {
        let key = |t: &TypeRow| (Reverse(t.bytes), Reverse(t.count), t.kind, t.flags, t.generation);
        key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
    });
    types
}
