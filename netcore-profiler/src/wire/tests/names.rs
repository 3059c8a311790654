//! Everything with [`KEYWORD_NAMES`].

use super::*;

/// Reads all of it.
pub(super) fn shown(name: Text<'_>, params: Texts<'_>) -> usize {
    name.chars().count() + params.iter().map(|text| text.units().count()).sum::<usize>()
}

fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// Encodes, and reads back what `expected` says.
fn both<'a, P: Payload<'a> + Copy>(payload: P, expected: fn(P) -> Record<'a>) {
    let mut buffer = vec![0; 4096];
    let length = payload.encode(&mut buffer).unwrap();
    round_trip(P::ID, &buffer[..length], expected(payload));
    for room in 0..length {
        assert_eq!(payload.encode(&mut buffer[..room]), Err(WireError::BufferFull { capacity: room }));
    }
}

#[test]
fn facts_round_trip() {
    let args = [1, u64::MAX, 0];
    for args in [&args[..], &[]] {
        let class = Class {
            class_id: 0x7fff_0000_1238,
            shape: ClassShape::ARRAY,
            module_id: 2,
            token: 0x0200_0003,
            rank: 4,
            element_class: 5,
            element_type: 0x12,
            args: Ids::new(args),
        };
        both(class, Record::Class);
        let method = Method {
            function_id: 1,
            shape: MethodShape::DYNAMIC,
            class_id: 2,
            module_id: 3,
            token: 0x0600_0001,
            args: Ids::new(args),
        };
        both(method, Record::Method);
        let trigger = Trigger { reason: 1, os_thread: 77, frames: Ids::new(args) };
        both(trigger, Record::Trigger);
        assert_eq!((trigger.frames.len(), trigger.frames.is_empty()), (args.len(), args.is_empty()));
    }
    both(NamesDone { gc_seq: 9 }, Record::NamesDone);
    both(GraphPause { gc_seq: 9, gc_number: 7, pause_ns: 1_000_000 }, Record::GraphPause);
    assert_eq!(decode(event_id::FORGET, &[]), Ok(Record::Forget));
}

#[test]
fn definitions_round_trip() {
    let (name, first, second) = (units("Demo.Ördered\u{1b}[31m`2"), units("TKey"), units(""));
    let list = [Text::new(&first), Text::new(&second)];
    for (params, name) in [(&list[..], &name[..]), (&[], &[0xd800, 65, 0xdfff]), (&list[..1], &[])] {
        let (name, params) = (Text::new(name), Texts::new(params));
        let module = Module { module_id: 1, flags: 2, path: name };
        both(module, Record::Module);
        let def = TypeDef { module_id: 1, token: 2, status: DefStatus::UNLOADED, name, params };
        both(def, Record::TypeDef);
        let def = MethodDef {
            module_id: 1,
            token: 2,
            status: DefStatus::UNREADABLE,
            type_token: 3,
            name,
            is_async: true,
            params,
        };
        both(def, Record::MethodDef);
        let field =
            FieldDef { field: 1, module_id: 2, type_token: 3, token: 4, slot: 5, thread_static: true, name };
        both(field, Record::FieldDef);
    }
}

#[test]
fn text_that_is_none_is_shown_all_the_same() {
    let broken = [65, 0xd800, 66, 0xdc00];
    assert_eq!(Text::new(&broken).to_string(), "A\u{fffd}B\u{fffd}");
    assert_eq!(Text::new(&units("𝄞\0x")).to_string(), "𝄞\0x");
    assert!(Text::new(&[]).is_empty() && !Text::new(&broken).is_empty());
}

#[test]
fn long_text_is_cut_where_it_can_be_seen() {
    let path_length = |length: usize| {
        let path = vec![u16::from(b'x'); length];
        let mut buffer = vec![0; 2048];
        let written = Module { module_id: 1, flags: 2, path: Text::new(&path) }.encode(&mut buffer).unwrap();
        match decode(event_id::MODULE, &buffer[..written]).unwrap() {
            Record::Module(module) => module.path.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(path_length(MAX_TEXT_UNITS), "x".repeat(MAX_TEXT_UNITS));
    let cut = format!("{}…", "x".repeat(MAX_TEXT_UNITS - 1));
    assert_eq!(path_length(MAX_TEXT_UNITS + 1), cut);
    assert_eq!(path_length(70_000), cut);
}

#[test]
fn lists_are_cut_at_what_their_count_can_say() {
    let ids = vec![7; 300];
    let trigger = Trigger { reason: 1, os_thread: 2, frames: Ids::new(&ids) };
    let mut buffer = vec![0; 4096];
    let length = trigger.encode(&mut buffer).unwrap();
    let Ok(Record::Trigger(read)) = decode(event_id::TRIGGER, &buffer[..length]) else { panic!() };
    assert_eq!(read.frames.len(), 255);
    assert_eq!(length, 4 + 8 + 1 + 255 * 8);
    let texts = vec![Text::new(&[65]); 300];
    let def = TypeDef {
        module_id: 1,
        token: 2,
        status: DefStatus::OK,
        name: Text::new(&[]),
        params: Texts::new(&texts),
    };
    let length = def.encode(&mut buffer).unwrap();
    let Ok(Record::TypeDef(read)) = decode(event_id::TYPE_DEF, &buffer[..length]) else { panic!() };
    assert_eq!(read.params.iter().count(), MAX_TEXTS);
}

const ZERO: TypedRoot = TypedRoot {
    object: 0,
    root_id: 0,
    class_id: 0,
    bytes: 0,
    allocated_by: 0,
    kind: RootKind(0),
    flags: RootFlags(0),
    generation: Generation(0),
    handle_kind: HandleKind(0),
    repeats: 0,
};

fn any_row(random: &mut Random, before: &TypedRoot) -> TypedRoot {
    let word = |random: &mut Random, before: u64| match random.below(6) {
        0 => random.next(),
        1 => [0, u64::MAX, 1 << 63, i64::MAX as u64][random.below(4) as usize],
        2 => before.wrapping_add(random.below(1000)),
        3 => before.wrapping_sub(1 << random.below(64)),
        _ => before,
    };
    let rest = word(random, 0).to_le_bytes();
    TypedRoot {
        object: word(random, before.object),
        root_id: word(random, before.root_id),
        class_id: word(random, before.class_id),
        bytes: word(random, before.bytes),
        allocated_by: word(random, before.allocated_by),
        kind: RootKind(rest[0]),
        flags: RootFlags(rest[1]),
        generation: Generation(rest[2]),
        handle_kind: HandleKind(rest[3]),
        repeats: u16::from_le_bytes([rest[4], rest[5]]),
    }
}

fn packed(rows: &[TypedRoot]) -> Vec<u8> {
    let count = rows.len() as u32;
    let mut payload =
        BatchHeader { gc_seq: 9, part: 4, rows: count, phase: TypedRoots::PACKED }.encode().to_vec();
    let mut packer = Packer::new();
    for row in rows {
        let mut buffer = [0xee; PACKED_ROW_BYTES];
        let length = packer.encode(row, &mut buffer).unwrap();
        payload.extend(&buffer[..length]);
    }
    payload
}

#[test]
fn packed_rows_round_trip() {
    let mut random = Random(11);
    for count in (0..200).chain([5000]) {
        let mut rows: Vec<TypedRoot> = Vec::new();
        for _ in 0..count {
            let before = rows.last().copied().unwrap_or(ZERO);
            rows.push(any_row(&mut random, &before));
        }
        let payload = packed(&rows);
        let Ok(Record::TypedRoots(decoded)) = decode(event_id::TYPED_ROOTS, &payload) else { panic!() };
        assert_eq!((decoded.gc_seq, decoded.part, decoded.rows.len()), (9, 4, count));
        assert!(decoded.rows.eq(rows.iter().copied()));
        if count == 20 {
            round_trip(event_id::TYPED_ROOTS, &payload, Record::TypedRoots(decoded));
        }
    }
    let mut small = [0; PACKED_ROW_BYTES - 1];
    let full = WireError::BufferFull { capacity: small.len() };
    assert_eq!(Packer::new().encode(&ZERO, &mut small), Err(full));
}

/// Handles of one sort that one method made, to objects of one class that lie close together.
#[test]
fn rows_that_are_alike_are_small() {
    let row = |n: u64| TypedRoot {
        object: 0x7f00_0000_0000 + n * 48,
        root_id: 0x7e00_0000_1000 + n * 8,
        class_id: 0x7d00_0000_2000,
        bytes: 24,
        allocated_by: 0x7d00_0000_4000,
        kind: RootKind::HANDLE,
        flags: RootFlags(RootFlags::PINNING),
        generation: Generation(2),
        handle_kind: HandleKind::PINNED,
        repeats: 0,
    };
    let rows: Vec<TypedRoot> = (0..1000).map(row).collect();
    assert!(packed(&rows).len() < 1000 * 5 + 100, "{}", packed(&rows).len());
}

/// The first version had rows of another layout, with phase 0.
#[test]
fn rows_of_another_layout_are_not_guessed_at() {
    let payload = batch(BatchHeader { gc_seq: 9, part: 0, rows: 0, phase: 0 }, &[] as &[StaticRow]);
    assert_eq!(decode(event_id::TYPED_ROOTS, &payload), Ok(Record::Unknown(event_id::TYPED_ROOTS)));
}
