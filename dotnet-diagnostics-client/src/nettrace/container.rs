//! Splits a stream into its objects, in whatever chunks it comes. The content of blocks is copied once, into buffers
//! that are reused.

mod advance;

use std::collections::VecDeque;
use std::ops::Range;

use super::blocks::{Blocks, Slot};
use super::error::{BlockKind, Error};
use super::limits::Limits;
use super::object::ObjectSpan;
use super::scanner::Scanner;
use super::trace::TraceInfo;

const MAGIC: &[u8; 8] = b"Nettrace";
/// The name of the serializer after its length. Version 6 has zeros in place of the length.
const SERIALIZER: &[u8; 24] = b"\x14\0\0\0!FastSerialization.1";

/// An object of a stream.
#[derive(Debug)]
pub(super) enum Object {
    Trace(TraceInfo),
    /// `whole` is false for a last block that is cut off.
    Block {
        kind: BlockKind,
        slot: Slot,
        whole: bool,
    },
    Failed(Error),
    End {
        clean: bool,
    },
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Magic,
    SerializerLength,
    Serializer,
    Version6,
    Tag,
    Begin,
    /// With the version that a reader must support.
    Name(u32),
    TraceV4,
    Size(BlockKind),
    /// With the size of the content that follows.
    Padding(BlockKind, u32),
    /// Content that is kept.
    Content(BlockKind),
    /// So many bytes of content that is not kept, because its kind is unknown.
    Skip(u64),
    /// Complete content. It is handed on together with its end tag, because a file can be cut after that.
    ContentEndTag(BlockKind),
    EndTag,
    Header6,
    /// After damage. What follows is counted and skipped.
    Damaged,
    /// After the end tag.
    Ended,
}

#[derive(Debug, Default)]
pub(super) struct Container {
    state: State,
    /// The incomplete header or tag.
    head: Vec<u8>,
    /// The incomplete content of a block.
    content: Vec<u8>,
    content_size: usize,
    /// Finds the payloads of the block to defer.
    scanner: Scanner,
    /// Offset of the next byte in the stream.
    offset: u64,
    content_offset: u64,
    /// Offset after the last complete object.
    pub(super) boundary: u64,
    /// Offset up to which everything was handed on or counted as unparsed.
    accounted: u64,
    has_trace: bool,
    pub(super) version6: bool,
    limits: Limits,
    objects: VecDeque<Object>,
    /// Memory in bytes of the blocks that wait to be read.
    pub(super) queued_bytes: usize,
    pub(super) unparsed_bytes: u64,
    /// Kind and padding of the incomplete object.
    kind: Option<BlockKind>,
    padding: Option<Range<u64>>,
    /// The objects that the last bytes completed.
    pub(super) spans: Vec<ObjectSpan>,
}

impl Container {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The next object.
    pub(super) fn pop(&mut self, blocks: &Blocks) -> Option<Object> {
        let object = self.objects.pop_front()?;
        if let Object::Block { slot, .. } = object {
            self.queued_bytes -= blocks[slot].size();
        }
        Some(object)
    }

    /// Defers large payloads of events with this definition from now on.
    pub(super) fn defer(&mut self, metadata_id: u32) {
        self.scanner.defer(metadata_id);
    }

    /// How many of the next bytes can be skipped.
    pub(super) fn skippable_bytes(&self) -> u64 {
        match &self.state {
            State::Skip(left) => *left,
            State::Content(_) => self.scanner.to_come as u64,
            _ => 0,
        }
    }

    /// Goes on as if so many of the skippable bytes had been fed.
    pub(super) fn skip(&mut self, bytes: u64, blocks: &mut Blocks) {
        self.spans.clear();
        let bytes = bytes.min(self.skippable_bytes());
        match &mut self.state {
            State::Skip(left) => *left -= bytes,
            _ => self.scanner.skip(bytes as usize),
        }
        self.offset += bytes;
        while self.is_complete() {
            self.advance(blocks);
        }
    }

    /// Bytes of the incomplete block that have come, including those of deferred payloads.
    fn content_come(&self) -> usize {
        self.content.len() + self.scanner.payloads.bytes
    }

    /// Whether the bytes so far end within an object.
    pub(super) fn within_object(&self) -> bool {
        self.offset != self.boundary
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8], blocks: &mut Blocks) {
        self.spans.clear();
        while !bytes.is_empty() {
            let used = match &mut self.state {
                State::Damaged => {
                    self.unparsed_bytes += bytes.len() as u64;
                    bytes.len()
                }
                State::Ended => bytes.len(),
                State::Skip(left) => {
                    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= used as u64;
                    used
                }
                State::Content(_) if self.scanner.to_come > 0 => {
                    let used = self.scanner.to_come.min(bytes.len());
                    self.scanner.skip(used);
                    used
                }
                State::Content(_) => {
                    let used = (self.content_size - self.content_come()).min(bytes.len());
                    self.content.extend_from_slice(&bytes[..used]);
                    self.scanner.scan(&mut self.content, self.content_size);
                    used
                }
                _ => {
                    let used = self.wanted().saturating_sub(self.head.len()).min(bytes.len());
                    self.head.extend_from_slice(&bytes[..used]);
                    used
                }
            };
            self.offset += used as u64;
            bytes = &bytes[used..];
            // A state can need no bytes at all, for an empty block or without padding.
            while self.is_complete() {
                self.advance(blocks);
            }
        }
    }

    /// No more bytes will come.
    pub(super) fn finish(&mut self, blocks: &mut Blocks) {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => return,
            State::Damaged => self.accounted = self.offset,
            State::Magic if self.offset == 0 => self.objects.push_back(Object::Failed(Error::Empty)),
            State::Magic if MAGIC.starts_with(&self.head) => {}
            State::Magic => self.objects.push_back(Object::Failed(Error::NotNettrace)),
            State::Content(kind) if kind != BlockKind::TRACE => self.push_block(kind, false, blocks),
            State::ContentEndTag(kind) => self.push_block(kind, true, blocks),
            _ => {}
        }
        self.unparsed_bytes += self.offset - self.accounted;
        self.objects.push_back(Object::End { clean: false });
    }

    /// As [`finish`](Self::finish), as if the bytes ended with the last complete object.
    pub(super) fn finish_at_boundary(&mut self, blocks: &mut Blocks) {
        if let State::Content(_) | State::ContentEndTag(_) = self.state {
            self.state = State::Skip(0);
        }
        self.finish(blocks);
    }

    /// Length of the header or tag of this state.
    fn wanted(&self) -> usize {
        match &self.state {
            State::Magic => MAGIC.len(),
            State::SerializerLength | State::Size(_) | State::Header6 => 4,
            State::Serializer => SERIALIZER.len() - 4,
            State::Version6 => 8,
            State::Tag | State::ContentEndTag(_) | State::EndTag => 1,
            State::Begin => 14,
            State::Name(_) => self.content_size + 1,
            State::TraceV4 => TraceInfo::V4_BYTES,
            State::Padding(..) => {
                (self.offset.wrapping_sub(self.head.len() as u64).wrapping_neg() % 4) as usize
            }
            State::Content(_) | State::Skip(_) | State::Damaged | State::Ended => 0,
        }
    }

    fn is_complete(&self) -> bool {
        match &self.state {
            State::Damaged | State::Ended => false,
            State::Skip(left) => *left == 0,
            State::Content(_) => self.content_come() == self.content_size,
            _ => self.head.len() >= self.wanted(),
        }
    }
}
