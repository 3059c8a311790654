//! Stack roots by the method whose frame they are in.

use std::cmp::Reverse;

use super::rows::Row;
use super::types::by_text;
use crate::gc::names::{Name, Origin, Tables};
use crate::gc::root_kind::RootKind;

/// A method and the slots of its frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MethodRow {
    pub(crate) name: Name,
    /// Roots in its frames.
    pub(crate) slots: u64,
    /// Distinct objects that these point to.
    pub(crate) objects: u64,
    pub(crate) pinned_slots: u64,
    /// It is a method of the program.
    pub(crate) own: bool,
}

/// The methods with most slots first. Code that shares a name shares a row.
pub(super) fn methods(rows: &[Row], names: &mut Tables) -> Vec<MethodRow> {
    let mut sorted: Vec<(Name, &Row)> = rows
        .iter()
        .filter(|r| r.kind == RootKind::STACK)
        .map(|row| (names.method_name(row.id), row))
        .collect();
    // The first row decides whether the method is the program's.
    sorted.sort_by(|(a, _), (b, _)| by_text(a, b));
    let mut methods: Vec<MethodRow> = Vec::new();
    for of_one in sorted.chunk_by(|(a, _), (b, _)| by_text(a, b).is_eq()) {
        let Some((name, first)) = of_one.first() else { continue };
        let mut objects: Vec<u64> = of_one.iter().map(|(_, row)| row.object).collect();
        objects.sort_unstable();
        objects.dedup();
        let counts = |of: fn(&Row) -> bool| {
            of_one.iter().filter(|(_, r)| of(r)).fold(0_u64, |sum, (_, r)| sum.saturating_add(r.count))
        };
        methods.push(MethodRow {
            name: name.clone(),
            slots: counts(|_| true),
            objects: objects.len() as u64,
            pinned_slots: counts(Row::pinning),
            own: names.method_origin(first.id) == Origin::App,
        });
    }
    methods.sort_by(|a, b| Reverse(a.slots).cmp(&Reverse(b.slots)).then_with(|| a.name.cmp(&b.name)));
    methods
}
