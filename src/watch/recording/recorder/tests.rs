//! Tests that check the files of a recording after every write.

use std::io;

use dotnet_diagnostics_client::nettrace::raw::RawReader;

use super::*;

const TRACE: &[u8] = b"\x05\x05\x01\x04\0\0\0\x04\0\0\0\x05\0\0\0Trace\x06";

/// Header and trace object of a stream.
fn head() -> Vec<u8> {
    let mut stream = b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec();
    stream.extend(TRACE);
    for part in [2026_i16, 11, 6, 21, 3, 22, 59, 7] {
        stream.extend(part.to_le_bytes());
    }
    stream.extend([0; 8]);
    stream.extend(1_000_000_000_i64.to_le_bytes());
    for part in [8_u32, 42, 2, 0] {
        stream.extend(part.to_le_bytes());
    }
    stream.push(6);
    stream
}

fn block(stream: &mut Vec<u8>, name: &str, content: &[u8]) {
    stream.extend([5, 5, 1, 2, 0, 0, 0, 2, 0, 0, 0]);
    stream.extend((name.len() as u32).to_le_bytes());
    stream.extend(name.as_bytes());
    stream.push(6);
    stream.extend((content.len() as u32).to_le_bytes());
    stream.resize(stream.len().next_multiple_of(4), 0);
    stream.extend(content);
    stream.push(6);
}

fn point(stream: &mut Vec<u8>, at: i64) {
    block(stream, "SPBlock", &[&at.to_le_bytes()[..], &[0; 4]].concat());
}

/// Checks that a file is a complete stream, and returns the times of its sequence points.
fn times(path: &Path) -> Vec<i64> {
    use dotnet_diagnostics_client::nettrace::{Item, Reader};
    let mut reader = Reader::new();
    reader.feed(&fs::read(path).unwrap());
    reader.finish();
    let mut times = Vec::new();
    loop {
        match reader.next_item().unwrap() {
            Some(Item::SequencePoint { timestamp }) => times.push(timestamp),
            Some(Item::End(end)) => {
                assert!(end.clean, "{} has no end", path.display());
                return times;
            }
            Some(_) => {}
            None => panic!("the reader always gives an end"),
        }
    }
}

/// Records a stream in chunks, and checks every file after each chunk.
fn record(dir: &Path, stream: &[u8], chunk: usize, rotation: Option<Rotation>) -> io::Result<Vec<PathBuf>> {
    let plan = super::super::Plan::new(&dir.join("it.nettrace"), rotation, false, None).unwrap();
    let mut recorder = plan.open(Some(42), None).unwrap();
    let mut reader = dotnet_diagnostics_client::nettrace::Reader::new();
    let files = || -> io::Result<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        files.sort();
        Ok(files)
    };
    for bytes in stream.chunks(chunk) {
        reader.feed(bytes);
        while let Ok(Some(_)) = reader.next_item() {}
        recorder.write(bytes, reader.boundary(), reader.objects())?;
        for file in files()?.iter().filter(|file| fs::metadata(file).is_ok_and(|m| m.len() > 0)) {
            times(file);
        }
    }
    files()
}

#[test]
fn a_file_is_complete_after_every_write() -> io::Result<()> {
    let mut stream = head();
    for at in 1..5 {
        point(&mut stream, at);
    }
    stream.push(1);
    for chunk in [1, 3, 50, stream.len()] {
        let dir = tempfile::tempdir()?;
        let files = record(dir.path(), &stream, chunk, None)?;
        assert_eq!(files, [dir.path().join("it.nettrace")]);
        assert_eq!(fs::read(&files[0])?, stream, "byte for byte");
    }
    Ok(())
}

#[test]
fn files_overlap_at_their_sequence_points_and_the_oldest_are_removed() -> io::Result<()> {
    let mut stream = head();
    block(&mut stream, "MetadataBlock", b"\x14\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    for at in 1..=5 {
        block(&mut stream, "Unknown", &[7; 21]);
        point(&mut stream, at);
    }
    stream.push(1);
    for chunk in [1, 7, stream.len()] {
        let dir = tempfile::tempdir()?;
        let all = record(dir.path(), &stream, chunk, Some(Rotation { bytes: 1, files: None, keep: None }))?;
        let seen: Vec<_> = all.iter().map(|file| times(file)).collect();
        // Nothing follows the last sequence point, so no file begins there.
        assert_eq!(seen, [vec![1], vec![1, 2], vec![2, 3], vec![3, 4], vec![4, 5]]);
        let dir = tempfile::tempdir()?;
        let last =
            record(dir.path(), &stream, chunk, Some(Rotation { bytes: 1, files: Some(2), keep: None }))?;
        let name = |n| dir.path().join(format!("it.{n:03}.nettrace"));
        assert_eq!(last, [name(4), name(5)]);
        let dir = tempfile::tempdir()?;
        let half = Rotation { bytes: stream.len() as u64 / 2, files: Some(2), keep: None };
        let larger = record(dir.path(), &stream, chunk, Some(half))?;
        let seen: Vec<_> = larger.iter().map(|file| times(file)).collect();
        assert_eq!(seen, [vec![2, 3, 4], vec![4, 5]], "the file with [1, 2] was removed");
        assert!(fs::metadata(&larger[0])?.len() >= half.bytes, "a file ends only when it is full");
    }
    Ok(())
}

/// Payloads of the events that a file repeats.
fn repeated(path: &Path) -> String {
    use dotnet_diagnostics_client::nettrace::{Item, Reader};
    let mut reader = Reader::new();
    reader.feed(&fs::read(path).unwrap());
    let mut text = String::new();
    while let Some(item) = reader.next_item().unwrap() {
        if let Item::Event(event) = item {
            assert_eq!((event.capture_thread_id, event.thread_id), (0, 7));
            text.push_str(std::str::from_utf8(event.payload).unwrap());
        }
    }
    assert_eq!(reader.lost_events(), 0);
    text
}

#[test]
fn each_file_repeats_what_was_in_force_at_its_start() -> io::Result<()> {
    let mut stream = head();
    let mut described = b"\x14\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    for id in 1..=2_u32 {
        let record = [&id.to_le_bytes()[..], b"P\0\0\0", &[7, 0, 0, 0, 0, 0], &[0; 20]].concat();
        described.extend([0x80, 0, record.len() as u8]);
        described.extend(record);
    }
    block(&mut stream, "MetadataBlock", &described);
    // The events before each sequence point. All of them come before the first write.
    let events_before: [&[(ReplayableState, &[u8])]; 4] = [
        &[
            (ReplayableState::Hello, b"B"),
            (ReplayableState::Definition, b"a"),
            (ReplayableState::AllStatics, b"T"),
            (ReplayableState::StaticsChange, b"c"),
        ],
        &[(ReplayableState::Definition, b"b"), (ReplayableState::StaticsChange, b"d")],
        &[
            (ReplayableState::Forget, b"!"),
            (ReplayableState::Definition, b"e"),
            (ReplayableState::AllStatics, b"U"),
            (ReplayableState::Latest, b"S"),
        ],
        &[(ReplayableState::Hello, b"C"), (ReplayableState::Definition, b"f")],
    ];
    for at in 1..=4 {
        point(&mut stream, at);
    }
    block(&mut stream, "Unknown", b"so that the last file begins");
    stream.push(1);
    let dir = tempfile::tempdir()?;
    let rotation = Some(Rotation { bytes: 1, files: None, keep: None });
    let plan = super::super::Plan::new(&dir.path().join("it.nettrace"), rotation, false, None).unwrap();
    let mut recorder = plan.open(None, None).unwrap();
    let mut at = 0;
    for events in events_before {
        for (state, payload) in events {
            at += 1;
            let id = if *state == ReplayableState::Latest { 2 } else { 1 };
            recorder.replayable_state(*state, RepeatedEvent::new(id, 7, at, payload));
        }
        recorder.sequence_point(0);
    }
    let mut reader = dotnet_diagnostics_client::nettrace::Reader::new();
    reader.feed(&stream);
    recorder.write(&stream, reader.boundary(), reader.objects())?;
    let text_of = |part: u32| repeated(&dir.path().join(format!("it.{part:03}.nettrace")));
    // All events were read before the files were written, so later files have the last hello and the last `Latest`.
    assert_eq!([text_of(1), text_of(2)], ["", "aTcSC"]);
    assert_eq!([text_of(3), text_of(4), text_of(5)], ["aTcbdSC", "eUSC", "SCf"]);
    Ok(())
}

#[test]
fn a_full_disk_is_an_error_and_adds_nothing() -> io::Result<()> {
    if !Path::new("/dev/full").exists() {
        return Ok(());
    }
    let mut stream = head();
    point(&mut stream, 1);
    let file = fs::OpenOptions::new().write(true).open("/dev/full")?;
    let mut part = Part::new("/dev/full".into(), file);
    assert_eq!(part.append(&stream).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(part.len(), 0);
    Ok(())
}

/// A rotation that writes a block and a sequence point at a time. Each point begins a file; point N is at N * 10 ns.
struct Points {
    stream: Vec<u8>,
    ends: Vec<usize>,
    written: usize,
    reader: dotnet_diagnostics_client::nettrace::Reader,
    recorder: Recorder,
}

impl Points {
    fn new(dir: &Path, rotation: Rotation, count: i64) -> Points {
        let (mut stream, mut ends) = (head(), vec![0]);
        for at in 1..=count {
            block(&mut stream, "Unknown", &[7; 21]);
            point(&mut stream, at);
            ends.push(stream.len());
        }
        let plan = super::super::Plan::new(&dir.join("it.nettrace"), Some(rotation), false, None).unwrap();
        let (reader, recorder) = (dotnet_diagnostics_client::nettrace::Reader::new(), plan.open(None, None));
        Points { stream, ends, written: 0, reader, recorder: recorder.unwrap() }
    }

    fn write_to(&mut self, last: usize) -> io::Result<()> {
        for n in self.written + 1..=last {
            let bytes = &self.stream[self.ends[n - 1]..self.ends[n]];
            self.reader.feed(bytes);
            while let Ok(Some(_)) = self.reader.next_item() {}
            self.recorder.sequence_point(n as u64 * 10);
            self.recorder.write(bytes, self.reader.boundary(), self.reader.objects())?;
        }
        self.written = last;
        Ok(())
    }
}

/// The files of a directory: the numbers of those that are kept, and of the others.
fn numbers(dir: &Path) -> io::Result<[Vec<u32>; 2]> {
    let mut numbers = [Vec::new(), Vec::new()];
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        assert!(!times(&path).is_empty(), "{name} can be read");
        let number = name.trim_end_matches(".nettrace").rsplit('.').next().and_then(|n| n.parse().ok());
        numbers[usize::from(!name.starts_with("kept-"))].push(number.unwrap_or(0));
    }
    numbers.iter_mut().for_each(|all| all.sort_unstable());
    Ok(numbers)
}

#[test]
fn files_around_a_collection_leave_the_rotation() -> io::Result<()> {
    let rotation = Rotation { bytes: 1, files: Some(3), keep: Some(2) };
    let dir = tempfile::tempdir()?;
    let mut points = Points::new(dir.path(), rotation, 40);
    points.write_to(5)?;
    // File 5 is being written; it begins at point 4. The collection is in file 4.
    points.recorder.keep("GC #7 met x", 35);
    points.recorder.keep("GC #8 met x", 45);
    let said = points.recorder.take_notices();
    let [said] = said.as_slice() else { panic!("{said:?}") };
    assert!(said.starts_with("GC #7 met x: keeping ") && said.matches("kept-").count() == 4, "{said}");
    assert_eq!(numbers(dir.path())?, [vec![3, 4], vec![5]], "the others are not complete");
    points.write_to(6)?;
    points.recorder.keep("GC #9 met x", 55);
    let said = points.recorder.take_notices().concat();
    assert!(
        [".005.", ".006.", ".007."].iter().all(|n| said.contains(n)) && !said.contains(".004."),
        "{said}"
    );
    points.write_to(30)?;
    assert_eq!(numbers(dir.path())?, [vec![3, 4, 5, 6, 7], vec![28, 29, 30]], "the disk stays bounded");
    for _ in 0..3 {
        points.recorder.keep("GC #10 met x", 295);
    }
    let said = points.recorder.take_notices();
    assert!(said.len() == 1 && said[0].contains("kept 2 times already"), "{said:?}");
    points.recorder.finish();
    assert_eq!(numbers(dir.path())?, [vec![3, 4, 5, 6, 7], vec![28, 29, 30]]);
    Ok(())
}

#[test]
fn the_last_file_is_kept_at_the_end_and_one_that_cannot_be_is_said() -> io::Result<()> {
    let rotation = Rotation { bytes: 1, files: None, keep: Some(1) };
    let dir = tempfile::tempdir()?;
    let mut points = Points::new(dir.path(), rotation, 9);
    points.write_to(3)?;
    fs::remove_file(dir.path().join("it.002.nettrace"))?;
    points.recorder.keep("GC #7 met x", 25);
    let said = points.recorder.take_notices();
    assert!(
        said.len() == 2 && said[0].contains("cannot keep") && said[0].contains("it.002.nettrace"),
        "{said:?}"
    );
    points.recorder.finish();
    assert_eq!(numbers(dir.path())?, [vec![3], vec![1]]);
    Ok(())
}
