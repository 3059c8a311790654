//! The roots of one collection, added up by name.

use super::methods::{MethodRow, methods};
use super::origins::{Origins, origins};
use super::pinned::{PinnedRow, pinned};
use super::rows::RootRows;
use super::statics::{StaticRow, statics};
use super::types::{TypeRow, typed, types};
use crate::gc::names::Tables;

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
