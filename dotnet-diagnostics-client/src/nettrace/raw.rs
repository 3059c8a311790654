//! For programs that store a stream, cut it into files, or skip parts of it.
//!
//! [`RawReader`] says where the objects of a stream are and which bytes need not be read. [`EventBlock`] writes events.

use super::container::Container;
use super::metadata::Metadata;
use super::reader::{EndState, Reader};

pub use super::event::Deferred;
pub use super::event_block::{EventBlock, RepeatedEvent};
pub use super::object::ObjectSpan;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Reader {}
}

/// What a [`Reader`] knows about the bytes of its stream.
pub trait RawReader: sealed::Sealed {
    /// Defers the payloads of events whose definitions `which` chooses, if they have 4 KiB or more. Such an event comes
    /// with the first 16 bytes of its payload and with the [offset](super::Event::deferred) of the whole. A program that
    /// reads a file can read the payload there, and need not read the bytes twice, see
    /// [`skippable_bytes`](Self::skippable_bytes). This bounds the memory of events that wait for their turn.
    ///
    /// Payloads are not deferred in version 6, in blocks without compressed headers, and in bytes that are fed together
    /// with the definition. `which` is applied to definitions that come after this call.
    fn defer(&mut self, which: fn(&Metadata) -> bool);

    /// How many of the next bytes belong to deferred payloads and unknown blocks. They can be fed, or
    /// [skipped](Self::skip).
    fn skippable_bytes(&self) -> u64;

    /// Goes on as if the next `bytes` bytes had been fed, at most [`skippable_bytes`](Self::skippable_bytes).
    fn skip(&mut self, bytes: u64);

    /// As [`Reader::finish`], but without the events of a block that is cut off, as for a file that was cut at
    /// [`boundary`](Self::boundary).
    fn finish_at_boundary(&mut self);

    /// Whether the bytes so far end within an object, so that the rest of it must follow.
    fn within_object(&self) -> bool;

    /// Offset in bytes after the last complete object. A file that is cut here and ends with the byte 0x01 (in version
    /// 6, with four bytes 0) is a complete nettrace file.
    fn boundary(&self) -> u64;

    /// The objects that the last [`Reader::feed`] completed, in order. They are given as soon as their bytes have
    /// come, even if their events are still held.
    fn objects(&self) -> &[ObjectSpan];

    /// Continues with the next file of a recording that was cut at its sequence points. Call it after [`Item::End`](super::Item::End).
    /// Each file has its own header, trace object, metadata and end, and offsets count from the start of each file.
    ///
    /// The reader still knows the sequence numbers of the threads. So if a file is missing, its events come as
    /// [`Item::Lost`](super::Item::Lost) at the first sequence point of the next file.
    fn next_part(&mut self);
}

impl RawReader for Reader {
    fn defer(&mut self, which: fn(&Metadata) -> bool) {
        self.metadata.defer(which);
    }

    fn skippable_bytes(&self) -> u64 {
        self.container.skippable_bytes()
    }

    fn skip(&mut self, bytes: u64) {
        self.release = false;
        self.container.skip(bytes, &mut self.blocks);
    }

    fn finish_at_boundary(&mut self) {
        self.container.finish_at_boundary(&mut self.blocks);
    }

    fn within_object(&self) -> bool {
        self.container.within_object()
    }

    fn boundary(&self) -> u64 {
        self.container.boundary
    }

    fn objects(&self) -> &[ObjectSpan] {
        &self.container.spans
    }

    fn next_part(&mut self) {
        self.unparsed_bytes += self.container.unparsed_bytes;
        self.container = Container::new(self.limits.clone());
        self.end = EndState::NotReached;
    }
}
