//! Recordings that try to use up memory or time, read in a process with little memory.

use std::io::{Read, Write};

use anyhow::{Result, ensure};
use netcore_profiler::wire::{self, DefStatus, MethodDef, Payload as _, Text, Texts, event_id};

use crate::it::suite::Suite;
use crate::it::support::Gcwatch;

/// The address space of `gcwatch report`: threads reserve some that they never use.
const MAX_KIB: u64 = 768 << 10;

pub(crate) fn register(suite: &mut Suite) {
    suite.plain("hostile_recordings::names_forgotten_again_and_again", names);
    suite.plain("hostile_recordings::threads_that_all_hold_events", threads);
    suite.plain("hostile_recordings::thread_ids_taken_over_without_end", taken_over);
    suite.plain("hostile_recordings::a_file_that_grows_when_decompressed", bomb);
}

/// A stream under construction: header, trace object, then the blocks that are added.
struct Stream(Vec<u8>);

impl Stream {
    fn new(descriptions: &[(u32, &str, u32)]) -> Stream {
        let mut stream = Stream(b"Nettrace\x14\0\0\0!FastSerialization.1\x05\x05\x01".to_vec());
        stream.0.extend([4, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0]);
        stream.0.extend(b"Trace\x06");
        for part in [2026_i16, 11, 6, 21, 3, 22, 59, 7] {
            stream.0.extend(part.to_le_bytes());
        }
        stream.0.extend(0_i64.to_le_bytes());
        stream.0.extend(1_000_000_000_i64.to_le_bytes());
        for part in [8_u32, 42, 2, 0] {
            stream.0.extend(part.to_le_bytes());
        }
        stream.0.push(6);
        let mut records = header();
        for (id, provider, event) in descriptions {
            let mut record = id.to_le_bytes().to_vec();
            record.extend(provider.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
            record.extend(event.to_le_bytes());
            // No name, no keywords; version 0, level 4, no fields.
            record.extend([0; 2 + 8 + 4]);
            record.extend([4, 0, 0, 0, 0, 0, 0, 0]);
            records.extend([0x80, 0]);
            varint(&mut records, record.len() as u64);
            records.extend(record);
        }
        stream.block("MetadataBlock", &records);
        stream
    }

    fn block(&mut self, name: &str, content: &[u8]) {
        self.0.extend([5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0]);
        self.0.extend((name.len() as u32).to_le_bytes());
        self.0.extend(name.as_bytes());
        self.0.push(6);
        self.0.extend((content.len() as u32).to_le_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self.0.extend(content);
        self.0.push(6);
    }

    fn events(&mut self, events: impl Iterator<Item = Event>) {
        let mut block = header();
        let (mut sequence, mut at) = (0_u32, 0_u64);
        for event in events {
            block.push(0x87 | u8::from(event.sorted) << 6);
            varint(&mut block, event.metadata.into());
            varint(&mut block, event.sequence.wrapping_sub(sequence).wrapping_sub(1).into());
            varint(&mut block, event.thread);
            varint(&mut block, 0);
            varint(&mut block, event.thread);
            varint(&mut block, event.at - at);
            varint(&mut block, event.payload.len() as u64);
            block.extend(event.payload);
            (sequence, at) = (event.sequence, event.at);
            if block.len() > 60 << 10 {
                self.block("EventBlock", &std::mem::replace(&mut block, header()));
                (sequence, at) = (0, 0);
            }
        }
        self.block("EventBlock", &block);
    }

    fn end(mut self) -> Vec<u8> {
        self.0.push(1);
        self.0
    }
}

#[derive(Default)]
struct Event {
    metadata: u32,
    thread: u64,
    sequence: u32,
    at: u64,
    sorted: bool,
    payload: Vec<u8>,
}

/// The header of a block with compressed event headers.
fn header() -> Vec<u8> {
    let mut header = vec![20, 0, 1, 0];
    header.resize(20, 0);
    header
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reports on it with little memory, plain and compressed; the deadline of every test applies.
fn report(bytes: &[u8]) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let plain = dir.path().join("hostile.nettrace");
    std::fs::write(&plain, bytes)?;
    let packed = dir.path().join("hostile.nettrace.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes)?;
    std::fs::write(&packed, encoder.finish()?)?;
    for file in [plain, packed] {
        let ended = Gcwatch::within(MAX_KIB).args("report --format json").arg(&file).output()?;
        ensure!([0, 12].contains(&ended.code), "{}: {} {}", file.display(), ended.code, ended.stderr);
    }
    Ok(())
}

fn names() -> Result<()> {
    let of = |id| (id, wire::PROVIDER_NAME, id);
    let mut stream = Stream::new(&[of(event_id::METHOD_DEF), of(event_id::GC_TOTALS), of(event_id::FORGET)]);
    let name: Vec<u16> = "AMethodOfThisName".encode_utf16().collect();
    let method = |token: u32| -> Result<(u32, Vec<u8>)> {
        let def = MethodDef {
            module_id: 1,
            token,
            status: DefStatus::OK,
            type_token: 2,
            name: Text::new(&name),
            is_async: false,
            params: Texts::new(&[]),
        };
        let mut payload = vec![0; 200];
        let used = def.encode(&mut payload)?;
        payload.truncate(used);
        Ok((event_id::METHOD_DEF, payload))
    };
    let mut all = (0..20_000).map(method).collect::<Result<Vec<_>>>()?;
    for _ in 0..5_000 {
        // Totals of 0 for collection 0.
        all.push((event_id::GC_TOTALS, vec![0; 700]));
        all.push((event_id::FORGET, Vec::new()));
        all.push(method(7)?);
    }
    stream.events((1..).zip(all).map(|(sequence, (metadata, payload))| Event {
        metadata,
        thread: 1,
        sequence,
        at: sequence.into(),
        sorted: true,
        payload,
    }));
    report(&stream.end())
}

fn threads() -> Result<()> {
    let mut stream = Stream::new(&[(1, "P", 1)]);
    // Four times as many threads as the reader remembers, none of which can be forgotten before the end.
    stream.events((1..300_000).map(|n| Event {
        metadata: 1,
        thread: n,
        sequence: 1,
        at: n,
        ..Event::default()
    }));
    report(&stream.end())
}

fn taken_over() -> Result<()> {
    let mut stream = Stream::new(&[(1, "P", 1)]);
    // Two threads use each id, one after the other.
    stream.events((0..400_000_u32).map(|n| Event {
        metadata: 1,
        thread: u64::from(n / 2 % 50_000),
        sequence: if n % 2 == 0 { 9 } else { 1 },
        at: n.into(),
        sorted: true,
        ..Event::default()
    }));
    let mut point = 1_000_000_u64.to_le_bytes().to_vec();
    point.extend(100_000_u32.to_le_bytes());
    for n in 0..100_000_u64 {
        point.extend((n / 2).to_le_bytes());
        point.extend(9_u32.to_le_bytes());
    }
    stream.block("SPBlock", &point);
    report(&stream.end())
}

fn bomb() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("bomb.nettrace.gz");
    let mut head = Stream::new(&[]).0;
    head.extend([5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0]);
    // A block of an unknown kind, of 4 GiB.
    head.extend(b"Many\x06\xff\xff\xff\xff");
    let rest = std::io::repeat(0).take(400 << 20);
    let mut bytes = Vec::new();
    flate2::read::GzEncoder::new(head.chain(rest), flate2::Compression::best()).read_to_end(&mut bytes)?;
    std::fs::write(&path, bytes)?;
    let ended = Gcwatch::within(MAX_KIB).arg("report").arg(&path).output()?;
    let said = format!("{}{}", ended.stderr, String::from_utf8_lossy(&ended.stdout));
    ensure!(said.contains("more than 256 times"), "{}: {said}", ended.code);
    Ok(())
}
