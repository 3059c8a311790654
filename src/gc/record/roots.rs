//! Roots, counted by kind and flags.

use crate::gc::root_kind::{RootFlags, RootKind};
use crate::gc::root_stats::RootStats;

/// One combination of kind and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RootCount {
    pub(crate) kind: RootKind,
    pub(crate) flags: RootFlags,
    pub(crate) count: u64,
}

/// The roots at the end of a blocking collection, of all generations whichever was collected.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Roots {
    /// Roots that are null. They are in no other count.
    pub(crate) null_refs: u64,
    /// Every non-null root once, weak ones too. Sorted by kind, then flags.
    pub(crate) counts: Vec<RootCount>,
    /// `false`: they came by the first version of the callback, which has neither kinds, flags and ids nor dependent
    /// pairs. Only their number is known.
    pub(crate) kinds_known: bool,
    /// Key and value pairs of dependent handles and ConditionalWeakTables: edges, not roots.
    pub(crate) dependent_pairs: u64,
    /// Single roots, only with `--blocks`.
    pub(crate) list: Option<Vec<Root>>,
    /// By name; `None`: no names were requested.
    pub(crate) stats: Option<RootStats>,
}

impl Roots {
    /// All non-null roots.
    pub(crate) fn total(&self) -> u64 {
        sum(&self.counts, |_| true)
    }
    /// Those of one kind.
    pub(crate) fn of_kind(&self, kind: RootKind) -> Option<u64> {
        self.by_kind_and_flags().map(|counts| sum(counts, |c| c.kind == kind))
    }
    /// Those with one flag.
    pub(crate) fn with_flag(&self, flag: RootFlags) -> Option<u64> {
        self.by_kind_and_flags().map(|counts| sum(counts, |c| c.flags.has(flag)))
    }
    /// Roots that keep their object alive: all but the weak ones.
    pub(crate) fn holding(&self) -> Option<u64> {
        self.with_flag(RootFlags::WEAK).map(|weak| self.total().saturating_sub(weak))
    }
    /// The counts, where kinds and flags are known.
    pub(crate) fn by_kind_and_flags(&self) -> Option<&[RootCount]> {
        self.kinds_known.then_some(&self.counts)
    }
}

fn sum(counts: &[RootCount], which: impl Fn(&RootCount) -> bool) -> u64 {
    counts.iter().filter(|c| which(c)).map(|c| c.count).fold(0, u64::saturating_add)
}

/// One root, as RootReferences2 reported it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Root {
    /// Address after relocation.
    pub(crate) object: u64,
    /// FunctionID of a stack root, handle of a handle root, else opaque.
    pub(crate) id: u64,
    pub(crate) kind: RootKind,
    pub(crate) flags: RootFlags,
    /// The first collection, of those watched without a gap, at which this object was among the roots.
    pub(crate) since_gc: Option<u32>,
}
