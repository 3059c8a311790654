//! The metrics of assertions and comparisons, by name.

use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Kind, Level};
use crate::gc::root_kind::{RootFlags, RootKind};

/// What a metric is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Ns,
    Bytes,
    BytesPerSecond,
    /// A number of things.
    Count,
    Percent,
}

impl Unit {
    /// The word in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "bytes_per_second",
            Unit::Count => "count",
            Unit::Percent => "percent",
        }
    }
}

/// Where the value comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    /// One value for each collection. `None`: unknown. The metric needs a statistic.
    PerGc(fn(&Gc) -> Option<u64>),
    /// The number of collections for which the function is true.
    Count(fn(&Gc) -> bool),
    /// Share of the watch for which collections stopped the program.
    PausePercent,
    /// The sum over all collections, for each GiB that the program allocated between collections.
    PerGib(fn(&Gc) -> Option<u64>),
    /// The sum over all collections in percent of what the program allocated between collections.
    PercentOfAllocated(fn(&Gc) -> Option<u64>),
    /// What the program allocates between collections, each second.
    AllocatedPerSecond,
    /// Growth of the heap from after the first gen2 collection to after the last one.
    HeapGrowthPercent,
    /// Free space in this generation as a share of it, after the last collection.
    FragmentationPercent(Generation),
    /// Collections, events, ranges and roots that were lost.
    Lost,
}

/// A figure that an assertion can name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// The lowest level that sees it.
    pub(crate) level: Level,
    pub(crate) value: Value,
    pub(crate) about: &'static str,
}

const fn per_gc(
    name: &'static str,
    unit: Unit,
    level: Level,
    value: fn(&Gc) -> Option<u64>,
    about: &'static str,
) -> Metric {
    Metric { name, unit, level, value: Value::PerGc(value), about }
}

const fn count(name: &'static str, value: fn(&Gc) -> bool, about: &'static str) -> Metric {
    Metric { name, unit: Unit::Count, level: Level::Basic, value: Value::Count(value), about }
}

const fn percent(name: &'static str, value: Value, about: &'static str) -> Metric {
    Metric { name, unit: Unit::Percent, level: Level::Basic, value, about }
}

const fn root(name: &'static str, value: fn(&Gc) -> Option<u64>, about: &'static str) -> Metric {
    per_gc(name, Unit::Count, Level::Roots, value, about)
}

const fn per_gib(
    name: &'static str,
    unit: Unit,
    value: fn(&Gc) -> Option<u64>,
    about: &'static str,
) -> Metric {
    Metric { name, unit, level: Level::Basic, value: Value::PerGib(value), about }
}

/// What a collection of gen2 found alive. A background collection tells it of gen2 and of the large objects.
fn live_bytes(gc: &Gc) -> Option<u64> {
    let old = gc.generations.iter().skip(match gc.kind? {
        Kind::Background => Generation::GEN2.index(),
        _ => 0,
    });
    let promoted: Vec<u64> = old.filter_map(|g| g.promoted_bytes).collect();
    let known = gc.generation == Some(Generation::GEN2) && !promoted.is_empty();
    known.then(|| promoted.into_iter().fold(0, u64::saturating_add))
}

fn pause_of(gc: &Gc, generation: Generation) -> Option<u64> {
    gc.pause_ns.filter(|_| gc.generation == Some(generation))
}

fn kind(gc: &Gc, kind: RootKind) -> Option<u64> {
    gc.roots.as_ref()?.of_kind(kind)
}

fn flag(gc: &Gc, flag: RootFlags) -> Option<u64> {
    gc.roots.as_ref()?.with_flag(flag)
}

/// All metrics, in the order of the documentation.
pub(crate) const METRICS: &[Metric] = &[
    per_gc(
        "pause",
        Unit::Ns,
        Level::Basic,
        |gc| gc.pause_ns,
        "time the program stood still for a collection, without stops that gcwatch caused",
    ),
    per_gc(
        "pause.gen0",
        Unit::Ns,
        Level::Basic,
        |gc| pause_of(gc, Generation::GEN0),
        "the same, for collections of generation 0 only",
    ),
    per_gc(
        "pause.gen1",
        Unit::Ns,
        Level::Basic,
        |gc| pause_of(gc, Generation::GEN1),
        "the same, for collections of generation 1 only",
    ),
    per_gc(
        "pause.gen2",
        Unit::Ns,
        Level::Basic,
        |gc| pause_of(gc, Generation::GEN2),
        "the same, for collections of generation 2 only",
    ),
    per_gc(
        "suspend",
        Unit::Ns,
        Level::Basic,
        |gc| gc.suspend_ns,
        "part of the pause that stopping the threads took",
    ),
    percent(
        "pause.percent",
        Value::PausePercent,
        "share of the watch for which collections stopped the program",
    ),
    count("gc.count", |_| true, "collections"),
    count(
        "gc.gen0.count",
        |gc| gc.generation == Some(Generation::GEN0),
        "collections of exactly generation 0",
    ),
    count(
        "gc.gen1.count",
        |gc| gc.generation == Some(Generation::GEN1),
        "collections of exactly generation 1",
    ),
    count(
        "gc.gen2.count",
        |gc| gc.generation == Some(Generation::GEN2),
        "collections of generation 2, background ones too",
    ),
    count(
        "gc.gen2.blocking.count",
        |gc| gc.generation == Some(Generation::GEN2) && gc.kind == Some(Kind::Blocking),
        "collections of generation 2 that blocked",
    ),
    count("gc.background.count", |gc| gc.kind == Some(Kind::Background), "background collections"),
    count(
        "gc.induced.count",
        |gc| gc.reason.is_some_and(crate::gc::record::Reason::induced),
        "collections that the program asked for",
    ),
    per_gc(
        "alloc",
        Unit::Bytes,
        Level::Basic,
        |gc| gc.allocated.map(|allocated| allocated.bytes),
        "bytes that the program allocated since the collection before",
    ),
    Metric {
        name: "alloc.rate",
        unit: Unit::BytesPerSecond,
        level: Level::Basic,
        value: Value::AllocatedPerSecond,
        about: "bytes that the program allocates each second",
    },
    per_gib("gc.per_gib", Unit::Count, |_| Some(1), "collections for each GiB that the program allocates"),
    per_gib(
        "gen2.per_gib",
        Unit::Count,
        |gc| Some(u64::from(gc.generation == Some(Generation::GEN2))),
        "collections of generation 2 for each GiB that the program allocates",
    ),
    per_gib(
        "pause.per_gib",
        Unit::Ns,
        |gc| gc.pause_ns,
        "time the program stands still for each GiB that it allocates",
    ),
    percent(
        "promoted.percent",
        Value::PercentOfAllocated(|gc| gc.generations.first()?.promoted_bytes),
        "part of what the program allocates that survives generation 0",
    ),
    per_gc(
        "heap.live",
        Unit::Bytes,
        Level::Basic,
        live_bytes,
        "bytes that a collection of generation 2 found alive",
    ),
    per_gc(
        "heap.after",
        Unit::Bytes,
        Level::Basic,
        |gc| gc.heap_after_bytes,
        "heap after a collection, free space in it included",
    ),
    per_gc("heap.before", Unit::Bytes, Level::Basic, |gc| gc.heap_before_bytes, "heap before a collection"),
    percent(
        "heap.growth.percent",
        Value::HeapGrowthPercent,
        "growth of the heap from after the first gen2 collection to after the last",
    ),
    per_gc("committed", Unit::Bytes, Level::Basic, |gc| gc.committed_bytes, "memory committed for the heap"),
    per_gc("promoted", Unit::Bytes, Level::Basic, |gc| gc.promoted_bytes, "bytes that a collection promoted"),
    percent(
        "frag.gen2.percent",
        Value::FragmentationPercent(Generation::GEN2),
        "free share of generation 2 after the last collection",
    ),
    percent(
        "frag.loh.percent",
        Value::FragmentationPercent(Generation::LOH),
        "free share of the large object heap after the last collection",
    ),
    per_gc(
        "pinned",
        Unit::Count,
        Level::Basic,
        |gc| gc.pinned_objects.map(u64::from),
        "pinned objects that a collection found",
    ),
    per_gc("handles", Unit::Count, Level::Basic, |gc| gc.handles.map(u64::from), "GC handles in use"),
    per_gc(
        "moved.bytes",
        Unit::Bytes,
        Level::Moves,
        |gc| Some(gc.moved.as_ref()?.count.bytes),
        "bytes that a collection moved",
    ),
    per_gc(
        "moved.blocks",
        Unit::Count,
        Level::Moves,
        |gc| Some(gc.moved.as_ref()?.count.blocks),
        "blocks that a collection moved",
    ),
    per_gc(
        "surviving.bytes",
        Unit::Bytes,
        Level::Moves,
        |gc| Some(gc.surviving.as_ref()?.count.bytes),
        "bytes that survived where they lay",
    ),
    per_gc(
        "surviving.blocks",
        Unit::Count,
        Level::Moves,
        |gc| Some(gc.surviving.as_ref()?.count.blocks),
        "blocks that survived where they lay",
    ),
    root(
        "roots.total",
        |gc| Some(gc.roots.as_ref()?.total()),
        "roots that point to an object, weak ones included",
    ),
    root("roots.holding", |gc| gc.roots.as_ref()?.holding(), "roots that keep their object alive"),
    root("roots.stack", |gc| kind(gc, RootKind::STACK), "roots on stacks"),
    root("roots.handle", |gc| kind(gc, RootKind::HANDLE), "roots that are GC handles"),
    root("roots.finalizer", |gc| kind(gc, RootKind::FINALIZER), "objects that wait for their finalizer"),
    root("roots.other", |gc| kind(gc, RootKind::OTHER), "roots of another kind"),
    root("roots.pinning", |gc| flag(gc, RootFlags::PINNING), "roots that pin"),
    root("roots.weak", |gc| flag(gc, RootFlags::WEAK), "weak roots"),
    root("roots.interior", |gc| flag(gc, RootFlags::INTERIOR), "roots that point into an object"),
    root("roots.refcounted", |gc| flag(gc, RootFlags::REFCOUNTED), "reference-counted handles"),
    Metric {
        name: "lost",
        unit: Unit::Count,
        level: Level::Basic,
        value: Value::Lost,
        about: "collections, events, ranges and roots that were lost on the way",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_single_words() {
        for (n, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..n].iter().all(|other| other.name != metric.name), "{}", metric.name);
            assert!(!metric.about.is_empty() && !metric.name.contains(char::is_whitespace));
        }
    }
}
