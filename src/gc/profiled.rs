//! Applies the profiler's totals to a collection, and with `--blocks` the single ranges and roots. What is missing of
//! these is counted: the totals say how many were sent.

use netcore_profiler::wire::histogram::BUCKETS;
use netcore_profiler::wire::{self, GcFlags, GcTotals};

use super::generation::Generation;
use super::generation_bounds::{GenerationBounds, GenerationRange};
use super::histogram::Histogram;
use super::kept_rows::keep_rows;
use super::open::OpenGc;
use super::record::{
    BlockCount, Cost, Incomplete, Level, Moved, MovedRange, Root, RootCount, Roots, Surviving, SurvivingRange,
};
use super::root_kind::RootFlags;

/// Single ranges and roots of the collection that is going on. Its totals come after them.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    gc_seq: u64,
    parts: wire::Parts,
    start: Vec<GenerationRange>,
    end: Vec<GenerationRange>,
    moved: Vec<MovedRange>,
    surviving: Vec<SurvivingRange>,
    roots: Vec<Root>,
}

impl Raw {
    fn part_of(&mut self, gc_seq: u64) -> &mut Raw {
        if self.gc_seq != gc_seq {
            *self = Raw { gc_seq, ..Raw::default() };
        }
        self
    }

    pub(crate) fn bounds(&mut self, b: &wire::Batch<'_, wire::BoundsRange>) {
        let raw = self.part_of(b.gc_seq);
        raw.parts.bounds = raw.parts.bounds.saturating_add(1);
        let list = if b.phase == wire::BoundsPhase::STARTED { &mut raw.start } else { &mut raw.end };
        let bound = |r: wire::BoundsRange| GenerationRange {
            start: r.start,
            bytes: r.length.max(r.reserved),
            generation: Generation(r.generation),
        };
        keep_rows(list, b.rows.map(bound));
    }

    pub(crate) fn moved(&mut self, m: &wire::Batch<'_, wire::MovedRange>) {
        let raw = self.part_of(m.gc_seq);
        raw.parts.moved = raw.parts.moved.saturating_add(1);
        let range =
            |r: wire::MovedRange| MovedRange { old: r.old, new: r.new, bytes: r.bytes, from: None, to: None };
        keep_rows(&mut raw.moved, m.rows.map(range));
    }

    pub(crate) fn surviving(&mut self, s: &wire::Batch<'_, wire::SurvivingRange>) {
        let raw = self.part_of(s.gc_seq);
        raw.parts.surviving = raw.parts.surviving.saturating_add(1);
        let range =
            |r: wire::SurvivingRange| SurvivingRange { start: r.start, bytes: r.bytes, generation: None };
        keep_rows(&mut raw.surviving, s.rows.map(range));
    }

    pub(crate) fn roots(&mut self, b: &wire::Batch<'_, wire::Root>) {
        let raw = self.part_of(b.gc_seq);
        raw.parts.roots = raw.parts.roots.saturating_add(1);
        let root = |r: wire::Root| Root {
            object: r.object,
            id: r.root_id,
            kind: r.kind.into(),
            flags: RootFlags::from(r.flags).known(),
            since_gc: None,
        };
        keep_rows(&mut raw.roots, b.rows.map(root));
    }
}

/// Whether all steps in its histograms exist.
pub(super) fn possible(totals: &GcTotals<'_>) -> bool {
    let all = [&totals.moved.histogram, &totals.distance, &totals.surviving.histogram];
    all.into_iter().flat_map(wire::Histogram::iter).all(|step| usize::from(step.index) < BUCKETS)
}

fn histogram(of: &wire::Histogram<'_>) -> Histogram {
    let mut h = Histogram::default();
    for bucket in of.iter() {
        h.add_step(bucket.index, bucket.count, bucket.bytes);
        h.widen(of.min, of.max);
    }
    h
}

fn counts(of: &wire::RangeTotals<'_>) -> [BlockCount; 6] {
    of.by_generation.map(|(blocks, bytes)| BlockCount { blocks, bytes })
}

/// Applies what the profiler cost in a collection.
pub(crate) fn apply_cost(gc: &mut OpenGc, totals: &GcTotals<'_>) {
    gc.record.cost = Some(Cost {
        callback_ns: totals.callback_ns,
        walk_ns: totals.walk_ns,
        naming_ns: totals.naming.map(|n| n.naming_ns),
        armed: totals.flags.has(GcFlags::ARMED),
    });
}

/// Applies the profiler's totals to a collection. `sampled`: it lies in a window, so if the profiler was not armed it
/// is as complete as one between two windows.
pub(crate) fn apply(gc: &mut OpenGc, totals: &GcTotals<'_>, raw: Raw, keep: bool, sampled: bool) {
    let armed = totals.flags.has(GcFlags::ARMED);
    let half = totals.flags.has(GcFlags::HALF_ARMED);
    apply_cost(gc, totals);
    if sampled && (half || !armed) {
        return;
    }
    gc.record.level = Level::Roots;
    if half || !armed {
        gc.record.incomplete = Some(Incomplete::HalfArmed);
        return;
    }
    let mut moved = Moved {
        count: BlockCount { blocks: totals.moved.blocks, bytes: totals.moved.bytes },
        bytes_at_least: totals.flags.has(GcFlags::MOVED_AT_LEAST),
        stayed: BlockCount { blocks: totals.stayed_blocks, bytes: totals.stayed_bytes },
        sizes: histogram(&totals.moved.histogram),
        distances: histogram(&totals.distance),
        ..Moved::default()
    };
    let mut surviving = Surviving {
        count: BlockCount { blocks: totals.surviving.blocks, bytes: totals.surviving.bytes },
        bytes_at_least: totals.flags.has(GcFlags::SURVIVING_AT_LEAST),
        sizes: histogram(&totals.surviving.histogram),
        ranges: None,
    };
    let mut roots = Roots {
        null_refs: totals.roots.nulls,
        counts: root_counts(totals),
        kinds_known: !totals.roots.counts.iter().any(|c| without_kind(c.kind, c.flags)),
        dependent_pairs: totals.dependent_pairs,
        ..Roots::default()
    };
    let missing = &mut gc.record.missing;
    add(&mut missing.ranges, totals.missing_ranges);
    add(&mut missing.roots, totals.missing_roots);
    let end = if keep { keep_raw(gc, totals, raw, &mut moved, &mut surviving, &mut roots) } else { None };
    let known = totals.flags.has(GcFlags::BOUNDS_KNOWN);
    gc.profiler_ranges(moved, counts(&totals.moved), surviving, counts(&totals.surviving), known);
    gc.record.roots = Some(roots);
    if let Some(mut end) = end {
        gc.end_bounds(&mut end);
    }
}

/// Keeps the single ranges and roots of a collection, and counts those that are missing. Returns the bounds at its end.
fn keep_raw(
    gc: &mut OpenGc,
    totals: &GcTotals<'_>,
    raw: Raw,
    moved: &mut Moved,
    surviving: &mut Surviving,
    roots: &mut Roots,
) -> Option<GenerationBounds> {
    let due = totals.parts;
    if due == wire::Parts::default() && raw.gc_seq != totals.gc_seq {
        return None;
    }
    let raw = if raw.gc_seq == totals.gc_seq { raw } else { Raw::default() };
    let got = raw.parts;
    let sent =
        |p: wire::Parts| [p.moved, p.surviving, p.roots, p.bounds].into_iter().map(u64::from).sum::<u64>();
    let missing = &mut gc.record.missing;
    add(&mut missing.events, sent(due).saturating_sub(sent(got)));
    let ranges_due = [totals.stayed_blocks, totals.surviving.blocks];
    let ranges_due = ranges_due.into_iter().fold(totals.moved.blocks, u64::saturating_add);
    let ranges_got = (raw.moved.len() + raw.surviving.len()) as u64;
    add(&mut missing.ranges, ranges_due.saturating_sub(ranges_got));
    let roots_got = raw.roots.iter().filter(|r| r.object != 0).count() as u64;
    add(&mut missing.roots, roots.total().saturating_sub(roots_got));
    let mut start = GenerationBounds::new(raw.start);
    let (mut m, mut s) = (raw.moved, raw.surviving);
    m.iter_mut().for_each(|r| r.from = start.generation(r.old));
    s.iter_mut().for_each(|r| r.generation = start.generation(r.start));
    let bounds_complete = got.bounds == due.bounds;
    gc.start_bounds = (bounds_complete && !start.is_empty()).then_some(start);
    moved.ranges = Some(m);
    surviving.ranges = Some(s);
    roots.list = Some(raw.roots);
    bounds_complete.then(|| GenerationBounds::new(raw.end)).filter(|bounds| !bounds.is_empty())
}

/// Roots of the first version of the callback have neither kind nor flags.
fn without_kind(kind: wire::RootKind, flags: wire::RootFlags) -> bool {
    kind == wire::RootKind::UNKNOWN && flags == wire::RootFlags::UNKNOWN
}

fn add(to: &mut u64, more: u64) {
    *to = to.saturating_add(more);
}

fn root_counts(totals: &GcTotals<'_>) -> Vec<RootCount> {
    let mut counts: Vec<RootCount> = Vec::new();
    for c in totals.roots.counts.iter() {
        let (kind, flags) = (c.kind.into(), c.flags.into());
        match counts.iter_mut().find(|x| (x.kind, x.flags) == (kind, flags)) {
            Some(x) => add(&mut x.count, c.count),
            None => counts.push(RootCount { kind, flags, count: c.count }),
        }
    }
    counts.sort_by_key(|c| (c.kind, c.flags));
    counts
}
