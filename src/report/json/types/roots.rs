//! What held it.

use super::root_stats::{Pinned, RootMethod, RootOrigins, RootStatic, RootType, cut};
use crate::gc::record;
use crate::gc::root_kind::{self, MarkKind, RootKind};
use crate::gc::root_stats::RootStats;
use crate::report::json::number::{Address, Int};
use crate::report::json::wire::{Convert, wire};

/// Bytes by kind of root, in the order of [`MarkKind::ALL`].
pub(crate) type PromotedBy = [Option<u64>; MarkKind::ALL.len()];

/// What was seen of the roots of one collection.
pub(crate) struct Seen<'a> {
    promoted_by: &'a PromotedBy,
    all: Option<&'a record::Roots>,
    with_kinds: Option<&'a record::Roots>,
    named: Option<&'a RootStats>,
}

/// Null when neither roots nor the bytes they promoted were seen.
pub(crate) fn roots(to: &mut Convert, gc: &record::Gc) -> Option<Roots> {
    let all = gc.roots.as_ref();
    let (with_kinds, named) = (all.filter(|r| r.kinds_known), all.and_then(|r| r.stats.as_ref()));
    let seen = all.is_some() || any(&gc.promoted_by);
    seen.then(|| to.wire(&Seen { promoted_by: &gc.promoted_by, all, with_kinds, named }))
}

/// Whether any were seen.
pub(crate) fn any(by: &PromotedBy) -> bool {
    by.iter().any(Option::is_some)
}

wire! {
    /// What held the heap. The counts are null where only the promoted bytes were seen; all but the total
    /// and the null ones are null where the runtime tells no kinds.
    Roots(to, of: Seen<'_>) {
        /// All roots that point to an object, weak ones included.
        total: Option<Int> = to.wire(&of.all.map(|r| r.total())),
        /// Roots that point nowhere; not in the total. Slots of frames: handles to null are passed over.
        null_refs: Option<Int> = to.wire(&of.all.map(|r| r.null_refs)),
        weak: Option<Int> = to.wire(&of.all.and_then(|r| r.with_flag(root_kind::RootFlags::WEAK))),
        /// Those that keep their object alive: all but the weak ones.
        holding: Option<Int> = to.wire(&of.all.and_then(|r| r.holding())),
        by_kind: Option<RootKinds> = of.with_kinds.map(|r| to.wire(r)),
        /// A root counts once for each of its flags.
        by_flag: Option<RootFlags> = of.with_kinds.map(|r| to.wire(r)),
        by_kind_and_flag: Option<Vec<RootCount>> = of.with_kinds.map(|r| to.all(&r.counts)),
        /// Null where no names were told; so are the lists below.
        by_origin: Option<RootOrigins> = of.named.map(|s| to.wire(&s.origins)),
        /// Bytes that each kind of root kept; null when not seen, as with background collections, of
        /// which the runtime tells none.
        promoted_bytes: Option<PromotedBytes> = any(of.promoted_by).then(|| to.wire(of.promoted_by)),
        /// Pairs of dependent handles and conditional weak tables: edges, not roots.
        dependent_pairs: Option<Int> = to.wire(&of.with_kinds.map(|r| r.dependent_pairs)),
        /// Roots that were counted but not looked at: more than 10,000 different ones in one collection.
        untyped: Option<Int> = to.wire(&of.named.map(|s| s.untyped)),
        /// The methods whose frames hold the most, at most 100.
        methods: Option<Vec<RootMethod>> = of.named.map(|s| to.top(&s.methods)),
        /// The types that roots point to, the largest first, at most 100.
        types: Option<Vec<RootType>> = of.named.map(|s| to.top(&s.types)),
        /// Static fields that hold an object, the program's before the framework's, the largest first, at most 100. Null where they are not known.
        statics: Option<Vec<RootStatic>> = of.named.and_then(|s| Some(to.top(s.statics.as_ref()?))),
        /// What is pinned, and by what, the largest first, at most 100.
        pinned: Option<Vec<Pinned>> = of.named.map(|s| to.top(&s.pinned)),
        /// One of these lists has more rows than are here.
        lists_cut: Option<bool> = of.named.map(cut),
        /// Every root; null without `--blocks`.
        list: Option<Vec<Root>> = of.all.and_then(|r| {
            Some(r.list.as_ref()?.iter().map(|root| to.wire(&(root, r.kinds_known))).collect())
        }),
    }

    /// A number per kind of root.
    RootKinds(to, roots: record::Roots) {
        stack: Int = to.wire(&roots.of_kind(RootKind::STACK).unwrap_or(0)),
        handle: Int = to.wire(&roots.of_kind(RootKind::HANDLE).unwrap_or(0)),
        finalizer: Int = to.wire(&roots.of_kind(RootKind::FINALIZER).unwrap_or(0)),
        other: Int = to.wire(&roots.of_kind(RootKind::OTHER).unwrap_or(0)),
    }

    /// A number per flag of a root.
    RootFlags(to, roots: record::Roots) {
        pinning: Int = to.wire(&roots.with_flag(root_kind::RootFlags::PINNING).unwrap_or(0)),
        weak: Int = to.wire(&roots.with_flag(root_kind::RootFlags::WEAK).unwrap_or(0)),
        interior: Int = to.wire(&roots.with_flag(root_kind::RootFlags::INTERIOR).unwrap_or(0)),
        refcounted: Int = to.wire(&roots.with_flag(root_kind::RootFlags::REFCOUNTED).unwrap_or(0)),
    }

    /// Roots of one kind with exactly these flags.
    RootCount(to, count: record::RootCount) {
        /// "stack", "handle", "finalizer" or "other".
        kind: &'static str,
        /// Any of "pinning", "weak", "interior", "refcounted".
        flags: Vec<&'static str>,
        count: Int,
    }

    /// Bytes by what promoted them, as the runtime's marking counts them (GCMarkWithType, all heaps
    /// added up): an object belongs to the first kind that reaches it, in this order: sized_ref, stack,
    /// background, finalizer, handle, older_generation, steal, dependent_handle, new_finalizable. Null
    /// where no such event came.
    ///
    /// Without `overflow`, which is contained in `dependent_handle`, they sum to what survived in the
    /// collected generations, LOH and POH included: to `promoted_bytes` of the heaps, less what rounding
    /// each object up to 8 bytes makes. (The runtime's own total, `promoted_bytes` of a gen2 collection,
    /// leaves out the POH.) With server GC the sum may be higher: two threads that reach an object at
    /// the same moment both count it.
    PromotedBytes(to, by: PromotedBy) {
        /// Locals and arguments of threads.
        stack: Option<Int> = to.wire(&by[0]),
        /// Objects that were waiting for their finalizers before.
        finalizer: Option<Int> = to.wire(&by[1]),
        /// Handles of every kind, and so static fields.
        handle: Option<Int> = to.wire(&by[2]),
        /// Objects of generations that were not collected; null with gen2.
        older_generation: Option<Int> = to.wire(&by[3]),
        sized_ref: Option<Int> = to.wire(&by[4]),
        /// Part of `dependent_handle`: what a full mark queue or stack had put off until then.
        overflow: Option<Int> = to.wire(&by[5]),
        dependent_handle: Option<Int> = to.wire(&by[6]),
        /// Objects that now wait for their finalizers, and what only they hold.
        new_finalizable: Option<Int> = to.wire(&by[7]),
        steal: Option<Int> = to.wire(&by[8]),
        /// What a background collection, during which this one ran, had still to mark.
        background: Option<Int> = to.wire(&by[9]),
    }

    /// One root.
    Root(to, of: (&record::Root, bool)) {
        /// Where its object lies after the collection.
        object: Address = to.wire(&of.0.object),
        /// FunctionID of a stack root, the handle of a handle root, else opaque.
        id: Option<Address> = of.1.then(|| to.wire(&of.0.id)),
        kind: Option<&'static str> = of.1.then(|| to.wire(&of.0.kind)),
        flags: Option<Vec<&'static str>> = of.1.then(|| to.wire(&of.0.flags)),
        /// The number of the first garbage collection at which this same object was among the roots, of
        /// those watched without a gap up to this one. Null for a null root, in an incomplete record, and
        /// where nothing tells whether it is the same object (a frozen one lies in no generation).
        since_gc: Option<u32> = of.0.since_gc,
    }
}
