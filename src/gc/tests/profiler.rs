//! The profiler's records among the runtime's: each collection gets its own totals, and only complete ones.

use netcore_profiler::wire::histogram::{BUCKETS, bucket};
use netcore_profiler::wire::{
    self, BatchHeader, BoundsPhase, BoundsRange, GcFlags, GcTotals, Hello, Histogram, MAX_EVENT_BYTES, Parts,
    Payload as _, ROOT_CELLS, RangeTotals, RootCounts, RootFlags, RootKind, RootTotals, Row, event_id,
    root_cell,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::payload;
use super::plan::{Plan, Step, Work};
use super::runtime::{self, What, region};
use crate::gc::fold::Fold;
use crate::gc::record::{Gc, Incomplete, Level};
use crate::gc::root_kind::{RootFlags as ModelFlags, RootKind as Kind};
use crate::gc::stream_event::StreamEvent;

/// What the profiler saw of one collection.
#[derive(Debug, Clone)]
struct Seen {
    /// Generation, distance (0: it stayed), length.
    moved: Vec<(u8, u16, u16)>,
    surviving: Vec<(u8, u16)>,
    /// Kind, flags, object (0: null).
    roots: Vec<(u8, u8, u16)>,
    pairs: u8,
    fate: Fate,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Whole,
    /// The mask was written from outside.
    HalfArmed,
    /// The mask could not be set.
    Unarmed,
    /// The first part of the raw data was dropped.
    PartLost,
    /// The totals were dropped.
    TotalsLost,
    /// So were the profiler's own accumulators exceeded.
    Missed,
}

fn seen() -> impl Strategy<Value = Seen> {
    let fate = prop_oneof![
        5 => Just(Fate::Whole),
        1 => Just(Fate::HalfArmed),
        1 => Just(Fate::Unarmed),
        1 => Just(Fate::PartLost),
        1 => Just(Fate::TotalsLost),
        1 => Just(Fate::Missed),
    ];
    let moved = vec((0..5_u8, 0..3_u16, 1..5000_u16), 0..6);
    let surviving = vec((0..5_u8, 1..5000_u16), 0..6);
    // (Unknown kind and unknown flags together mean the first version of the callback.)
    let roots = vec((0..4_u8, 0..18_u8, 0..4_u16), 0..10);
    (moved, surviving, roots, any::<u8>(), fate).prop_map(|(moved, surviving, roots, pairs, fate)| Seen {
        moved,
        surviving,
        roots,
        pairs,
        fate,
    })
}

/// Every block in a place of its own.
fn place(generation: u8, n: usize) -> u64 {
    region(generation).0 + 0x10_0000 + n as u64 * 0x1_0000
}

struct Totals {
    blocks: u64,
    bytes: u64,
    by_generation: [(u64, u64); 6],
    counts: Vec<u64>,
    sums: Vec<u64>,
    bounds: Option<(u64, u64)>,
}

fn totals(lengths: impl Iterator<Item = (u8, u64)>) -> Totals {
    let (counts, sums) = (vec![0; BUCKETS], vec![0; BUCKETS]);
    let mut t = Totals { blocks: 0, bytes: 0, by_generation: [(0, 0); 6], counts, sums, bounds: None };
    for (generation, bytes) in lengths {
        t.blocks += 1;
        t.bytes += bytes;
        let cell = &mut t.by_generation[usize::from(generation)];
        *cell = (cell.0 + 1, cell.1 + bytes);
        t.counts[usize::from(bucket(bytes))] += 1;
        t.sums[usize::from(bucket(bytes))] += bytes;
        t.bounds = Some(t.bounds.map_or((bytes, bytes), |(a, b)| (a.min(bytes), b.max(bytes))));
    }
    t
}

impl Totals {
    fn histogram(&self) -> Histogram<'_> {
        let (min, max) = self.bounds.unwrap_or((0, 0));
        Histogram::dense(min, max, &self.counts, &self.sums)
    }
    fn ranges(&self) -> RangeTotals<'_> {
        let by_generation = self.by_generation;
        RangeTotals { blocks: self.blocks, bytes: self.bytes, by_generation, histogram: self.histogram() }
    }
}

impl Seen {
    fn moves(&self) -> impl Iterator<Item = (u8, wire::MovedRange)> {
        self.moved.iter().enumerate().map(|(n, (generation, distance, bytes))| {
            let old = place(*generation, n);
            let new = old - u64::from(*distance) * 64;
            (*generation, wire::MovedRange { old, new, bytes: u64::from(*bytes) })
        })
    }

    /// The profiler's events, in its order: the raw parts, then the totals.
    fn records(&self, gc_seq: u64, gc_number: u32, raw: bool) -> Vec<(u32, Vec<u8>)> {
        let mut events = Vec::new();
        if raw {
            let bounds = |phase| {
                let row = |generation| {
                    let (start, length) = region(generation);
                    BoundsRange { generation, start, length, reserved: length }
                };
                batch(event_id::BOUNDS, gc_seq, phase, (0..5).map(row))
            };
            let kept = self.surviving.iter().enumerate().map(|(n, (generation, bytes))| {
                wire::SurvivingRange { start: place(*generation, n + 20), bytes: u64::from(*bytes) }
            });
            let roots = self.roots.iter().map(|(kind, flags, object)| wire::Root {
                object: u64::from(*object),
                root_id: 7,
                kind: RootKind(*kind),
                flags: RootFlags(*flags),
            });
            events.push(bounds(BoundsPhase::STARTED));
            events.push(batch(event_id::MOVED, gc_seq, BoundsPhase(0), self.moves().map(|(_, range)| range)));
            events.push(batch(event_id::SURVIVING, gc_seq, BoundsPhase(0), kept));
            events.push(batch(event_id::ROOTS, gc_seq, BoundsPhase(0), roots));
            events.push(bounds(BoundsPhase::FINISHED));
        }
        if self.fate == Fate::PartLost && raw {
            events.remove(0);
        }
        if self.fate != Fate::TotalsLost {
            events.push((event_id::GC_TOTALS, self.totals(gc_seq, gc_number, raw)));
        }
        events
    }

    fn totals(&self, gc_seq: u64, gc_number: u32, raw: bool) -> Vec<u8> {
        let real = || self.moves().filter(|(_, r)| r.old != r.new);
        let moved = totals(real().map(|(g, r)| (g, r.bytes)));
        let distance = totals(real().map(|(_, r)| (0, r.old - r.new)));
        let surviving = totals(self.surviving.iter().map(|(g, bytes)| (*g, u64::from(*bytes))));
        let mut cells = vec![0; ROOT_CELLS];
        for (kind, flags, _) in self.roots.iter().filter(|(_, _, object)| *object != 0) {
            cells[root_cell(u32::from(*kind), u32::from(*flags))] += 1;
        }
        let flags = match self.fate {
            Fate::Unarmed => GcFlags::STARTED,
            Fate::HalfArmed => GcFlags::STARTED.with(GcFlags::ARMED).with(GcFlags::HALF_ARMED),
            _ => GcFlags::STARTED.with(GcFlags::ARMED).with(GcFlags::BOUNDS_KNOWN),
        };
        let part = u32::from(raw);
        let missed = if self.fate == Fate::Missed { 3 } else { 0 };
        let mut buffer = vec![0; MAX_EVENT_BYTES];
        let stayed = || self.moves().filter(|(_, r)| r.old == r.new);
        let length = GcTotals {
            gc_seq,
            gc_number,
            collected: 1,
            reason: 0,
            flags,
            started_ns: 1,
            finished_ns: 2,
            callback_ns: 3,
            walk_ns: 4,
            toggle_failures: 0,
            moved: moved.ranges(),
            stayed_blocks: stayed().count() as u64,
            stayed_bytes: stayed().map(|(_, r)| r.bytes).sum(),
            distance: distance.histogram(),
            surviving: surviving.ranges(),
            roots: RootTotals {
                nulls: self.roots.iter().filter(|(_, _, object)| *object == 0).count() as u64,
                counts: RootCounts::dense(&cells),
            },
            dependent_pairs: self.pairs.into(),
            finalizable_queued: 0,
            missing_ranges: missed,
            missing_range_bytes: missed,
            missing_roots: missed,
            parts: Parts { bounds: 2 * part, moved: part, surviving: part, roots: part },
            bounds_ranges: 5,
            naming: None,
        }
        .encode(&mut buffer)
        .unwrap();
        buffer.truncate(length);
        buffer
    }
}

fn batch<T: Row>(id: u32, gc_seq: u64, phase: BoundsPhase, rows: impl Iterator<Item = T>) -> (u32, Vec<u8>) {
    let rows: Vec<T> = rows.collect();
    let header = BatchHeader { gc_seq, part: 0, rows: rows.len() as u32, phase: phase.0 };
    let mut bytes = header.encode().to_vec();
    for row in rows {
        let mut buffer = [0; 64];
        let length = row.encode(&mut buffer).unwrap();
        bytes.extend(&buffer[..length]);
    }
    (id, bytes)
}

fn hello() -> Vec<u8> {
    let hello = Hello {
        abi: wire::ABI_VERSION,
        load: wire::Load::STARTUP,
        arming: wire::Arming::LATE,
        blocks: true,
        clr_version: [9, 0, 7, 0],
        slots: 64,
        lease_connected: true,
        tick_ns: 5,
        names: false,
        window: None,
        age_ns: 0,
    };
    let mut buffer = vec![0; 256];
    let length = hello.encode(&mut buffer).unwrap();
    buffer.truncate(length);
    buffer
}

/// A process without background collections, and what the profiler says of each before its end.
fn fold(plan: &Plan, seen: &[Seen], keep: bool) -> (Vec<Gc>, u64) {
    let mut fold = Fold::new(keep);
    let mut records = Vec::new();
    let provider = wire::PROVIDER_NAME;
    let (id, payload) = (event_id::HELLO, &hello()[..]);
    fold.event(StreamEvent { provider, id, pointer_size: 8, thread: 99, at_ns: 0, payload, stack: &[] });
    for event in runtime::run(plan) {
        if let What::End { number, .. } = event.what {
            let seen = &seen[number as usize - 1];
            for (id, payload) in seen.records(number.into(), number, keep) {
                fold.event(StreamEvent { provider, ..event.in_stream(id, 8, &payload) });
            }
        }
        let (id, payload) = payload::encode(&event.what, 8);
        fold.event(event.in_stream(id, 8, &payload));
        records.extend(std::iter::from_fn(|| fold.take()));
    }
    fold.end();
    records.extend(std::iter::from_fn(|| fold.take()));
    (records, fold.lost_totals)
}

fn check(gc: &Gc, seen: &Seen, keep: bool) -> Result<(), TestCaseError> {
    let expected = match seen.fate {
        Fate::Whole | Fate::TotalsLost => None,
        Fate::PartLost => keep.then_some(Incomplete::Lost),
        Fate::HalfArmed | Fate::Unarmed => Some(Incomplete::HalfArmed),
        Fate::Missed => Some(Incomplete::Lost),
    };
    prop_assert_eq!(gc.incomplete, expected);
    prop_assert_eq!(gc.promoted_by.iter().flatten().count(), 4);
    if seen.fate == Fate::TotalsLost {
        prop_assert!(gc.moved.is_none() && gc.surviving.is_none() && gc.roots.is_none());
        prop_assert_eq!((gc.level, &gc.cost), (Level::Basic, &None));
        return Ok(());
    }
    prop_assert_eq!(gc.level, Level::Roots);
    if expected == Some(Incomplete::HalfArmed) {
        prop_assert!(gc.moved.is_none() && gc.surviving.is_none() && gc.roots.is_none());
        return Ok(());
    }
    let (moved, surviving) = (gc.moved.as_ref().unwrap(), gc.surviving.as_ref().unwrap());
    let lengths = |stayed: bool| seen.moves().filter(move |(_, r)| (r.old == r.new) == stayed);
    let sum = |stayed| lengths(stayed).map(|(_, r)| r.bytes).sum::<u64>();
    prop_assert_eq!((moved.count.blocks, moved.count.bytes), (lengths(false).count() as u64, sum(false)));
    prop_assert_eq!((moved.stayed.blocks, moved.stayed.bytes), (lengths(true).count() as u64, sum(true)));
    prop_assert_eq!(surviving.count.blocks, seen.surviving.len() as u64);
    prop_assert_eq!(surviving.sizes.max(), seen.surviving.iter().map(|s| u64::from(s.1)).max());
    prop_assert_eq!(moved.distances.min(), lengths(false).map(|(_, r)| r.old - r.new).min());
    for (g, stats) in gc.generations.iter().enumerate() {
        let of = |generation: &u8| usize::from(*generation) == g;
        let blocks = lengths(false).filter(|(generation, _)| of(generation)).count() as u64;
        prop_assert_eq!(stats.moved.unwrap().blocks, blocks);
        let blocks = seen.surviving.iter().filter(|(generation, _)| of(generation)).count() as u64;
        prop_assert_eq!(stats.surviving.unwrap().blocks, blocks);
    }
    let roots = gc.roots.as_ref().unwrap();
    let real = || seen.roots.iter().filter(|(_, _, object)| *object != 0);
    prop_assert_eq!(roots.total(), real().count() as u64);
    prop_assert_eq!(roots.null_refs, (seen.roots.len() - real().count()) as u64);
    // By the raw values of COR_PRF_GC_ROOT_KIND; all others are "other".
    for (kind, raw) in [(Kind::STACK, 1), (Kind::HANDLE, 3), (Kind::FINALIZER, 2)] {
        prop_assert_eq!(roots.of_kind(kind), Some(real().filter(|(k, _, _)| *k == raw).count() as u64));
    }
    for (bit, (flag, _)) in ModelFlags::ALL.into_iter().enumerate() {
        let with = real().filter(|(_, flags, _)| *flags < 16 && flags & (1 << bit) != 0).count();
        prop_assert_eq!(roots.with_flag(flag), Some(with as u64));
    }
    prop_assert_eq!(roots.dependent_pairs, u64::from(seen.pairs));
    if keep && seen.fate == Fate::Whole {
        let mut ranges: Vec<_> =
            moved.ranges.iter().flatten().map(|r| (r.old, r.new, r.bytes, r.from.map(|g| g.0))).collect();
        ranges.sort_unstable();
        let mut sent: Vec<_> = seen.moves().map(|(g, r)| (r.old, r.new, r.bytes, Some(g))).collect();
        sent.sort_unstable();
        prop_assert_eq!(ranges, sent);
        prop_assert_eq!(roots.list.as_ref().map(Vec::len), Some(seen.roots.len()));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn totals_belong_to_their_collection(seen in vec(seen(), 1..6), keep in any::<bool>(), server in any::<bool>()) {
        let work = Work {
            generation: 1,
            reason: 0,
            compacting: true,
            loh_compacting: false,
            blocks: vec![vec![1]; 2],
            seed: 3,
        };
        let plan = Plan {
            server,
            heaps: if server { 2 } else { 1 },
            ranges: false,
            pinned_heap: true,
            pointer_size: 8,
            steps: vec![Step::Blocking(work); seen.len()],
            shifts: Vec::new(),
        };
        let (gcs, lost) = fold(&plan, &seen, keep);
        prop_assert_eq!(gcs.len(), seen.len());
        for (gc, seen) in gcs.iter().zip(&seen) {
            check(gc, seen, keep).map_err(|e| TestCaseError::fail(format!("{e}\n{gc:?}")))?;
        }
        // A gap in the profiler's numbers shows at the next totals that come, from the first ones on.
        let came = |s: &&Seen| s.fate != Fate::TotalsLost;
        let gaps = seen.iter().skip_while(|s| !came(s)).collect::<Vec<_>>();
        let last = gaps.iter().rposition(came).map_or(0, |n| n + 1);
        prop_assert_eq!(lost, gaps[..last].iter().filter(|s| !came(s)).count() as u64);
    }
}
