use super::histogram::{BUCKETS, bucket, upper_end};
use super::*;
use random::Random;

mod names;
#[path = "../../mock/random.rs"]
#[expect(unreachable_pub, reason = "shared with the mock CLR")]
mod random;

impl Random {
    /// Values of all magnitudes, not only huge ones.
    fn value(&mut self) -> u64 {
        let shift = self.next() % 64;
        self.next() >> shift
    }
}

#[test]
fn upper_ends_rise_and_hold_their_own_bucket() {
    let mut previous = None;
    for index in 0..BUCKETS as u16 {
        let end = upper_end(index);
        if let Some(previous) = previous {
            assert!(end > previous, "bucket {index} ends at {end}, not above {previous}");
            assert_eq!(bucket(previous + 1), index);
        }
        assert_eq!(bucket(end), index);
        previous = Some(end);
    }
    assert_eq!(previous, Some(u64::MAX));
    assert_eq!(bucket(u64::MAX) as usize, BUCKETS - 1);
    assert_eq!(upper_end(u16::MAX), u64::MAX);
}

#[test]
fn upper_end_is_at_most_a_sixteenth_above() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let check = |value: u64| {
        let end = upper_end(bucket(value));
        assert!(end >= value, "{value} above its upper end {end}");
        assert!(u128::from(end - value) * 16 <= u128::from(value), "{value} reported as {end}");
    };
    (0..100_000).for_each(check);
    for _ in 0..1_000_000 {
        check(random.value());
    }
}

#[test]
fn round_sizes_are_reported_exactly() {
    for value in (8..=256).step_by(8).chain((0..64).map(|power| 1 << power)) {
        assert_eq!(upper_end(bucket(value)), value);
    }
    assert_eq!(upper_end(bucket(0)), 0);
}

fn round_trip(id: u32, encoded: &[u8], expected: Record<'_>) {
    round_trip_from(id, encoded, expected, &[]);
}

/// `versions` are the lengths at which an earlier version ended.
fn round_trip_from(id: u32, encoded: &[u8], expected: Record<'_>, versions: &[usize]) {
    assert_eq!(decode(id, encoded), Ok(expected));
    for cut in (0..encoded.len()).filter(|cut| !versions.contains(cut)) {
        let answer = decode(id, &encoded[..cut]);
        assert!(
            matches!(answer, Err(WireError::Truncated { .. })),
            "cut to {cut} of {} bytes: {answer:?}",
            encoded.len()
        );
    }
    let longer = [encoded, &[0xaa; 9]].concat();
    assert_eq!(decode(id, &longer), Ok(expected), "later versions may append");
}

fn hello() -> Hello {
    Hello {
        abi: ABI_VERSION,
        load: Load::ATTACH,
        arming: Arming::ALWAYS,
        blocks: true,
        names: true,
        clr_version: [10, 0, 12, 3],
        slots: 6,
        lease_connected: true,
        tick_ns: u64::MAX - 1,
        window: Some(Window { number: 3, gcs: 1, length_ms: 2, every_ms: 30_000, busy: 1 }),
        age_ns: u64::MAX - 2,
    }
}

#[test]
fn hello_and_note_round_trip() {
    let hello = hello();
    let mut buffer = [0; 64];
    let length = hello.encode(&mut buffer).unwrap();
    // Earlier versions ended before the age, before the window, and before the names.
    let (third, second, first) = (length - 8, length - 28, length - 29);
    round_trip_from(event_id::HELLO, &buffer[..length], Record::Hello(hello), &[first, second, third]);
    let without = Hello { age_ns: 0, ..hello };
    assert_eq!(decode(event_id::HELLO, &buffer[..third]), Ok(Record::Hello(without)));
    let without = Hello { window: None, ..without };
    assert_eq!(decode(event_id::HELLO, &buffer[..second]), Ok(Record::Hello(without)));
    let without = Hello { names: false, ..without };
    assert_eq!(decode(event_id::HELLO, &buffer[..first]), Ok(Record::Hello(without)));
    let stays = Hello { window: None, ..hello };
    let length = stays.encode(&mut buffer).unwrap();
    assert_eq!(decode(event_id::HELLO, &buffer[..length]), Ok(Record::Hello(stays)));

    let note = Note { code: NoteCode::LEASE_LOST, hresult: 0x8013_1367_u32 as i32, tick_ns: 7 };
    let length = note.encode(&mut buffer).unwrap();
    round_trip(event_id::NOTE, &buffer[..length], Record::Note(note));

    assert_eq!(note.encode(&mut buffer[..3]), Err(WireError::BufferFull { capacity: 3 }));
}

const BATCHES: [u32; 6] = [
    event_id::BOUNDS,
    event_id::MOVED,
    event_id::SURVIVING,
    event_id::ROOTS,
    event_id::TYPED_ROOTS,
    event_id::STATICS,
];

/// The value of a described field, found by adding up the sizes of those before it.
fn field(id: u32, name: &str, payload: &[u8]) -> u64 {
    use super::describe::FieldType;
    let event = describe::events().find(|event| event.id == id).unwrap();
    assert!(event.fields().count() <= describe::MAX_FIELDS);
    let mut offset = 0;
    for (field, kind) in event.fields() {
        let size = match kind {
            FieldType::Byte => 1,
            FieldType::UInt16 => 2,
            FieldType::Int32 | FieldType::UInt32 => 4,
            FieldType::UInt64 => 8,
        };
        if field == name {
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(&payload[offset..offset + size]);
            return u64::from_le_bytes(bytes);
        }
        offset += size;
    }
    panic!("{} has no field {name}", event.name);
}

#[test]
fn descriptions_match_the_layout() {
    let mut buffer = vec![0; MAX_EVENT_BYTES];
    let dense = Dense::random(&mut Random(3), 40);
    let totals = dense.totals(&mut Random(5));
    totals.encode(&mut buffer).unwrap();
    let read = |name| field(event_id::GC_TOTALS, name, &buffer);
    assert_eq!(read("gc_seq"), totals.gc_seq);
    assert_eq!(read("collected"), u64::from(totals.collected));
    assert_eq!(read("toggle_failures"), u64::from(totals.toggle_failures));
    assert_eq!(read("missing_roots"), totals.missing_roots);
    assert_eq!(read("roots_parts"), u64::from(totals.parts.roots));
    assert_eq!(read("bounds_ranges"), u64::from(totals.bounds_ranges));
    assert_eq!(read("moved_bytes"), totals.moved.bytes);

    let window = Window { number: 9, gcs: 10, length_ms: 11, every_ms: 12, busy: 13 };
    let hello =
        Hello { arming: Arming(8), slots: 5, tick_ns: 6, age_ns: 14, window: Some(window), ..hello() };
    let length = hello.encode(&mut buffer).unwrap();
    let read = |name| field(event_id::HELLO, name, &buffer[..length]);
    assert_eq!((read("tick_ns"), read("slots"), read("clr_qfe"), read("arming")), (6, 5, 3, 8));
    assert_eq!((read("lease_connected"), read("names")), (1, 1));
    let window = ["window", "window_gcs", "window_length_ms", "window_every_ms", "window_busy"].map(read);
    assert_eq!(window, [9, 10, 11, 12, 13]);
    assert_eq!(read("age_ns"), 14);

    let header = BatchHeader { gc_seq: 9, part: 8, rows: 7, phase: 6 }.encode();
    for id in BATCHES {
        let read = |name| field(id, name, &header);
        assert_eq!([read("gc_seq"), read("part"), read("rows"), read("phase")], [9, 8, 7, 6]);
    }
    let note = Note { code: NoteCode(3), hresult: 4, tick_ns: 5 };
    note.encode(&mut buffer).unwrap();
    assert_eq!(field(event_id::NOTE, "tick_ns", &buffer), 5);
}

struct Dense {
    counts: Vec<u64>,
    bytes: Vec<u64>,
    distances: Vec<u64>,
    cells: Vec<u64>,
}

impl Dense {
    fn random(random: &mut Random, one_in: u64) -> Self {
        let mut table = |length: usize| -> Vec<u64> {
            (0..length).map(|_| if random.below(one_in) == 0 { random.value() | 1 } else { 0 }).collect()
        };
        Self {
            counts: table(BUCKETS),
            bytes: table(BUCKETS),
            distances: table(BUCKETS),
            cells: table(ROOT_CELLS),
        }
    }

    fn totals(&self, random: &mut Random) -> GcTotals<'_> {
        let mut ranges = || RangeTotals {
            blocks: random.value(),
            bytes: random.value(),
            by_generation: [(); BLOCK_GENERATIONS].map(|()| (random.value(), random.value())),
            histogram: Histogram::dense(random.value(), random.value(), &self.counts, &self.bytes),
        };
        let (moved, surviving) = (ranges(), ranges());
        GcTotals {
            gc_seq: random.value(),
            gc_number: random.next() as u32,
            collected: random.next() as u8,
            reason: random.next() as u32,
            flags: GcFlags(random.next() as u32),
            started_ns: random.value(),
            finished_ns: random.value(),
            callback_ns: random.value(),
            walk_ns: random.value(),
            toggle_failures: random.next() as u32,
            moved,
            stayed_blocks: random.value(),
            stayed_bytes: random.value(),
            distance: Histogram::dense(random.value(), random.value(), &self.distances, &[]),
            surviving,
            roots: RootTotals { nulls: random.value(), counts: RootCounts::dense(&self.cells) },
            dependent_pairs: random.value(),
            finalizable_queued: random.value(),
            missing_ranges: random.value(),
            missing_range_bytes: random.value(),
            missing_roots: random.value(),
            parts: Parts { bounds: 1, moved: 2, surviving: 3, roots: random.next() as u32 },
            bounds_ranges: random.next() as u32,
            naming: (random.below(2) == 0).then(|| Naming {
                naming_ns: random.value(),
                typed_roots: random.value(),
                untyped_roots: random.value(),
                typed_root_parts: random.next() as u32,
                statics_parts: random.next() as u32,
            }),
        }
    }
}

#[test]
fn totals_round_trip() {
    let mut random = Random(42);
    for round in 0..200 {
        let dense = Dense::random(&mut random, 1 + round % 90);
        let mut totals = dense.totals(&mut random);
        if round == 89 {
            totals.naming = Some(Naming { naming_ns: 5, ..Naming::default() });
        }
        let mut buffer = vec![0; MAX_EVENT_BYTES];
        let length = totals.encode(&mut buffer).unwrap();
        assert_eq!(decode(event_id::GC_TOTALS, &buffer[..length]), Ok(Record::GcTotals(totals)));
        if round == 89 {
            let first = length - 32;
            let expected = Record::GcTotals(totals);
            round_trip_from(event_id::GC_TOTALS, &buffer[..length], expected, &[first]);
            totals.naming = None;
            assert_eq!(decode(event_id::GC_TOTALS, &buffer[..first]), Ok(Record::GcTotals(totals)));
        }
    }
}

#[test]
fn the_fullest_totals_fit_into_an_event() {
    let full = Dense {
        counts: vec![u64::MAX; BUCKETS],
        bytes: vec![u64::MAX; BUCKETS],
        distances: vec![u64::MAX; BUCKETS],
        cells: vec![u64::MAX; ROOT_CELLS],
    };
    let mut buffer = vec![0; MAX_EVENT_BYTES];
    full.totals(&mut Random(1)).encode(&mut buffer).unwrap();
}

#[test]
fn root_cells_name_what_was_counted() {
    let mut cells = [0; ROOT_CELLS];
    let raw = [(0, 0), (1, 5), (3, 2), (3, 15), (4, 0), (900, 0), (2, 16), (2, u32::MAX)];
    for (kind, flags) in raw {
        cells[root_cell(kind, flags)] += 1;
    }
    let found: Vec<_> = RootCounts::dense(&cells).iter().map(|c| (c.kind, c.flags, c.count)).collect();
    assert_eq!(
        found,
        [
            (RootKind::OTHER, RootFlags(0), 1),
            (RootKind::STACK, RootFlags(RootFlags::PINNING | RootFlags::INTERIOR), 1),
            (RootKind::FINALIZER, RootFlags::UNKNOWN, 2),
            (RootKind::HANDLE, RootFlags(RootFlags::WEAK), 1),
            (RootKind::HANDLE, RootFlags(15), 1),
            (RootKind::UNKNOWN, RootFlags(0), 2),
        ]
    );
}

fn batch<T: Row>(header: BatchHeader, rows: &[T]) -> Vec<u8> {
    let mut payload = header.encode().to_vec();
    for row in rows {
        let mut bytes = vec![0; T::BYTES];
        assert_eq!(row.encode(&mut bytes), Ok(T::BYTES));
        payload.extend(bytes);
    }
    payload
}

/// Encodes rows as the second part of a batch, and reads them back: `take` gives the batch of a record.
fn batch_round_trip<T: Row + Copy + PartialEq>(
    id: u32,
    phase: u8,
    rows: [T; 2],
    take: impl FnOnce(Record<'_>) -> Option<Batch<'_, T>>,
) where
    T::Phase: PartialEq,
{
    let payload = batch(BatchHeader { gc_seq: 9, part: 4, rows: 2, phase }, &rows);
    let record = decode(id, &payload).unwrap();
    let decoded = take(record).unwrap();
    assert_eq!((decoded.gc_seq, decoded.part, decoded.rows.len()), (9, 4, 2));
    assert!(decoded.rows.eq(rows) && T::Phase::decode(&[phase]).is_ok_and(|phase| phase == decoded.phase));
    round_trip(id, &payload, record);
}

/// The batch in a record of this sort.
macro_rules! of {
    ($record:ident) => {
        |record| if let Record::$record(batch) = record { Some(batch) } else { None }
    };
}

#[test]
fn batches_round_trip() {
    let bounds = [
        BoundsRange { generation: 2, start: 1, length: 2, reserved: 3 },
        BoundsRange { generation: 4, start: u64::MAX, length: 5, reserved: 6 },
    ];
    batch_round_trip(event_id::BOUNDS, BoundsPhase::FINISHED.0, bounds, of!(Bounds));
    let moved = [MovedRange { old: 1, new: 2, bytes: 3 }, MovedRange { old: 4, new: u64::MAX, bytes: 5 }];
    batch_round_trip(event_id::MOVED, 0, moved, of!(Moved));
    let surviving = [SurvivingRange { start: 1, bytes: 2 }, SurvivingRange { start: 3, bytes: u64::MAX }];
    batch_round_trip(event_id::SURVIVING, 0, surviving, of!(Surviving));
    let roots = [
        Root { object: 1, root_id: 2, kind: RootKind::STACK, flags: RootFlags(4) },
        Root { object: 0, root_id: u64::MAX, kind: RootKind(77), flags: RootFlags(255) },
    ];
    batch_round_trip(event_id::ROOTS, 0, roots, of!(Roots));
    let row = StaticRow { field: 1, object: 2, class_id: 3, bytes: 4, generation: Generation(0) };
    let statics = [row, StaticRow { field: u32::MAX, object: 0, ..row }];
    batch_round_trip(event_id::STATICS, StaticsPhase::FULL.0, statics, of!(Statics));
}

#[test]
fn an_absurd_count_is_an_error() {
    let header = BatchHeader { gc_seq: 1, part: 0, rows: u32::MAX, phase: 1 };
    for id in BATCHES {
        assert!(matches!(decode(id, &header.encode()), Err(WireError::Truncated { .. })));
    }
}

#[test]
fn events_of_a_later_version_are_unknown() {
    for id in [0, 20, u32::MAX] {
        assert_eq!(decode(id, &[1, 2, 3]), Ok(Record::Unknown(id)));
    }
}

/// Any bytes are decoded or refused; whatever was decoded can be read to its end.
#[test]
fn arbitrary_bytes_never_panic() {
    let mut random = Random(0xfeed);
    let mut payload = vec![0; 4096];
    let mut accepted = 0;
    for _ in 0..400_000 {
        let length = random.below(700) as usize;
        let zeros = random.below(3) == 0;
        for byte in &mut payload[..length] {
            *byte = if zeros && random.below(4) != 0 { 0 } else { random.next() as u8 };
        }
        let id = random.below(20) as u32;
        let Ok(record) = decode(id, &payload[..length]) else { continue };
        accepted += 1;
        let read = match record {
            Record::GcTotals(totals) => {
                totals.moved.histogram.iter().count()
                    + totals.distance.iter().count()
                    + totals.surviving.histogram.iter().count()
                    + totals.roots.counts.iter().count()
            }
            Record::Bounds(bounds) => bounds.rows.count(),
            Record::Moved(moved) => moved.rows.count(),
            Record::Surviving(surviving) => surviving.rows.count(),
            Record::Roots(roots) => roots.rows.count(),
            Record::TypedRoots(holders) => holders.rows.count(),
            Record::Statics(statics) => statics.rows.count(),
            Record::Class(class) => class.args.iter().count(),
            Record::Method(method) => method.args.iter().count(),
            Record::Trigger(trigger) => trigger.frames.iter().count(),
            Record::Module(module) => module.path.chars().count(),
            Record::TypeDef(def) => names::shown(def.name, def.params),
            Record::MethodDef(def) => names::shown(def.name, def.params),
            Record::FieldDef(field) => field.name.to_string().chars().count(),
            Record::Hello(_)
            | Record::Note(_)
            | Record::NamesDone(_)
            | Record::GraphPause(_)
            | Record::Forget
            | Record::Unknown(_) => 0,
        };
        assert!(read <= length);
    }
    assert!(accepted > 10_000, "the loop must reach past the length checks, {accepted} did");
}
