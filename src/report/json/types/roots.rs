//! What held it.

use schemars::JsonSchema;
use serde::Serialize;

use super::root_stats::{Pinned, RootMethod, RootOrigins, RootStatic, RootType};
use crate::report::json::number::{Address, Int};

/// What held the heap. The counts are null where only the promoted bytes were seen; all but the total
/// and the null ones are null where the runtime tells no kinds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Roots {
    /// All roots that point to an object, weak ones included.
    pub(crate) total: Option<Int>,
    /// Roots that point nowhere; not in the total. Slots of frames: handles to null are passed over.
    pub(crate) null_refs: Option<Int>,
    pub(crate) weak: Option<Int>,
    /// Those that keep their object alive: all but the weak ones.
    pub(crate) holding: Option<Int>,
    pub(crate) by_kind: Option<RootKinds>,
    /// A root counts once for each of its flags.
    pub(crate) by_flag: Option<RootFlags>,
    pub(crate) by_kind_and_flag: Option<Vec<RootCount>>,
    /// Null where no names were told; so are the lists below.
    pub(crate) by_origin: Option<RootOrigins>,
    /// Bytes that each kind of root kept; null when not seen, as with background collections, of
    /// which the runtime tells none.
    pub(crate) promoted_bytes: Option<PromotedBytes>,
    /// Pairs of dependent handles and conditional weak tables: edges, not roots.
    pub(crate) dependent_pairs: Option<Int>,
    /// Roots that were counted but not looked at: more than 10,000 different ones in one collection.
    pub(crate) untyped: Option<Int>,
    /// The methods whose frames hold the most, at most 100.
    pub(crate) methods: Option<Vec<RootMethod>>,
    /// The types that roots point to, the largest first, at most 100.
    pub(crate) types: Option<Vec<RootType>>,
    /// Static fields that hold an object, the program's before the framework's, the largest first, at most 100. Null where they are not known.
    pub(crate) statics: Option<Vec<RootStatic>>,
    /// What is pinned, and by what, the largest first, at most 100.
    pub(crate) pinned: Option<Vec<Pinned>>,
    /// One of these lists has more rows than are here.
    pub(crate) lists_cut: Option<bool>,
    /// Every root; null without `--blocks`.
    pub(crate) list: Option<Vec<Root>>,
}

/// A number per kind of root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootKinds {
    pub(crate) stack: Int,
    pub(crate) handle: Int,
    pub(crate) finalizer: Int,
    pub(crate) other: Int,
}

/// A number per flag of a root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootFlags {
    pub(crate) pinning: Int,
    pub(crate) weak: Int,
    pub(crate) interior: Int,
    pub(crate) refcounted: Int,
}

/// Roots of one kind with exactly these flags.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootCount {
    /// "stack", "handle", "finalizer" or "other".
    pub(crate) kind: &'static str,
    /// Any of "pinning", "weak", "interior", "refcounted".
    pub(crate) flags: Vec<&'static str>,
    pub(crate) count: Int,
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
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromotedBytes {
    /// Locals and arguments of threads.
    pub(crate) stack: Option<Int>,
    /// Objects that were waiting for their finalizers before.
    pub(crate) finalizer: Option<Int>,
    /// Handles of every kind, and so static fields.
    pub(crate) handle: Option<Int>,
    /// Objects of generations that were not collected; null with gen2.
    pub(crate) older_generation: Option<Int>,
    pub(crate) sized_ref: Option<Int>,
    /// Part of `dependent_handle`: what a full mark queue or stack had put off until then.
    pub(crate) overflow: Option<Int>,
    pub(crate) dependent_handle: Option<Int>,
    /// Objects that now wait for their finalizers, and what only they hold.
    pub(crate) new_finalizable: Option<Int>,
    pub(crate) steal: Option<Int>,
    /// What a background collection, during which this one ran, had still to mark.
    pub(crate) background: Option<Int>,
}

/// One root.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Root {
    /// Where its object lies after the collection.
    pub(crate) object: Address,
    /// FunctionID of a stack root, the handle of a handle root, else opaque.
    pub(crate) id: Option<Address>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) flags: Option<Vec<&'static str>>,
    /// The number of the first garbage collection at which this same object was among the roots, of
    /// those watched without a gap up to this one. Null for a null root, in an incomplete record, and
    /// where nothing tells whether it is the same object (a frozen one lies in no generation).
    pub(crate) since_gc: Option<u32>,
}
