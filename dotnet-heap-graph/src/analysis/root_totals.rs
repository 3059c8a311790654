//! What each kind of root keeps alive.

use crate::dominators::{Amount, Dominators};
use crate::graph::{Graph, RootKind};

/// Sums over the roots of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootTotals {
    /// The kind.
    pub kind: RootKind,
    /// How many roots of this kind keep their object alive.
    pub strong: u64,
    /// How many do not.
    pub weak: u64,
    /// What would be garbage without all roots of this kind.
    pub alone: Amount,
}

/// Adds up the roots of each kind that there is, in the order of [`RootKind::ALL`].
pub fn root_totals(graph: &Graph, dominators: &Dominators) -> Vec<RootTotals> {
    let sums = RootKind::ALL.into_iter().map(|kind| {
        let of_kind = graph.roots().iter().filter(|root| root.kind == kind);
        let weak = of_kind.clone().filter(|root| root.is_weak).count() as u64;
        let strong = of_kind.count() as u64 - weak;
        RootTotals { kind, strong, weak, alone: dominators.retained_by_roots(kind) }
    });
    sums.filter(|sums| sums.strong + sums.weak > 0).collect()
}
