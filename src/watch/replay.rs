//! A recording being read. Of a file, the large payloads are passed over, and read when their events' turn comes: what
//! waits in between is small, however much was recorded between two flushes of the runtime.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use dotnet_diagnostics_client::nettrace::{Deferred, Limits, Metadata, Reader};
use netcore_profiler::wire;

use super::decoder::{Decoder, StreamItem};
use crate::gc::events;
use crate::gc::fold::Fold;
use crate::gc::stream_info::StreamInfo;
use crate::sys;

/// Read after something was passed over: the next header, which may have the next large payload behind it.
const LEAST_BYTES: usize = 1 << 10;
/// Read where nothing is passed over. It stays in a processor's own cache.
const MOST_BYTES: usize = 256 << 10;

/// A recording, from front to back.
pub(crate) struct Source {
    from: From,
    buffer: Vec<u8>,
    /// How much is read next.
    size: usize,
}

enum From {
    File { file: Arc<File>, at: u64, len: u64 },
    Stream { stream: Box<dyn Read + Send>, held: usize },
}

impl Source {
    /// A file that can be read at any place.
    pub(crate) fn file(file: File, len: u64) -> Source {
        Source::new(From::File { file: Arc::new(file), at: 0, len })
    }

    /// What comes only once; `held`: so many bytes of it may wait for their turn.
    pub(crate) fn stream(stream: Box<dyn Read + Send>, held: usize) -> Source {
        Source::new(From::Stream { stream, held })
    }

    /// What may wait of it in memory.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if let From::Stream { held, .. } = &self.from {
            limits.max_held_bytes = *held;
        }
        limits
    }

    fn new(from: From) -> Source {
        Source { from, buffer: Vec::new(), size: LEAST_BYTES }
    }

    /// Bytes of a file; unknown of what comes only once.
    pub(crate) fn len(&self) -> Option<u64> {
        match &self.from {
            From::File { len, .. } => Some(*len),
            From::Stream { .. } => None,
        }
    }

    /// The next bytes; none at the end.
    pub(crate) fn next(&mut self) -> io::Result<&[u8]> {
        if self.buffer.len() < self.size {
            self.buffer.resize(self.size, 0);
        }
        let buffer = &mut self.buffer[..self.size];
        self.size = (self.size * 2).min(MOST_BYTES);
        let n = match &mut self.from {
            From::File { file, at, .. } => {
                let n = again(|| sys::read_at(file, buffer, *at))?;
                *at += n as u64;
                n
            }
            From::Stream { stream, .. } => again(|| stream.read(buffer))?,
        };
        Ok(&self.buffer[..n])
    }

    /// Passes over up to so many bytes, if that is possible. How many it were.
    pub(crate) fn pass_over(&mut self, bytes: u64) -> u64 {
        let From::File { at, len, .. } = &mut self.from else { return 0 };
        let passed = bytes.min(len.saturating_sub(*at));
        *at += passed;
        if passed > 0 {
            self.size = LEAST_BYTES;
        }
        passed
    }

    /// Where payloads that were passed over can be read.
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
    /// One that was passed over.
    pub(crate) fn read(&self, place: Deferred, buffer: &mut [u8]) -> io::Result<()> {
        let mut there = 0;
        while there < buffer.len() {
            match again(|| sys::read_at(&self.file, &mut buffer[there..], place.offset + there as u64))? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => there += n,
            }
        }
        Ok(())
    }
}

fn again(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Reads a whole recording for what it tells of its target, which comes at its end. Damage ends a file.
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

/// Events of blocks and roots, which make up nearly all of a large recording.
pub(super) fn bulky(metadata: &Metadata) -> bool {
    use wire::event_id::{MOVED, ROOTS, STATICS, SURVIVING, TYPED_ROOTS};
    match &*metadata.provider {
        events::RUNTIME_PROVIDER => events::tells_blocks(metadata.event_id),
        wire::PROVIDER_NAME => [MOVED, SURVIVING, ROOTS, TYPED_ROOTS, STATICS].contains(&metadata.event_id),
        _ => false,
    }
}
