//! Totals and raw rows, compared with what the mock runtime reported.

use std::collections::BTreeMap;

use netcore_profiler::info::GenerationRange;
use netcore_profiler::wire::histogram::{bucket, upper_end};
use netcore_profiler::wire::{
    BLOCK_GENERATIONS, BoundsPhase, BoundsRange, GcFlags, GcTotals, Histogram, MovedRange, RangeTotals,
    Record, Root, RootFlags, RootKind, SurvivingRange,
};

use crate::mock::info::{lock, totals};
use crate::mock::{Clr, Collection, Heap, Library, Random, Written};

/// Regions of a heap, unordered as from the runtime, with gaps between them.
fn regions() -> Vec<GenerationRange> {
    let mut regions: Vec<GenerationRange> = (0..40)
        .map(|index| GenerationRange {
            generation: [0, 2, 1, 3, 4][index % 5],
            start: 0x10_0000 + index * 0x1_0000,
            length: 0xc000,
            reserved: 0x1_0000,
        })
        .collect();
    regions.rotate_left(17);
    regions
}

/// A runtime with these regions, with the profiler attached.
fn attached(config: &str) -> (Library, &'static Clr) {
    let (library, clr) = Library::attached(config);
    *lock(&clr.bounds) = regions();
    clr.take_written();
    (library, clr)
}

fn generation_of(address: u64, regions: &[GenerationRange]) -> usize {
    let holds = |range: &&GenerationRange| {
        (range.start as u64..(range.start + range.length) as u64).contains(&address)
    };
    regions.iter().find(holds).map_or(BLOCK_GENERATIONS - 1, |range| range.generation as usize)
}

fn heaps(count: usize, random: &mut Random) -> Vec<Heap> {
    let mut heap = || {
        let blocks = 2_000 + random.below(12_000);
        let moved = (0..blocks).map(|_| {
            let old = 0x10_0000 + random.below(40 * 0x1_0000);
            let stays = random.below(8) == 0;
            let new = if stays { old } else { 0x10_0000 + random.below(40 * 0x1_0000) };
            MovedRange { old, new, bytes: 24 + random.below(random.0 % 5000 + 1) }
        });
        let moved = moved.collect();
        let surviving = (0..random.below(5_000)).map(|_| SurvivingRange {
            start: 0x10_0000 + random.below(41 * 0x1_0000),
            bytes: random.next() >> (24 + random.0 % 40),
        });
        let surviving = surviving.collect();
        Heap { moved, surviving, queued: random.below(200) as u32 }
    };
    (0..count).map(|_| heap()).collect()
}

fn roots(random: &mut Random) -> Vec<Root> {
    let count = 100 + random.below(3_000);
    let root = |_| Root {
        object: if random.below(9) == 0 { 0 } else { 0x1000 + random.below(1 << 30) },
        root_id: random.next() >> 8,
        kind: RootKind(random.below(5) as u8),
        flags: RootFlags(random.below(18) as u8),
    };
    (0..count).map(root).collect()
}

fn collection(number: u32, heaps: Vec<Heap>, roots: Vec<Root>) -> Collection {
    Collection {
        number,
        collected: [true, true, true, false, true],
        reason: 1,
        heaps,
        roots,
        pairs: 77,
        ..Collection::default()
    }
}

/// Adds up independently: buckets by their upper ends, generations by looking at every region.
fn check_ranges(reported: &[(u64, u64)], found: &RangeTotals<'_>, regions: &[GenerationRange]) {
    assert_eq!(found.blocks, reported.len() as u64);
    assert_eq!(found.bytes, reported.iter().map(|range| range.1).sum::<u64>());
    let mut by_generation = [(0, 0); BLOCK_GENERATIONS];
    for (address, bytes) in reported {
        let cell = &mut by_generation[generation_of(*address, regions)];
        *cell = (cell.0 + 1, cell.1 + bytes);
    }
    assert_eq!(found.by_generation, by_generation);
    check_histogram(reported.iter().map(|range| range.1), &found.histogram, true);
}

fn check_histogram(values: impl Iterator<Item = u64> + Clone, found: &Histogram<'_>, with_bytes: bool) {
    let mut buckets: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for value in values.clone() {
        let cell = buckets.entry(upper_end(bucket(value))).or_default();
        *cell = (cell.0 + 1, if with_bytes { cell.1 + value } else { 0 });
    }
    let listed: BTreeMap<u64, (u64, u64)> =
        found.iter().map(|bucket| (upper_end(bucket.index), (bucket.count, bucket.bytes))).collect();
    assert_eq!(listed, buckets);
    if let (Some(min), Some(max)) = (values.clone().min(), values.max()) {
        assert_eq!((found.min, found.max), (min, max));
    }
}

fn check_totals(reported: &Collection, found: &GcTotals<'_>, regions: &[GenerationRange]) {
    let all_moved = || reported.heaps.iter().flat_map(|heap| &heap.moved);
    let really = |range: &&MovedRange| range.old != range.new;
    let moved: Vec<_> = all_moved().filter(really).map(|range| (range.old, range.bytes)).collect();
    check_ranges(&moved, &found.moved, regions);
    let distances = all_moved().filter(really).map(|range| range.old.abs_diff(range.new));
    check_histogram(distances, &found.distance, false);
    let stayed: Vec<u64> = all_moved().filter(|range| !really(range)).map(|range| range.bytes).collect();
    assert_eq!(found.stayed_blocks, stayed.len() as u64);
    assert_eq!(found.stayed_bytes, stayed.iter().sum::<u64>());
    let surviving: Vec<_> = reported
        .heaps
        .iter()
        .flat_map(|heap| &heap.surviving)
        .map(|range| (range.start, range.bytes))
        .collect();
    check_ranges(&surviving, &found.surviving, regions);

    let mut cells: BTreeMap<(u8, u8), u64> = BTreeMap::new();
    for root in reported.roots.iter().filter(|root| root.object != 0) {
        let kind = if root.kind.0 > 3 { 0xff } else { root.kind.0 };
        let flags = if root.flags.0 > 15 { 0xff } else { root.flags.0 };
        *cells.entry((kind, flags)).or_default() += 1;
    }
    let listed: BTreeMap<(u8, u8), u64> =
        found.roots.counts.iter().map(|cell| ((cell.kind.0, cell.flags.0), cell.count)).collect();
    assert_eq!(listed, cells);
    assert_eq!(found.roots.nulls, reported.roots.iter().filter(|root| root.object == 0).count() as u64);
    assert_eq!(found.dependent_pairs, u64::from(reported.pairs));
    let queued: u64 = reported.heaps.iter().map(|heap| u64::from(heap.queued)).sum();
    assert_eq!(found.finalizable_queued, queued);
    assert_eq!((found.missing_ranges, found.missing_range_bytes, found.missing_roots), (0, 0, 0));
    assert_eq!(found.gc_number, reported.number);
    assert_eq!(found.bounds_ranges as usize, regions.len());
}

#[test]
fn totals_are_those_of_all_heaps() {
    let (library, clr) = attached("gcwatch=5");
    let mut random = Random(11);
    for number in 1..=20 {
        let heaps = heaps(1 + number % 8, &mut random);
        let reported = collection(number as u32, heaps, roots(&mut random));
        library.collect(clr, &reported);
        let written = clr.take_written();
        let found = totals(&written);
        check_totals(&reported, &found, &regions());
        assert_eq!(found.gc_seq, number as u64);
        assert_eq!((found.collected, found.reason), (0b1_0111, 1));
        let expected = GcFlags::STARTED.with(GcFlags::ARMED).with(GcFlags::BOUNDS_KNOWN);
        assert_eq!(found.flags, expected);
        assert!(found.started_ns > 0 && found.finished_ns > found.started_ns);
        assert!(found.callback_ns > 0);
        assert_eq!(written.len(), 1, "only totals without blocks");
    }
}

#[test]
fn an_empty_collection_has_empty_totals() {
    let (library, clr) = attached("gcwatch=5 blocks=1");
    let full = collection(1, heaps(3, &mut Random(5)), roots(&mut Random(6)));
    library.collect(clr, &full);
    clr.take_written();
    let empty = Collection { number: 2, ..Collection::default() };
    library.collect(clr, &empty);
    let written = clr.take_written();
    check_totals(&empty, &totals(&written), &regions());
    assert_eq!(totals(&written).moved.histogram.max, 0, "nothing is left of the previous one");
    assert_eq!(totals(&written).walk_ns, 0);
}

/// Rows of one collection, and how many events they came in.
#[derive(Default)]
struct Rows {
    moved: Vec<(u64, u64, u64)>,
    surviving: Vec<(u64, u64)>,
    roots: Vec<(u64, u64, u8, u8)>,
    bounds: [Vec<BoundsRange>; 2],
    parts: BTreeMap<u32, Vec<u32>>,
}

fn rows(written: &[Written], gc_seq: u64) -> Rows {
    let mut rows = Rows::default();
    for event in written {
        let (seq, part) = match event.record() {
            Record::Moved(batch) => {
                rows.moved.extend(batch.rows.map(|row| (row.old, row.new, row.bytes)));
                (batch.gc_seq, batch.part)
            }
            Record::Surviving(batch) => {
                rows.surviving.extend(batch.rows.map(|row| (row.start, row.bytes)));
                (batch.gc_seq, batch.part)
            }
            Record::Roots(batch) => {
                let row = |row: Root| (row.object, row.root_id, row.kind.0, row.flags.0);
                rows.roots.extend(batch.rows.map(row));
                (batch.gc_seq, batch.part)
            }
            Record::Bounds(batch) => {
                rows.bounds[usize::from(batch.phase == BoundsPhase::FINISHED)].extend(batch.rows);
                (batch.gc_seq, batch.part)
            }
            _ => continue,
        };
        assert_eq!(seq, gc_seq);
        rows.parts.entry(event.id).or_default().push(part);
    }
    rows.moved.sort_unstable();
    rows.surviving.sort_unstable();
    rows.roots.sort_unstable();
    rows
}

#[test]
fn raw_rows_come_in_numbered_parts() {
    let (library, clr) = attached("gcwatch=5 blocks=1");
    let mut random = Random(21);
    for number in 1..=8 {
        let reported = collection(number, heaps(4, &mut random), roots(&mut random));
        library.collect(clr, &reported);
        let written = clr.take_written();
        let totals = totals(&written);
        check_totals(&reported, &totals, &regions());
        let found = rows(&written, totals.gc_seq);

        let heaps = || reported.heaps.iter();
        let mut moved: Vec<_> =
            heaps().flat_map(|heap| &heap.moved).map(|row| (row.old, row.new, row.bytes)).collect();
        moved.sort_unstable();
        assert!(found.moved == moved, "{} moved rows of {}", found.moved.len(), moved.len());
        let mut surviving: Vec<_> =
            heaps().flat_map(|heap| &heap.surviving).map(|row| (row.start, row.bytes)).collect();
        surviving.sort_unstable();
        assert!(found.surviving == surviving);
        let mut roots: Vec<_> =
            reported.roots.iter().map(|row| (row.object, row.root_id, row.kind.0, row.flags.0)).collect();
        roots.sort_unstable();
        assert!(found.roots == roots);

        let mut sorted = regions();
        sorted.sort_by_key(|range| range.start);
        for phase in &found.bounds {
            let starts: Vec<_> = phase.iter().map(|range| (range.generation, range.start)).collect();
            let expected: Vec<_> =
                sorted.iter().map(|range| (range.generation as u8, range.start as u64)).collect();
            assert_eq!(starts, expected);
        }
        let parts = [totals.parts.bounds, totals.parts.moved, totals.parts.surviving, totals.parts.roots];
        for (id, count) in (3..).zip(parts) {
            let mut numbers = found.parts.get(&id).cloned().unwrap_or_default();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "parts of event {id}");
        }
        assert!(totals.parts.moved > 4, "each heap fills more than one event");
        assert!(matches!(written.last().unwrap().record(), Record::GcTotals(_)), "totals come last");
    }
}

#[test]
fn a_runtime_with_only_the_first_callbacks_is_counted_too() {
    let (library, clr) = attached("gcwatch=5 arming=always blocks=1");
    let mut reported = collection(0, heaps(3, &mut Random(31)), roots(&mut Random(32)));
    reported.is_old = true;
    reported.pairs = 0;
    let huge = MovedRange { old: 0x10_0000, new: 0x20_0000, bytes: 5 << 30 };
    reported.heaps[0].moved.push(huge);
    library.collect(clr, &reported);
    // The largest 32-bit length.
    reported.heaps[0].moved.last_mut().unwrap().bytes = u64::from(u32::MAX);
    for range in reported.heaps.iter_mut().flat_map(|heap| &mut heap.surviving) {
        range.bytes = range.bytes.min(u64::from(u32::MAX));
    }
    // What the first version reports of a root.
    for root in &mut reported.roots {
        *root = Root { object: root.object, root_id: 0, kind: RootKind::UNKNOWN, flags: RootFlags::UNKNOWN };
    }
    let written = clr.take_written();
    let found = totals(&written);
    check_totals(&reported, &found, &regions());
    let mut expected: Vec<_> = reported.roots.iter().map(|root| (root.object, 0, 0xff, 0xff)).collect();
    expected.sort_unstable();
    assert!(rows(&written, found.gc_seq).roots == expected);
    assert!(found.flags.has(GcFlags::V1_CALLBACKS.with(GcFlags::MOVED_AT_LEAST)));
    assert!(found.flags.has(GcFlags::ARMED));
    let clamped = reported.heaps.iter().flat_map(|heap| &heap.surviving);
    let some_clamped = clamped.into_iter().any(|range| range.bytes == u64::from(u32::MAX));
    assert_eq!(found.flags.has(GcFlags::SURVIVING_AT_LEAST), some_clamped);
    library.collect(clr, &Collection::default());
    assert_eq!(totals(&clr.take_written()).flags.0 & GcFlags::MOVED_AT_LEAST.0, 0);
}

#[test]
fn a_start_without_end_and_an_end_without_start_are_survived() {
    let (library, clr) = attached("gcwatch=5");
    let mut random = Random(41);
    let second =
        Collection { tells_start: false, ..collection(8, heaps(2, &mut random), roots(&mut random)) };
    library.collect(clr, &collection(7, heaps(2, &mut random), roots(&mut random)));
    clr.take_written();
    // One start, two ends: a full collection after a first attempt.
    library.collect(clr, &second);
    let written = clr.take_written();
    let found = totals(&written);
    assert_eq!(found.gc_number, 8);
    assert!(found.flags.has(GcFlags::ARMED));
    assert!(!found.flags.has(GcFlags::STARTED) && !found.flags.has(GcFlags::BOUNDS_KNOWN));
    let blocks = |heap: &Heap| heap.moved.iter().filter(|range| range.old != range.new).count() as u64;
    assert_eq!(found.moved.blocks, second.heaps.iter().map(blocks).sum::<u64>());
    assert_eq!(
        found.moved.by_generation[5].0, found.moved.blocks,
        "without bounds all generations are unknown"
    );

    let bare_end = Collection {
        tells_start: false,
        delivers_start: false,
        heaps: vec![Heap::default()],
        ..Collection::default()
    };
    library.collect(clr, &bare_end);
    let written = clr.take_written();
    assert_eq!(totals(&written).gc_number, 0);
    assert!(!totals(&written).flags.has(GcFlags::ARMED));

    let background = Collection { kind: 1, ..Collection::default() };
    library.collect(clr, &background);
    assert!(totals(&clr.take_written()).flags.has(GcFlags::BACKGROUND));
    assert!(!clr.is_armed());
}

/// Null pointers for arrays, with counts that are not 0.
#[test]
fn null_arrays_are_empty() {
    use std::ptr::null;
    let (library, clr) = Library::attached("gcwatch=5 arming=always blocks=1");
    clr.take_written();
    let (table, this) = (library.table(), library.callback());
    // SAFETY: the test shows that the profiler does not use null arrays.
    unsafe {
        (table.GarbageCollectionStarted)(this, 5, null(), 0);
        (table.MovedReferences2)(this, 9, null(), null(), null());
        (table.SurvivingReferences2)(this, 9, null(), null());
        (table.MovedReferences)(this, 9, null(), null(), null());
        (table.SurvivingReferences)(this, 9, null(), null());
        (table.RootReferences2)(this, 9, null(), null(), null(), null());
        (table.RootReferences)(this, 9, null());
        (table.RootReferences2)(this, 0, [1].as_ptr(), null(), null(), null());
        (table.EventPipeEventDelivered)(
            this,
            0x7000,
            1,
            2,
            0,
            null(),
            16,
            null(),
            null(),
            null(),
            0,
            0,
            null(),
        );
        (table.GarbageCollectionFinished)(this);
    }
    let written = clr.take_written();
    let found = totals(&written);
    assert_eq!((found.moved.blocks, found.surviving.blocks, found.roots.nulls), (0, 0, 0));
    assert_eq!(found.roots.counts.iter().count(), 0);
}
