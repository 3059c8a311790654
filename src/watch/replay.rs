//! Reads recordings. In a file, large payloads are passed over, and read only when the turn of their events comes. So
//! the events that wait are small, however much the runtime wrote between two flushes.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use dotnet_diagnostics_client::nettrace::raw::{Deferred, RawReader};
use dotnet_diagnostics_client::nettrace::{Limits, Metadata, Reader};
use netcore_profiler::wire;

use super::decoder::{Decoder, StreamItem};
use crate::gc::events;
use crate::gc::fold::Fold;
use crate::gc::stream_info::StreamInfo;
use crate::sys;

/// Bytes to read after a payload was passed over: the next header, which the next large payload may follow.
const MIN_READ_BYTES: usize = 1 << 10;
/// Bytes to read if nothing is passed over. They stay in the cache of one processor.
const MAX_READ_BYTES: usize = 256 << 10;

/// A recording, which is read from front to back.
pub(crate) struct Source {
    from: From,
    buffer: Vec<u8>,
    /// How many bytes the next read asks for.
    size: usize,
}

enum From {
    File { file: Arc<File>, at: u64, len: u64 },
    Stream { stream: Box<dyn Read + Send>, held: usize },
}

impl Source {
    /// A file that can be read at any offset.
    pub(crate) fn file(file: File, len: u64) -> Source {
        Source::new(From::File { file: Arc::new(file), at: 0, len })
    }

    /// A stream that can be read only once. `held`: how many bytes of its events may wait for their turn.
    pub(crate) fn stream(stream: Box<dyn Read + Send>, held: usize) -> Source {
        Source::new(From::Stream { stream, held })
    }

    /// The limits of the reader's memory.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if let From::Stream { held, .. } = &self.from {
            limits.max_held_bytes = *held;
        }
        limits
    }

    fn new(from: From) -> Source {
        Source { from, buffer: Vec::new(), size: MIN_READ_BYTES }
    }

    /// The length of a file. `None`: a stream.
    pub(crate) fn len(&self) -> Option<u64> {
        match &self.from {
            From::File { len, .. } => Some(*len),
            From::Stream { .. } => None,
        }
    }

    /// Reads the next bytes. There are none at the end.
    pub(crate) fn next(&mut self) -> io::Result<&[u8]> {
        if self.buffer.len() < self.size {
            self.buffer.resize(self.size, 0);
        }
        let buffer = &mut self.buffer[..self.size];
        self.size = (self.size * 2).min(MAX_READ_BYTES);
        let n = match &mut self.from {
            From::File { file, at, .. } => {
                let n = retry(|| sys::read_at(file, buffer, *at))?;
                *at += n as u64;
                n
            }
            From::Stream { stream, .. } => retry(|| stream.read(buffer))?,
        };
        Ok(&self.buffer[..n])
    }

    /// Passes over up to this many bytes of a file. Returns how many it passed over.
    pub(crate) fn pass_over(&mut self, bytes: u64) -> u64 {
        let From::File { at, len, .. } = &mut self.from else { return 0 };
        let passed = bytes.min(len.saturating_sub(*at));
        *at += passed;
        if passed > 0 {
            self.size = MIN_READ_BYTES;
        }
        passed
    }

    /// A reader for payloads that were passed over. `None`: a stream, which passes over none.
    pub(crate) fn payloads(&self) -> Option<Payloads> {
        match &self.from {
            From::File { file, .. } => Some(Payloads { file: Arc::clone(file) }),
            From::Stream { .. } => None,
        }
    }
}

/// The payloads in a file.
pub(crate) struct Payloads {
    file: Arc<File>,
}

impl Payloads {
    /// Reads a payload that was passed over.
    pub(crate) fn read(&self, place: Deferred, buffer: &mut [u8]) -> io::Result<()> {
        let mut there = 0;
        while there < buffer.len() {
            match retry(|| sys::read_at(&self.file, &mut buffer[there..], place.offset + there as u64))? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => there += n,
            }
        }
        Ok(())
    }
}

fn retry(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Reads a whole recording for its stream info, part of which comes at its end. Damage ends a file.
pub(crate) fn look_ahead(files: impl IntoIterator<Item = Source>) -> StreamInfo {
    let mut fold = Fold::new(false);
    for source in files {
        look_into(source, &mut fold);
    }
    fold.stream_info
}

fn look_into(mut source: Source, fold: &mut Fold) {
    let mut reader = Reader::with_limits(source.limits());
    reader.defer(bulky);
    let mut decoder = Decoder::new(reader);
    loop {
        let passed = source.pass_over(decoder.reader.skippable_bytes());
        decoder.reader.skip(passed);
        match source.next() {
            Ok([]) | Err(_) => return,
            Ok(bytes) => decoder.reader.feed(bytes),
        }
        while let Some(item) = decoder.next() {
            match item {
                StreamItem::Event { stream_event, .. } => fold.event_without_blocks(stream_event),
                StreamItem::Damaged(e) if e.is_fatal() => return,
                _ => {}
            }
            while fold.take().is_some() {}
        }
    }
}

/// Whether events are those of blocks or roots, which make up nearly all of a large recording.
pub(super) fn bulky(metadata: &Metadata) -> bool {
    use wire::event_id::{MOVED, ROOTS, STATICS, SURVIVING, TYPED_ROOTS};
    match &*metadata.provider {
        events::RUNTIME_PROVIDER => events::tells_blocks(metadata.event_id),
        wire::PROVIDER_NAME => [MOVED, SURVIVING, ROOTS, TYPED_ROOTS, STATICS].contains(&metadata.event_id),
        _ => false,
    }
}
