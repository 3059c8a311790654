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
    /// What a bound on it finds.
    pub(crate) good_for: &'static str,
}

const fn per_gc(
    name: &'static str,
    unit: Unit,
    level: Level,
    value: fn(&Gc) -> Option<u64>,
    about: &'static str,
    good_for: &'static str,
) -> Metric {
    Metric { name, unit, level, value: Value::PerGc(value), about, good_for }
}

const fn count(
    name: &'static str,
    value: fn(&Gc) -> bool,
    about: &'static str,
    good_for: &'static str,
) -> Metric {
    Metric { name, unit: Unit::Count, level: Level::Basic, value: Value::Count(value), about, good_for }
}

const fn percent(name: &'static str, value: Value, about: &'static str, good_for: &'static str) -> Metric {
    Metric { name, unit: Unit::Percent, level: Level::Basic, value, about, good_for }
}

const fn root(
    name: &'static str,
    value: fn(&Gc) -> Option<u64>,
    about: &'static str,
    good_for: &'static str,
) -> Metric {
    per_gc(name, Unit::Count, Level::Roots, value, about, good_for)
}

const fn per_gib(
    name: &'static str,
    unit: Unit,
    value: fn(&Gc) -> Option<u64>,
    about: &'static str,
    good_for: &'static str,
) -> Metric {
    Metric { name, unit, level: Level::Basic, value: Value::PerGib(value), about, good_for }
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
        "a loose bound on stalls; the machine decides how long they are",
    ),
    per_gc(
        "pause.gen0",
        Unit::Ns,
        Level::Basic,
        |gc| pause_of(gc, Generation::GEN0),
        "the same, for collections of generation 0 only",
        "a loose bound on the frequent, short stalls",
    ),
    per_gc(
        "pause.gen1",
        Unit::Ns,
        Level::Basic,
        |gc| pause_of(gc, Generation::GEN1),
        "the same, for collections of generation 1 only",
        "a loose bound on the stalls of mid-life objects",
    ),
    per_gc(
        "pause.gen2",
        Unit::Ns,
        Level::Basic,
        |gc| pause_of(gc, Generation::GEN2),
        "the same, for collections of generation 2 only",
        "a loose bound on the longest stalls",
    ),
    per_gc(
        "suspend",
        Unit::Ns,
        Level::Basic,
        |gc| gc.suspend_ns,
        "part of the pause that stopping the threads took",
        "seeing threads that are slow to stop",
    ),
    percent(
        "pause.percent",
        Value::PausePercent,
        "share of the watch for which collections stopped the program",
        "a loose bound on the time lost to collections",
    ),
    count("gc.count", |_| true, "collections", "programs that always do the same work"),
    count(
        "gc.gen0.count",
        |gc| gc.generation == Some(Generation::GEN0),
        "collections of exactly generation 0",
        "programs that always do the same work",
    ),
    count(
        "gc.gen1.count",
        |gc| gc.generation == Some(Generation::GEN1),
        "collections of exactly generation 1",
        "objects that die soon after their first collection",
    ),
    count(
        "gc.gen2.count",
        |gc| gc.generation == Some(Generation::GEN2),
        "collections of generation 2, background ones too",
        "objects that die old, and large objects",
    ),
    count(
        "gc.gen2.blocking.count",
        |gc| gc.generation == Some(Generation::GEN2) && gc.kind == Some(Kind::Blocking),
        "collections of generation 2 that blocked",
        "an upper bound, often 0",
    ),
    count(
        "gc.background.count",
        |gc| gc.kind == Some(Kind::Background),
        "background collections",
        "seeing whether old objects are collected in the background",
    ),
    count(
        "gc.induced.count",
        |gc| gc.reason.is_some_and(crate::gc::record::Reason::induced),
        "collections that the program asked for",
        "an upper bound, often 0: GC.Collect in the program",
    ),
    per_gc(
        "alloc",
        Unit::Bytes,
        Level::Basic,
        |gc| gc.allocated.map(|allocated| allocated.bytes),
        "bytes that the program allocated since the collection before",
        "more allocated for the same work (total)",
    ),
    Metric {
        name: "alloc.rate",
        unit: Unit::BytesPerSecond,
        level: Level::Basic,
        value: Value::AllocatedPerSecond,
        about: "bytes that the program allocates each second",
        good_for: "seeing load; it changes with the speed of the machine",
    },
    per_gib(
        "gc.per_gib",
        Unit::Count,
        |_| Some(1),
        "collections for each GiB that the program allocates",
        "more collections, however much work a run does",
    ),
    per_gib(
        "gen2.per_gib",
        Unit::Count,
        |gc| Some(u64::from(gc.generation == Some(Generation::GEN2))),
        "collections of generation 2 for each GiB that the program allocates",
        "objects that die old, however much work a run does",
    ),
    per_gib(
        "pause.per_gib",
        Unit::Ns,
        |gc| gc.pause_ns,
        "time the program stands still for each GiB that it allocates",
        "more costly collections; changes with the speed of the machine",
    ),
    percent(
        "promoted.percent",
        Value::PercentOfAllocated(|gc| gc.generations.first()?.promoted_bytes),
        "part of what the program allocates that survives generation 0",
        "objects that live longer than they need to",
    ),
    per_gc(
        "heap.live",
        Unit::Bytes,
        Level::Basic,
        live_bytes,
        "bytes that a collection of generation 2 found alive",
        "leaks, and larger caches (max)",
    ),
    per_gc(
        "heap.after",
        Unit::Bytes,
        Level::Basic,
        |gc| gc.heap_after_bytes,
        "heap after a collection, free space in it included",
        "a larger heap",
    ),
    per_gc(
        "heap.before",
        Unit::Bytes,
        Level::Basic,
        |gc| gc.heap_before_bytes,
        "heap before a collection",
        "the room that the heap needs",
    ),
    percent(
        "heap.growth.percent",
        Value::HeapGrowthPercent,
        "growth of the heap from after the first gen2 collection to after the last",
        "leaks in runs that are longer than their start-up",
    ),
    per_gc(
        "committed",
        Unit::Bytes,
        Level::Basic,
        |gc| gc.committed_bytes,
        "memory committed for the heap",
        "the memory that the heap takes from the system (max)",
    ),
    per_gc(
        "promoted",
        Unit::Bytes,
        Level::Basic,
        |gc| gc.promoted_bytes,
        "bytes that a collection promoted",
        "objects that live longer (mean)",
    ),
    percent(
        "frag.gen2.percent",
        Value::FragmentationPercent(Generation::GEN2),
        "free share of generation 2 after the last collection",
        "gaps that pinned or scattered objects leave",
    ),
    percent(
        "frag.loh.percent",
        Value::FragmentationPercent(Generation::LOH),
        "free share of the large object heap after the last collection",
        "gaps that large objects leave",
    ),
    per_gc(
        "pinned",
        Unit::Count,
        Level::Basic,
        |gc| gc.pinned_objects.map(u64::from),
        "pinned objects that a collection found",
        "objects that are pinned for long",
    ),
    per_gc(
        "handles",
        Unit::Count,
        Level::Basic,
        |gc| gc.handles.map(u64::from),
        "GC handles in use",
        "handles that are not freed",
    ),
    per_gc(
        "moved.bytes",
        Unit::Bytes,
        Level::Moves,
        |gc| Some(gc.moved.as_ref()?.count.bytes),
        "bytes that a collection moved",
        "the cost of compacting",
    ),
    per_gc(
        "moved.blocks",
        Unit::Count,
        Level::Moves,
        |gc| Some(gc.moved.as_ref()?.count.blocks),
        "blocks that a collection moved",
        "the cost of compacting scattered survivors",
    ),
    per_gc(
        "surviving.bytes",
        Unit::Bytes,
        Level::Moves,
        |gc| Some(gc.surviving.as_ref()?.count.bytes),
        "bytes that survived where they lay",
        "what stays in place in collections that sweep",
    ),
    per_gc(
        "surviving.blocks",
        Unit::Count,
        Level::Moves,
        |gc| Some(gc.surviving.as_ref()?.count.blocks),
        "blocks that survived where they lay",
        "how scattered survivors are",
    ),
    root(
        "roots.total",
        |gc| Some(gc.roots.as_ref()?.total()),
        "roots that point to an object, weak ones included",
        "seeing where roots come from",
    ),
    root(
        "roots.holding",
        |gc| gc.roots.as_ref()?.holding(),
        "roots that keep their object alive",
        "seeing what keeps objects alive",
    ),
    root("roots.stack", |gc| kind(gc, RootKind::STACK), "roots on stacks", "deep recursion, many threads"),
    root(
        "roots.handle",
        |gc| kind(gc, RootKind::HANDLE),
        "roots that are GC handles",
        "handles that are not freed",
    ),
    root(
        "roots.finalizer",
        |gc| kind(gc, RootKind::FINALIZER),
        "objects that wait for their finalizer",
        "finalizers that do not keep up",
    ),
    root(
        "roots.other",
        |gc| kind(gc, RootKind::OTHER),
        "roots of another kind",
        "seeing the rest of the roots",
    ),
    root("roots.pinning", |gc| flag(gc, RootFlags::PINNING), "roots that pin", "too many pins"),
    root("roots.weak", |gc| flag(gc, RootFlags::WEAK), "weak roots", "weak references that are not freed"),
    root(
        "roots.interior",
        |gc| flag(gc, RootFlags::INTERIOR),
        "roots that point into an object",
        "spans and references into objects",
    ),
    root(
        "roots.refcounted",
        |gc| flag(gc, RootFlags::REFCOUNTED),
        "reference-counted handles",
        "COM objects that are not released",
    ),
    Metric {
        name: "lost",
        unit: Unit::Count,
        level: Level::Basic,
        value: Value::Lost,
        about: "collections, events, ranges and roots that were lost on the way",
        good_for: "knowing that the figures are complete",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_single_words() {
        for (n, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..n].iter().all(|other| other.name != metric.name), "{}", metric.name);
            assert!(!metric.about.is_empty() && !metric.good_for.is_empty());
            assert!(!metric.name.contains(char::is_whitespace));
        }
    }
}
