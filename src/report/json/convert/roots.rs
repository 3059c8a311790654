//! The roots of one collection.

use super::root_stats;
use crate::gc::record::{Gc, Root};
use crate::gc::root_kind::{MarkKind, RootFlags, RootKind};
use crate::report::json::number::{Address, Convert};
use crate::report::json::types::roots as wire;

/// Null when neither roots nor the bytes they promoted were seen.
pub(crate) fn roots(to: &mut Convert, gc: &Gc) -> Option<wire::Roots> {
    let promoted_bytes = promoted(to, &gc.promoted_by);
    let seen = gc.roots.as_ref();
    if seen.is_none() && promoted_bytes.is_none() {
        return None;
    }
    let named = seen.and_then(|r| r.stats.as_ref());
    Some(wire::Roots {
        total: to.known(seen.map(|r| r.total())),
        null_refs: to.known(seen.map(|r| r.null_refs)),
        weak: to.known(seen.and_then(|r| r.with_flag(RootFlags::WEAK))),
        holding: to.known(seen.and_then(|r| r.holding())),
        by_kind: seen.and_then(|r| {
            Some(wire::RootKinds {
                stack: to.int(r.of_kind(RootKind::STACK)?),
                handle: to.int(r.of_kind(RootKind::HANDLE)?),
                finalizer: to.int(r.of_kind(RootKind::FINALIZER)?),
                other: to.int(r.of_kind(RootKind::OTHER)?),
            })
        }),
        by_flag: seen.and_then(|r| {
            Some(wire::RootFlags {
                pinning: to.int(r.with_flag(RootFlags::PINNING)?),
                weak: to.int(r.with_flag(RootFlags::WEAK)?),
                interior: to.int(r.with_flag(RootFlags::INTERIOR)?),
                refcounted: to.int(r.with_flag(RootFlags::REFCOUNTED)?),
            })
        }),
        by_kind_and_flag: seen.and_then(|r| r.by_kind_and_flags()).map(|counts| {
            let counts = counts.iter().map(|c| wire::RootCount {
                kind: c.kind.name(),
                flags: c.flags.names().collect(),
                count: to.int(c.count),
            });
            counts.collect()
        }),
        by_origin: named.map(|h| root_stats::origins(to, h)),
        promoted_bytes,
        dependent_pairs: to.known(seen.filter(|r| r.kinds_known).map(|r| r.dependent_pairs)),
        untyped: to.known(named.map(|h| h.untyped)),
        methods: named.map(|h| root_stats::methods(to, h)),
        types: named.map(|h| root_stats::types(to, h)),
        statics: named.and_then(|h| root_stats::statics(to, h)),
        pinned: named.map(|h| root_stats::pinned(to, h)),
        lists_cut: named.map(root_stats::cut),
        list: seen.and_then(|r| Some((r.list.as_ref()?, r.kinds_known))).map(|(all, kinds_known)| {
            let roots = all.iter().map(|r| root(r, kinds_known));
            roots.collect()
        }),
    })
}

pub(crate) fn promoted(
    to: &mut Convert,
    by: &[Option<u64>; MarkKind::ALL.len()],
) -> Option<wire::PromotedBytes> {
    by.iter().any(Option::is_some).then(|| {
        let [
            stack,
            finalizer,
            handle,
            older_generation,
            sized_ref,
            overflow,
            dependent_handle,
            new_finalizable,
            steal,
            background,
        ] = by.map(|bytes| to.known(bytes));
        wire::PromotedBytes {
            stack,
            finalizer,
            handle,
            older_generation,
            sized_ref,
            overflow,
            dependent_handle,
            new_finalizable,
            steal,
            background,
        }
    })
}

fn root(root: &Root, kinds_known: bool) -> wire::Root {
    wire::Root {
        object: Address(root.object),
        id: kinds_known.then_some(Address(root.id)),
        kind: kinds_known.then(|| root.kind.name()),
        flags: kinds_known.then(|| root.flags.names().collect()),
        since_gc: root.since_gc,
    }
}
