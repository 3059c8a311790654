//! Graphs of other tools: a `.gcdump` file or the heap snapshot in a `.nettrace` recording is read as a graph, and a graph is
//! written as `.gcdump`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek};
use std::path::Path;

use dotnet_heap_graph::exchange::{self, gcdump, snapshot};
use dotnet_heap_graph::format::{FrameBuffer, FrameKind, GraphWriter, Reader, Writer};
use dotnet_heap_graph::{Error, Graph, Limits};

use crate::command::stderr::say;
use crate::exit::{Code, Failure};
use crate::watch::graph::{free_bytes, new_file, not_written};

/// So many bytes of a file show what it is.
const HEAD_BYTES: u64 = 64;

/// A reader of the file, whichever kind it is.
pub(super) fn reader(mut file: File, name: &str) -> Result<Reader, Failure> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(|e| unreadable(name, &e))?;
    file.rewind().map_err(|e| unreadable(name, &e))?;
    let has = |text: &[u8]| head.windows(text.len()).any(|window| window == text);
    if head.starts_with(b"Nettrace") {
        return of_recording(file, name);
    }
    if has(b"!FastSerialization.1") {
        let mut writer = temporary(name)?;
        gcdump::read(BufReader::new(file), &mut writer).map_err(|e| unreadable(name, &e))?;
        return finished(writer, name);
    }
    Reader::new(file).map_err(|e| unreadable(name, &e))
}

fn of_recording(file: File, name: &str) -> Result<Reader, Failure> {
    let mut writer = temporary(name)?;
    let read = snapshot::read(BufReader::new(file), 0, &snapshot::type_name, &mut writer);
    let (taken, _) = read.map_err(|e| {
        unreadable(name, &e).remedy("record one with dotnet-gcdump, or the keywords 0x1980001 at level 5")
    })?;
    if !taken.is_whole() {
        let lost = taken.lost_events;
        say(&format!(
            "gcwatch: the recording has lost {lost} events, so objects, references or names are missing; record it again, \
             or take a graph with gcwatch graph"
        ));
    }
    if taken.snapshots > 1 {
        say(&format!("gcwatch: the recording has {} heap snapshots; this is the first", taken.snapshots));
    }
    finished(writer, name)
}

fn temporary(name: &str) -> Result<GraphWriter<BufWriter<File>>, Failure> {
    let file = tempfile::tempfile().map_err(|e| unreadable(name, &e))?;
    GraphWriter::new(BufWriter::new(file)).map_err(|e| unreadable(name, &e))
}

fn finished(writer: GraphWriter<BufWriter<File>>, name: &str) -> Result<Reader, Failure> {
    let file = writer.finish().map_err(|e| unreadable(name, &e))?;
    let file = file.into_inner().map_err(|e| unreadable(name, e.error()))?;
    Reader::new(file).map_err(|e| unreadable(name, &e))
}

pub(super) fn unreadable(name: &str, e: &dyn std::fmt::Display) -> Failure {
    Failure::new(Code::BAD_INPUT, format!("cannot read {name}: {e}"))
        .remedy("give a file that gcwatch graph -o or dotnet-gcdump has written")
}

/// Loads a graph, if there is memory for it.
pub(super) fn load(reader: Reader) -> Result<Graph, Error> {
    let mut limits = Limits::default();
    limits.max_memory_bytes = free_bytes().unwrap_or(u64::MAX);
    Graph::load(reader, limits)
}

/// Why a graph cannot be loaded.
pub(super) fn not_loaded(name: &str, e: &Error) -> Failure {
    let Error::TooLarge { objects, references } = e else { return unreadable(name, e) };
    let what = format!(
        "there is too little memory to read {name}: it has {objects} objects with {references} references"
    );
    Failure::new(Code::BAD_INPUT, what).remedy(
        "read it where there is more: it needs some 40 bytes for each object and 8 for each reference",
    )
}

/// Writes a graph to the file of `--output`: as `.gcdump`, if that is how its name ends.
pub(super) fn write(reader: &Reader, path: &Path) -> Result<(), Failure> {
    let failed = |e: &dyn std::fmt::Display| not_written(Some(path), e);
    let new = new_file(path)?;
    let output = BufWriter::new(new.file().map_err(|e| failed(&e))?);
    if is_gcdump(path) {
        let description = gcdump::Description::default();
        gcdump::write(reader, &description, output).map_err(|e| failed(&e))?.0
    } else {
        copy(reader, output).map_err(|e| failed(&e))?
    }
    .into_inner()
    .map_err(|e| failed(e.error()))?;
    new.keep().map_err(|e| failed(&e))
}

/// Whether a file's name says that it is of dotnet-gcdump.
pub(super) fn is_gcdump(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gcdump")
}

fn copy(reader: &Reader, output: BufWriter<File>) -> exchange::Result<BufWriter<File>> {
    let mut writer = Writer::new(output).map_err(dotnet_heap_graph::Error::from)?;
    let mut buffer = FrameBuffer::default();
    for frame in reader.frames().iter().filter(|frame| frame.kind() != FrameKind::END) {
        writer.write_frame(frame.kind(), reader.payload(frame, &mut buffer)?)?;
    }
    let no_end = || io::Error::other("the graph is not whole");
    let end = *reader.end().ok_or_else(|| dotnet_heap_graph::Error::from(no_end()))?;
    Ok(writer.finish(end)?)
}
