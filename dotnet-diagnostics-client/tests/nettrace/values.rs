//! Values of fields, in streams built by hand.

use dotnet_diagnostics_client::nettrace::{FileReader, Item, Value};

use crate::builder::{Bytes, Stream, clock, compressed, ev, metadata};

/// A field of version 5, after its size.
fn v5(name: &str, field_type: Bytes) -> Bytes {
    let content = Bytes::new().text(name).raw(field_type.0);
    Bytes::new().u32(content.0.len() as u32 + 4).raw(content.0)
}

fn code(code: u32) -> Bytes {
    Bytes::new().u32(code)
}

/// A list of fields of version 5, after its count.
fn list(fields: &[Bytes]) -> Bytes {
    fields.iter().fold(Bytes::new().u32(fields.len() as u32), |bytes, field| bytes.raw(&field.0))
}

/// A stream with one event that has these fields.
fn stream(fields: &[Bytes], payload: &[u8]) -> Vec<u8> {
    let fields = list(fields);
    let record = metadata(1, "P", 7).u32(0).u32(fields.0.len() as u32).u8(2).raw(fields.0);
    Stream::without_metadata().records(&[record]).events(&[ev(1, 1, 1).payload(payload)]).end()
}

/// The fields of the first event as text, and how many could not be read.
fn read(stream: &[u8]) -> (Vec<String>, usize) {
    let mut reader = FileReader::new(stream);
    while let Some(item) = reader.next_item().unwrap() {
        if let Item::Event(event) = item {
            let mut fields = event.fields();
            let texts = fields.by_ref().map(|(name, value)| format!("{name}={value}")).collect();
            return (texts, fields.unread_fields());
        }
    }
    panic!("no event");
}

#[test]
fn every_type_of_version_5() {
    let names = [
        ("bool", 3),
        ("unit", 4),
        ("i8", 5),
        ("u8", 6),
        ("i16", 7),
        ("u16", 8),
        ("i32", 9),
        ("u32", 10),
        ("i64", 11),
        ("u64", 12),
        ("f32", 13),
        ("f64", 14),
        ("time", 16),
        ("guid", 17),
        ("text", 18),
    ];
    let fields: Vec<_> = names.iter().map(|(name, number)| v5(name, code(*number))).collect();
    let filetime = 116_444_736_000_000_000 + 15_000_000;
    let payload = Bytes::new().u32(1).u16(b'x'.into()).u8(0xff).u8(0xff).i16(-2).u16(0xfffe);
    let payload = payload.u32(-3_i32 as u32).u32(0xffff_fffd).i64(-4).u64(u64::MAX);
    let payload = payload.raw(1.5_f32.to_le_bytes()).raw((-2.5_f64).to_le_bytes()).i64(filetime);
    let payload =
        payload.raw([0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 1, 2, 3, 4, 5, 6, 7, 8]).text("a\n\"");
    let (texts, unread) = read(&stream(&fields, &payload.0));
    let expected = [
        "bool=true",
        "unit=\"x\"",
        "i8=-1",
        "u8=255",
        "i16=-2",
        "u16=65534",
        "i32=-3",
        "u32=4294967293",
        "i64=-4",
        "u64=18446744073709551615",
        "f32=1.5",
        "f64=-2.5",
        "time=1.5000000 s",
        "guid=00112233-4455-6677-0102-030405060708",
        "text=\"a\\n\\\"\"",
    ];
    assert_eq!((texts, unread), (expected.map(String::from).to_vec(), 0));
}

#[test]
fn structs_and_arrays_within_each_other() {
    let pair = list(&[v5("k", code(18)), v5("v", code(9))]);
    let fields = [
        v5("numbers", code(19).u32(8)),
        v5("bytes", code(19).u32(6)),
        v5("chars", code(19).u32(4)),
        v5("pairs", code(19).u32(1).raw(&pair.0)),
        v5("matrix", code(19).u32(19).u32(6)),
        v5("one", code(1).raw(&pair.0)),
        v5("last", code(9)),
    ];
    let payload =
        Bytes::new().u16(2).u16(7).u16(8).u16(3).raw([1, 2, 0xff]).u16(2).u16(b'h'.into()).u16(b'i'.into());
    let payload = payload.u16(2).text("a").u32(1).text("").u32(2);
    let payload = payload.u16(2).u16(1).u8(9).u16(0).text("b").u32(3).u32(42);
    let expected = [
        "numbers=[7, 8]",
        "bytes=0102ff",
        "chars=\"hi\"",
        "pairs=[{k=\"a\", v=1}, {k=\"\", v=2}]",
        "matrix=[09, ]",
        "one={k=\"b\", v=3}",
        "last=42",
    ];
    let whole = stream(&fields, &payload.0);
    assert_eq!(read(&whole), (expected.map(String::from).to_vec(), 0));
    // Cut anywhere, the fields before the cut are the same.
    for len in 0..payload.0.len() {
        let (texts, unread) = read(&stream(&fields, &payload.0[..len]));
        assert_eq!(texts, expected[..texts.len()]);
        assert_eq!(texts.len() + unread, expected.len(), "{len}");
        assert!(unread > 0);
    }
}

#[test]
fn the_wrapper_of_event_counters_is_not_seen() {
    let inner = list(&[v5("Name", code(18)), v5("Mean", code(14))]);
    let wrapped = list(&[v5("Payload", code(1).raw(&inner.0))]);
    let fields = [v5("", code(1).raw(&wrapped.0)), v5("after", code(9))];
    let payload = Bytes::new().text("cpu").raw(0.5_f64.to_le_bytes()).u32(1);
    let expected = ["Payload={Name=\"cpu\", Mean=0.5}", "after=1"];
    assert_eq!(read(&stream(&fields, &payload.0)), (expected.map(String::from).to_vec(), 0));
}

#[test]
fn a_bool_is_as_large_as_the_payload_says() {
    let fields = [v5("flag", code(3)), v5("after", code(9))];
    let expected = (vec!["flag=true".into(), "after=7".into()], 0);
    assert_eq!(read(&stream(&fields, &[1, 0, 0, 0, 7, 0, 0, 0])), expected);
    assert_eq!(read(&stream(&fields, &[1, 7, 0, 0, 0])), expected);
    // Neither fits.
    assert_eq!(read(&stream(&fields, &[1, 0, 0, 0, 7, 0])), (vec!["flag=true".into()], 1));
}

#[test]
fn an_unknown_type_ends_the_fields() {
    let fields = [v5("a", code(9)), v5("b", code(99)), v5("c", code(9))];
    assert_eq!(read(&stream(&fields, &[1, 0, 0, 0, 2, 0, 0, 0])), (vec!["a=1".into()], 2));
}

#[test]
fn elements_without_bytes_are_refused() {
    let empty = list(&[]);
    let fields = [v5("a", code(19).u32(1).raw(&empty.0)), v5("b", code(9))];
    assert_eq!(read(&stream(&fields, &[0xff, 0xff, 1, 0, 0, 0])), (vec![], 2));
    assert_eq!(read(&stream(&fields, &[0, 0, 1, 0, 0, 0])), (vec!["a=[]".into(), "b=1".into()], 0));
}

#[test]
fn fields_without_bytes_are_left_out() {
    let inner = list(&[v5("nothing", code(1).raw(list(&[]).0))]);
    let fields = [v5("a", code(9)), v5("empty", code(1).raw(&inner.0)), v5("b", code(9))];
    assert_eq!(read(&stream(&fields, &[1, 0, 0, 0, 2, 0, 0, 0])), (vec!["a=1".into(), "b=2".into()], 0));
}

#[test]
fn long_names_are_cut() {
    let fields = [v5(&"n".repeat(300), code(6))];
    assert_eq!(read(&stream(&fields, &[7])).0, [format!("{}=7", "n".repeat(256))]);
}

#[test]
fn names_and_texts_cannot_command_a_terminal() {
    let inner = list(&[v5("\u{1b}[31m", code(18))]);
    let fields = [v5("s", code(1).raw(&inner.0))];
    let (texts, _) = read(&stream(&fields, &Bytes::new().text("\u{1b}]0;x\u{7}\u{202e}").0));
    assert!(!texts[0].contains(|c: char| c.is_control() || c == '\u{202e}'), "{texts:?}");
}

#[test]
fn the_text_of_a_value_has_a_limit() {
    let inner = list(&[v5(&"n".repeat(250), code(6))]);
    let fields = [v5("list", code(19).u32(1).raw(&inner.0))];
    let payload = Bytes::new().u16(60_000).raw(vec![1; 60_000]);
    let (texts, unread) = read(&stream(&fields, &payload.0));
    assert!(texts[0].ends_with('…') && texts[0].len() <= (1 << 20) + 16, "{}", texts[0].len());
    assert_eq!(unread, 0);
}

#[test]
fn arrays_elsewhere_are_no_elements_and_few() {
    let of = |codes: &[u8]| Bytes::new().raw(codes);
    // An array of arrays that all are the same bytes, and more such arrays than a definition may have.
    let element = [("all", of(&[22, 25, 6]).u16(2))];
    let unread = |fields: &[(&str, Bytes)], payload: &[u8]| {
        read(&v6_stream(fields, Bytes::new().u8(0x84).u64(1), payload)).1
    };
    assert_eq!(unread(&element, &[0, 0, 8, 0, 0, 0, 8, 0]), 1);
    let many: Vec<_> = (0..33).map(|_| ("a", of(&[25, 6]))).collect();
    assert_eq!(unread(&many, &[0, 0, 1, 0].repeat(33)), 1);
}

#[test]
fn a_definition_with_too_many_fields_has_none() {
    let fields: Vec<_> = (0..1025).map(|_| v5("f", code(6))).collect();
    assert_eq!(read(&stream(&fields, &[7; 1025])), (vec![], 0));
    assert_eq!(read(&stream(&fields[..1024], &[7; 1025])).0.len(), 1024);
}

fn v6_stream(fields: &[(&str, Bytes)], labels: Bytes, payload: &[u8]) -> Vec<u8> {
    let sized = |content: Bytes| Bytes::new().u16(content.0.len() as u16).raw(content.0);
    let block =
        |kind: u32, content: Bytes| Bytes::new().u32(content.0.len() as u32 | kind << 24).raw(content.0);
    let row = Bytes::new().var(1).utf8("P").var(7).utf8("Name").u16(fields.len() as u16);
    let row = fields
        .iter()
        .fold(row, |row, (name, field_type)| row.raw(sized(Bytes::new().utf8(name).raw(&field_type.0)).0));
    let row = row.u16(11).u8(3).u64(0x11).u8(8).u8(4);
    let blocks = [
        block(1, clock(1_000_000_000).u32(0)),
        block(3, Bytes::new().u16(0).raw(sized(row).0)),
        block(8, Bytes::new().u32(1).u32(1).raw(labels.0)),
        block(2, compressed(&[ev(1, 1, 1_000_000_000 + 1_000).labels(1).payload(payload)])),
        block(0, Bytes::new()),
    ];
    let start = Bytes::new().raw("Nettrace").u32(0).u32(6).u32(0);
    blocks.iter().fold(start, |bytes, block| bytes.raw(&block.0)).0
}

#[test]
fn what_version_6_adds() {
    let of = |codes: &[u8]| Bytes::new().raw(codes);
    let fields = [
        ("zigzag", of(&[20])),
        ("leb", of(&[21])),
        ("fixed", of(&[22, 8]).u16(2)),
        ("chars", of(&[22, 23]).u16(3)),
        ("nested", of(&[22, 22, 6]).u16(2).u16(2)),
        ("near", of(&[24, 8])),
        ("far", of(&[25, 23])),
        ("at", of(&[16])),
        ("after", of(&[6])),
    ];
    let payload = Bytes::new().var(5).var(300).u16(7).u16(8).raw("abc").raw([1, 2, 3, 4]);
    // 14 bytes so far; the two arrays are after the last field.
    let payload = payload.u16(4 + 16 + 1).u16(4).u16(14 + 8 + 16 + 1 + 4).u16(2);
    let payload = [1970, 1, 4, 1, 0, 0, 2, 500].into_iter().fold(payload, Bytes::i16).u8(9);
    let payload = payload.u16(40).u16(41).raw("yz");
    let labels = Bytes::new().u8(0x81).raw([0x11; 16]);
    let expected = [
        "zigzag=-3",
        "leb=300",
        "fixed=[7, 8]",
        "chars=\"abc\"",
        "nested=[0102, 0304]",
        "near=[40, 41]",
        "far=\"yz\"",
        "at=2.5000000 s",
        "after=9",
    ];
    let whole = v6_stream(&fields, labels, &payload.0);
    assert_eq!(read(&whole), (expected.map(String::from).to_vec(), 0));
}

#[test]
fn labels_of_version_6_differ_from_the_definition() {
    let labels =
        Bytes::new().u8(3).raw([3; 16]).u8(4).u64(4).u8(5).utf8("k").utf8("v").u8(6).utf8("n").var(3);
    let labels = labels.u8(7).u8(70).u8(8).u64(0x80).u8(9).u8(2).u8(0x80 | 10).u8(5);
    let stream = v6_stream(&[], labels, b"");
    let mut reader = FileReader::new(&*stream);
    while let Some(item) = reader.next_item().unwrap() {
        let Item::Event(event) = item else { continue };
        assert_eq!((event.trace_id(), event.span_id()), (Some([3; 16]), Some(4)));
        assert_eq!(
            (event.opcode(), event.keywords(), event.level(), event.version()),
            (Some(70), 0x80, 2, 5)
        );
        assert_eq!((event.metadata.keywords, event.metadata.level), (0x11, 4));
        assert_eq!(format!("{:?}", event.labels()), r#"[("k", Text("v")), ("n", Int(-2))]"#);
        assert_eq!((event.activity_id(), event.name()), (None, "Name"));
        let since = event.time().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
        // The clock of the test streams begins at tick 1,000, in 2026.
        assert_eq!(since.as_nanos(), 1_795_231_379_007_000_000 + 1_000_000_000);
        return;
    }
    panic!("no event");
}

#[test]
fn a_field_is_found_by_its_name() {
    let fields = [v5("a", code(9)), v5("b", code(18))];
    let stream = stream(&fields, &Bytes::new().u32(5).text("x").0);
    let mut reader = FileReader::new(&*stream);
    while let Some(item) = reader.next_item().unwrap() {
        let Item::Event(event) = item else { continue };
        let fields = event.fields();
        assert_eq!(
            fields.get("b").and_then(|value| value.as_text()).map(|text| text.to_string()),
            Some("x".into())
        );
        assert_eq!((fields.get("a"), fields.get("c")), (Some(Value::Int(5)), None));
        return;
    }
    panic!("no event");
}
