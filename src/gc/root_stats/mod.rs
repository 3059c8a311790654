//! What holds the heap, by name: the profiler's rows of single roots, added up once their names are
//! there.

mod methods;
mod origins;
mod pinned;
mod rows;
mod statics;
mod totals;
mod types;

use super::names::{Name, Tables};

pub(crate) use origins::Origins;
pub(crate) use pinned::PinnedRow;
pub(super) use rows::IncomingRootRows;
pub(crate) use rows::{RootRows, Row};
pub(crate) use statics::StaticRow;
pub(super) use totals::inducing_method;
pub(crate) use totals::{InducedTotals, PinnedTotals, RootStatsTotals};
pub(crate) use types::TypeRow;

/// A method and the slots of its frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MethodRow {
    pub(crate) name: Name,
    /// Roots in its frames.
    pub(crate) slots: u64,
    /// Different objects that these point to.
    pub(crate) objects: u64,
    pub(crate) pinned_slots: u64,
    /// Of the program, not of the framework or of nobody known.
    pub(crate) own: bool,
}

/// Who holds what, in one collection. Each list is whole, the largest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RootStats {
    pub(crate) methods: Vec<MethodRow>,
    pub(crate) types: Vec<TypeRow>,
    /// `None`: the static fields are not known.
    pub(crate) statics: Option<Vec<StaticRow>>,
    pub(crate) pinned: Vec<PinnedRow>,
    pub(crate) origins: Origins,
    /// Roots that were counted but not looked at.
    pub(crate) untyped: u64,
}

impl RootStats {
    /// Adds rows up, by the names that are known now.
    pub(super) fn of(seen: &RootRows, names: &mut Tables) -> RootStats {
        let rows = types::typed(&seen.rows, names);
        RootStats {
            methods: methods::methods(&seen.rows, names),
            types: types::types(&rows),
            statics: seen.statics.as_ref().map(|values| statics::statics(values, names)),
            pinned: pinned::pinned(&rows, &seen.pinned_for, names),
            origins: origins::origins(&seen.rows, seen.untyped, names),
            untyped: seen.untyped,
        }
    }
}

#[cfg(test)]
mod tests;
