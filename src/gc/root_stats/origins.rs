//! Roots by origin.

use super::rows::Row;
use crate::gc::names::{Origin, Tables};
use crate::gc::root_kind::RootKind;

/// Roots by origin. Each root is in one of the three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Origins {
    pub(crate) runtime: u64,
    pub(crate) app: u64,
    pub(crate) unknown: u64,
}

/// The origin of a stack root is that of its method, the origin of any other root is that of its object's type.
pub(super) fn origins(rows: &[Row], untyped: u64, names: &mut Tables) -> Origins {
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
