//! Static fields and the objects that they hold.

use std::cmp::Reverse;

use crate::gc::generation::Generation;
use crate::gc::names::{Name, Origin, Tables};

/// The object that a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) field: u32,
    pub(crate) class: u64,
    pub(crate) bytes: u64,
    pub(crate) generation: Option<Generation>,
}

/// A static field that holds an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StaticRow {
    /// `Class.field`.
    pub(crate) field: Name,
    pub(crate) type_name: Name,
    /// Bytes of the object itself.
    pub(crate) bytes: u64,
    pub(crate) generation: Option<Generation>,
    pub(crate) thread_static: bool,
    /// It is a field of the program.
    pub(crate) own: bool,
}

/// Sorted: the program's fields first, then by bytes, the largest first.
pub(super) fn statics(values: &[Value], names: &mut Tables) -> Vec<StaticRow> {
    let mut rows: Vec<StaticRow> = values
        .iter()
        .map(|v| StaticRow {
            field: names.field_name(v.field),
            type_name: names.class_name(v.class),
            bytes: v.bytes,
            generation: v.generation,
            thread_static: names.thread_static(v.field),
            own: names.field_origin(v.field) == Origin::App,
        })
        .collect();
    rows.sort_by(|a, b| {
        let key = |row: &StaticRow| (!row.own, Reverse(row.bytes));
        key(a).cmp(&key(b)).then_with(|| a.field.cmp(&b.field))
    });
    rows
}
