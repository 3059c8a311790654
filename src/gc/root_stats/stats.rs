//! The roots of one collection, added up by name.

use std::cmp::Reverse;

use super::methods::{MethodRow, methods};
use super::pinned::{PinnedRow, pinned};
use super::rows::{RootRows, Row, Value};
use super::types::{TypeRow, typed, types};
use crate::gc::generation::Generation;
use crate::gc::names::{Name, Origin, Tables};
use crate::gc::root_kind::RootKind;

/// The roots of one collection by name. Each list is complete, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RootStats {
    pub(crate) methods: Vec<MethodRow>,
    pub(crate) types: Vec<TypeRow>,
    /// `None`: the static fields are not known.
    pub(crate) statics: Option<Vec<StaticRow>>,
    pub(crate) pinned: Vec<PinnedRow>,
    pub(crate) origins: Origins,
    /// Roots that were counted, but whose types were not looked up.
    pub(crate) untyped: u64,
}

impl RootStats {
    /// Adds rows up by the names that are known now.
    pub(in crate::gc) fn of(seen: &RootRows, names: &mut Tables) -> RootStats {
        let rows = typed(&seen.rows, names);
        RootStats {
            methods: methods(&seen.rows, names),
            types: types(&rows),
            statics: seen.statics.as_ref().map(|values| statics(values, names)),
            pinned: pinned(&rows, &seen.pinned_for, names),
            origins: origins(&seen.rows, seen.untyped, names),
            untyped: seen.untyped,
        }
    }
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
fn statics(values: &[Value], names: &mut Tables) -> Vec<StaticRow> {
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
    rows.sort_by_cached_key(|row| (!row.own, Reverse(row.bytes), row.field.clone()));
    rows
}

/// Roots by origin. Each root is in one of the three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Origins {
    pub(crate) runtime: u64,
    pub(crate) app: u64,
    pub(crate) unknown: u64,
}

/// The origin of a stack root is that of its method, the origin of any other root is that of its object's type.
fn origins(rows: &[Row], untyped: u64, names: &mut Tables) -> Origins {
    let mut origins = Origins { unknown: untyped, ..Origins::default() };
    for row in rows {
        let of = if row.kind == RootKind::STACK {
            names.method_origin(row.id)
        } else {
            names.class_origin(row.class)
        };
        let sum = match of {
            Origin::Runtime => &mut origins.runtime,
            Origin::App => &mut origins.app,
            Origin::Unknown => &mut origins.unknown,
        };
        *sum = sum.saturating_add(row.count);
    }
    origins
}
