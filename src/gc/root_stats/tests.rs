use netcore_profiler::wire::{
    self, BatchHeader, Generation, HandleKind, Naming, PACKED_ROW_BYTES, Packer, Record, RootFlags, RootKind,
    Row, StaticRow, StaticsPhase, TypedRoot,
};

use super::{IncomingRootRows, RootStats};
use crate::gc::names::Tables;

fn root(object: u64, kind: RootKind, flags: u8, repeats: u16) -> TypedRoot {
    TypedRoot {
        object,
        root_id: 0,
        class_id: 1,
        bytes: 24,
        allocated_by: 0,
        kind,
        flags: RootFlags(flags),
        generation: Generation(0),
        handle_kind: HandleKind::UNKNOWN,
        repeats,
    }
}

fn static_value(field: u32, object: u64, bytes: u64) -> StaticRow {
    StaticRow { field, object, class_id: 1, bytes, generation: Generation(2) }
}

/// The rows of a batch, written and read again.
fn batch(id: u32, header: BatchHeader, rows: Vec<u8>, take: impl FnOnce(Record<'_>)) {
    let payload = [header.encode().to_vec(), rows].concat();
    take(wire::decode(id, &payload).expect("it is what was written"));
}

fn tell(coming: &mut IncomingRootRows, gc_seq: u64, part: u32, rows: &[TypedRoot]) {
    let (mut packer, mut packed) = (Packer::new(), Vec::new());
    for row in rows {
        let mut room = [0; PACKED_ROW_BYTES];
        let used = packer.encode(row, &mut room).expect("there is room");
        packed.extend(&room[..used]);
    }
    let header = BatchHeader { gc_seq, part, rows: rows.len() as u32, phase: wire::TypedRoots::PACKED };
    batch(wire::event_id::TYPED_ROOTS, header, packed, |record| {
        let Record::TypedRoots(part) = record else { panic!("{record:?}") };
        coming.roots(&part);
    });
}

fn tell_statics(coming: &mut IncomingRootRows, gc_seq: u64, phase: StaticsPhase, rows: &[StaticRow]) {
    let mut encoded = Vec::new();
    for row in rows {
        let mut room = [0; 64];
        let used = row.encode(&mut room).expect("there is room");
        encoded.extend(&room[..used]);
    }
    let header = BatchHeader { gc_seq, part: 0, rows: rows.len() as u32, phase: phase.0 };
    batch(wire::event_id::STATICS, header, encoded, |record| {
        let Record::Statics(part) = record else { panic!("{record:?}") };
        coming.statics(&part);
    });
}

fn totals(typed_root_parts: u32, statics_parts: u32) -> Naming {
    Naming { naming_ns: 1, typed_roots: 0, untyped_roots: 3, typed_root_parts, statics_parts }
}

fn named(coming: &mut IncomingRootRows, gc_seq: u64, naming: &Naming) -> (RootStats, u64) {
    let (seen, missing) = coming.take(gc_seq, naming);
    (RootStats::of(&seen, &mut Tables::default()), missing)
}

#[test]
fn slots_objects_and_bytes_are_counted_each_its_own_way() {
    let mut coming = IncomingRootRows::default();
    let rows = [
        root(8, RootKind::STACK, 0, 2),
        root(8, RootKind::STACK, 1, 0),
        root(64, RootKind::STACK, 0, 0),
        root(64, RootKind::HANDLE, 2, 0),
    ];
    tell(&mut coming, 1, 0, &rows[..3]);
    tell(&mut coming, 1, 1, &rows[3..]);
    let (holders, missing) = named(&mut coming, 1, &totals(2, 0));
    assert_eq!(missing, 0);
    let [method] = &holders.methods[..] else { panic!("{holders:?}") };
    assert_eq!((&*method.name, method.slots, method.objects, method.pinned_slots), ("(no frame)", 5, 2, 1));
    let types: Vec<_> = holders.types.iter().map(|t| (t.kind.0, t.flags.0, t.count, t.bytes)).collect();
    assert_eq!(types, [(0, 0, 4, 48), (0, 1, 1, 24), (1, 2, 1, 24)]);
    let all = holders.origins;
    assert_eq!((all.runtime, all.app, all.unknown, holders.untyped), (5, 0, 4, 3));
    assert_eq!(holders.statics, None);
}

#[test]
fn a_pinned_object_is_counted_while_no_collection_is_missed() {
    let mut coming = IncomingRootRows::default();
    let mut seen = |gc_seq: u64, object: u64, parts: u32| {
        tell(&mut coming, gc_seq, 0, &[root(object, RootKind::HANDLE, 1, 0)]);
        let (holders, missing) = named(&mut coming, gc_seq, &totals(parts, 0));
        (holders.pinned[0].seen_in_gcs, missing)
    };
    assert_eq!([seen(1, 8, 1), seen(2, 8, 1), seen(3, 16, 1)], [(1, 0), (2, 0), (1, 0)]);
    assert_eq!([seen(4, 16, 1), seen(6, 16, 1)], [(2, 0), (1, 0)]);
    // A part of its rows is missing.
    assert_eq!(seen(7, 16, 2), (1, 1));
}

#[test]
fn static_fields_are_a_table_with_changes() {
    let mut coming = IncomingRootRows::default();
    let bytes = |holders: RootStats| {
        holders.statics.map(|rows| rows.iter().map(|row| row.bytes).collect::<Vec<u64>>())
    };
    tell_statics(&mut coming, 1, StaticsPhase::CHANGES, &[static_value(1, 8, 10)]);
    assert_eq!(bytes(named(&mut coming, 1, &totals(0, 1)).0), None, "the table has not come");
    tell_statics(&mut coming, 2, StaticsPhase::FULL, &[static_value(1, 8, 10), static_value(2, 16, 20)]);
    assert_eq!(bytes(named(&mut coming, 2, &totals(0, 1)).0), Some(vec![20, 10]));
    tell_statics(&mut coming, 3, StaticsPhase::CHANGES, &[static_value(2, 0, 0), static_value(1, 32, 30)]);
    assert_eq!(bytes(named(&mut coming, 3, &totals(0, 1)).0), Some(vec![30]));
    assert_eq!(bytes(named(&mut coming, 4, &totals(0, 0)).0), Some(vec![30]), "nothing has changed");
    assert_eq!(bytes(named(&mut coming, 5, &totals(0, 1)).0), None, "a change is missing");
}

#[test]
fn counts_from_the_wire_do_not_overflow() {
    let mut coming = IncomingRootRows::default();
    let mut sum = super::RootStatsTotals::default();
    for gc_seq in 1..4 {
        let rows: Vec<_> = [RootKind::STACK, RootKind::HANDLE].map(|kind| root(8, kind, 1, u16::MAX)).into();
        tell(&mut coming, gc_seq, 0, &rows);
        let naming = Naming { untyped_roots: u64::MAX, ..totals(1, 0) };
        let (mut holders, _) = named(&mut coming, gc_seq, &naming);
        for row in &mut holders.methods {
            (row.slots, row.pinned_slots) = (u64::MAX, u64::MAX);
        }
        holders.types.iter_mut().for_each(|row| row.count = u64::MAX);
        holders.pinned.iter_mut().for_each(|row| row.count = u64::MAX);
        holders.origins.app = u64::MAX;
        sum.add(&holders);
    }
    assert_eq!((sum.slots, sum.untyped), (u64::MAX, u64::MAX));
    let origins = sum.origins;
    assert_eq!((origins.app, origins.unknown), (u64::MAX, u64::MAX));
    assert_eq!(sum.methods()[0].slots, u64::MAX);
    assert_eq!(sum.types()[0].total_count, u64::MAX);
}

#[test]
fn rows_and_fields_are_bounded_and_parts_that_are_left_out_are_counted() {
    let mut coming = IncomingRootRows::default();
    // Rows that say the same as the one before take a few bytes each.
    let rows = vec![root(8, RootKind::HANDLE, 0, 0); 10_000];
    let fields: Vec<_> = (0..1_000).collect();
    let info = allocation_counter::measure(|| {
        for part in 0..100 {
            tell(&mut coming, 1, part, &rows);
            let values: Vec<_> = fields.iter().map(|f| static_value(part * 1_000 + f, 8, 10)).collect();
            tell_statics(&mut coming, 1, StaticsPhase::FULL, &values);
        }
    });
    assert!(info.bytes_max < 16 << 20, "{} bytes", info.bytes_max);
    let (seen, missing) = coming.take(1, &totals(100, 100));
    assert_eq!((seen.rows.len(), missing), (1 << 16, 94 + 92));
}
