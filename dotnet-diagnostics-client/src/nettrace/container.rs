//! Splits a stream into its objects, in whatever chunks it comes. The content of blocks is copied once, into buffers
//! that are reused.

use std::collections::VecDeque;
use std::ops::Range;

use super::blocks::{Blocks, Slot};
use super::bytes::Bytes;
use super::error::{BlockKind, Error};
use super::limits::Limits;
use super::object::ObjectSpan;
use super::scanner::Scanner;
use super::trace::TraceInfo;
use super::v6;

const MAGIC: &[u8; 8] = b"Nettrace";
/// The name of the serializer after its length. Version 6 has zeros in place of the length.
const SERIALIZER: &[u8; 24] = b"\x14\0\0\0!FastSerialization.1";
const TAG_NULL: u8 = 1;
const TAG_BEGIN_PRIVATE: u8 = 5;
const TAG_END: u8 = 6;
/// The names of types have at most 13 bytes today.
const MAX_NAME_BYTES: u32 = 255;
/// Versions that this reader supports.
const MAX_TRACE_VERSION: u32 = 5;
const MAX_BLOCK_VERSION: u32 = 2;
const NO_TRACE: &str = "the stream does not start with its trace object";
/// Memory reserved for a block before its bytes have come. The stated size may be wrong.
const RESERVE_BYTES: usize = 1 << 20;
/// The same for a block whose payloads may be deferred.
const RESERVE_SCANNED_BYTES: usize = 8 << 10;

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

#[derive(Debug)]
enum State {
    Magic,
    SerializerLength,
    Serializer,
    Version6,
    Tag,
    Begin,
    Name {
        min_reader: u32,
    },
    TraceV4,
    Size {
        kind: BlockKind,
    },
    Padding {
        kind: BlockKind,
        size: u32,
    },
    /// Content that is kept.
    Content {
        kind: BlockKind,
    },
    /// Content of an unknown kind, which is not kept.
    Skip {
        left: u64,
    },
    /// Complete content. It is handed on together with its end tag, because a file can be cut after that.
    ContentEndTag {
        kind: BlockKind,
    },
    EndTag,
    Header6,
    /// After damage. What follows is counted and skipped.
    Damaged,
    /// After the end tag.
    Ended,
}

#[derive(Debug)]
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
    boundary: u64,
    /// Offset up to which everything was handed on or counted as unparsed.
    accounted: u64,
    has_trace: bool,
    version6: bool,
    max_block_bytes: usize,
    objects: VecDeque<Object>,
    queued_bytes: usize,
    pub(super) unparsed_bytes: u64,
    /// Kind and padding of the incomplete object.
    kind: Option<BlockKind>,
    padding: Option<Range<u64>>,
    /// The objects that the last bytes completed.
    spans: Vec<ObjectSpan>,
}

impl Container {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            state: State::Magic,
            head: Vec::new(),
            content: Vec::new(),
            content_size: 0,
            scanner: Scanner::default(),
            offset: 0,
            content_offset: 0,
            boundary: 0,
            accounted: 0,
            has_trace: false,
            version6: false,
            max_block_bytes: limits.max_block_bytes,
            objects: VecDeque::new(),
            queued_bytes: 0,
            unparsed_bytes: 0,
            kind: None,
            padding: None,
            spans: Vec::new(),
        }
    }

    /// The objects that the last bytes completed.
    pub(super) fn spans(&self) -> &[ObjectSpan] {
        &self.spans
    }

    pub(super) fn is_version6(&self) -> bool {
        self.version6
    }

    /// Memory in bytes of the blocks that wait to be read.
    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// The next object.
    pub(super) fn pop(&mut self, blocks: &Blocks) -> Option<Object> {
        let object = self.objects.pop_front()?;
        if let Object::Block { slot, .. } = object {
            self.queued_bytes -= blocks.size(slot);
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
            State::Skip { left } => *left,
            State::Content { .. } => self.scanner.skippable_bytes() as u64,
            _ => 0,
        }
    }

    /// Goes on as if so many of the skippable bytes had been fed.
    pub(super) fn skip(&mut self, bytes: u64, blocks: &mut Blocks) {
        self.spans.clear();
        let bytes = bytes.min(self.skippable_bytes());
        match &mut self.state {
            State::Skip { left } => *left -= bytes,
            _ => self.scanner.skip(bytes as usize),
        }
        self.offset += bytes;
        while self.is_complete() {
            self.advance(blocks);
        }
    }

    /// Bytes of the incomplete block that have come, including those of deferred payloads.
    fn content_come(&self) -> usize {
        self.content.len() + self.scanner.deferred_bytes()
    }

    /// Offset after the last complete object.
    pub(super) fn boundary(&self) -> u64 {
        self.boundary
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
                State::Skip { left } => {
                    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= used as u64;
                    used
                }
                State::Content { .. } if self.scanner.skippable_bytes() > 0 => {
                    let used = self.scanner.skippable_bytes().min(bytes.len());
                    self.scanner.skip(used);
                    used
                }
                State::Content { .. } => {
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
            State::Content { kind } if kind != BlockKind::TRACE => self.push_block(kind, false, blocks),
            State::ContentEndTag { kind } => self.push_block(kind, true, blocks),
            _ => {}
        }
        self.unparsed_bytes += self.offset - self.accounted;
        self.objects.push_back(Object::End { clean: false });
    }

    /// As [`finish`](Self::finish), as if the bytes ended with the last complete object.
    pub(super) fn finish_at_boundary(&mut self, blocks: &mut Blocks) {
        if let State::Content { .. } | State::ContentEndTag { .. } = self.state {
            self.state = State::Skip { left: 0 };
        }
        self.finish(blocks);
    }

    /// Length of the header or tag of this state.
    fn wanted(&self) -> usize {
        match &self.state {
            State::Magic => MAGIC.len(),
            State::SerializerLength | State::Size { .. } | State::Header6 => 4,
            State::Serializer => SERIALIZER.len() - 4,
            State::Version6 => 8,
            State::Tag | State::ContentEndTag { .. } | State::EndTag => 1,
            State::Begin => 14,
            State::Name { .. } => self.content_size + 1,
            State::TraceV4 => TraceInfo::V4_BYTES,
            State::Padding { .. } => {
                (self.offset.wrapping_sub(self.head.len() as u64).wrapping_neg() % 4) as usize
            }
            State::Content { .. } | State::Skip { .. } | State::Damaged | State::Ended => 0,
        }
    }

    fn is_complete(&self) -> bool {
        match &self.state {
            State::Damaged | State::Ended => false,
            State::Skip { left } => *left == 0,
            State::Content { .. } => self.content_come() == self.content_size,
            _ => self.head.len() >= self.wanted(),
        }
    }

    /// Goes on to the next state after a complete header, tag or content.
    fn advance(&mut self, blocks: &mut Blocks) {
        let head = std::mem::take(&mut self.head);
        let state = std::mem::replace(&mut self.state, State::Damaged);
        match self.after(state, &head, blocks) {
            Ok(next) => self.state = next,
            Err(error) => {
                self.unparsed_bytes += self.offset - self.accounted;
                self.objects.push_back(Object::Failed(error));
            }
        }
        self.head = head;
        self.head.clear();
    }

    fn after(&mut self, state: State, head: &[u8], blocks: &mut Blocks) -> Result<State, Error> {
        Ok(match state {
            State::Magic if head == MAGIC => State::SerializerLength,
            // The NetPerf format starts with the header of the serializer.
            State::Magic if SERIALIZER.starts_with(head) => return Err(Error::NetPerf),
            State::Magic => return Err(Error::NotNettrace),
            State::SerializerLength if head == [0; 4] => State::Version6,
            State::SerializerLength if SERIALIZER.starts_with(head) => State::Serializer,
            State::Serializer if SERIALIZER.ends_with(head) => {
                self.object_is_complete();
                State::Tag
            }
            State::SerializerLength | State::Serializer => {
                return Err(self.damaged(head.len(), "the stream's header is not that of a nettrace stream"));
            }
            State::Version6 => {
                let version = u32_at(head, 0);
                if version != 6 {
                    return Err(Error::UnsupportedVersion { version });
                }
                self.version6 = true;
                self.object_is_complete();
                State::Header6
            }
            State::Tag => match head {
                [TAG_NULL] => self.end(),
                [TAG_BEGIN_PRIVATE] => State::Begin,
                _ => return Err(self.damaged(1, "no object starts here")),
            },
            State::Begin => {
                let name_bytes = u32_at(head, 10);
                if head.first_chunk() != Some(&[TAG_BEGIN_PRIVATE, TAG_NULL]) || name_bytes > MAX_NAME_BYTES {
                    return Err(self.damaged(head.len(), "an object has no type"));
                }
                self.content_size = name_bytes as usize;
                State::Name { min_reader: u32_at(head, 6) }
            }
            State::Name { min_reader } => self.after_name(head, min_reader)?,
            State::TraceV4 => {
                self.push_trace(TraceInfo::parse_v4(head).map_err(|why| self.damaged(head.len(), why.0))?);
                State::EndTag
            }
            State::Size { kind } => State::Padding { kind, size: u32_at(head, 0) },
            State::Padding { kind, size } => {
                self.padding = Some(self.offset - head.len() as u64..self.offset);
                self.start_content(kind, size, blocks)?
            }
            State::Content { kind: BlockKind::TRACE } => {
                let content = std::mem::take(&mut self.content);
                let info = v6::trace(&mut Bytes::new(&content));
                self.push_trace(info.map_err(|why| self.damaged(content.len(), why.0))?);
                blocks.recycle(content);
                self.after_content()
            }
            State::Content { kind } if self.version6 => {
                self.push_block(kind, true, blocks);
                self.after_content()
            }
            State::Content { kind } => State::ContentEndTag { kind },
            State::ContentEndTag { kind } => {
                self.push_block(kind, true, blocks);
                if head != [TAG_END] {
                    return Err(self.damaged(1, "an object does not end where its size says"));
                }
                self.object_is_complete();
                State::Tag
            }
            State::Skip { .. } => self.after_content(),
            State::EndTag if head == [TAG_END] => {
                self.object_is_complete();
                State::Tag
            }
            State::EndTag => return Err(self.damaged(1, "an object does not end where its size says")),
            State::Header6 => {
                let header = u32_at(head, 0);
                let kind = BlockKind::from_number((header >> 24) as u8);
                match kind {
                    BlockKind::END => self.end(),
                    _ if kind != BlockKind::TRACE && !self.has_trace => return Err(self.damaged(4, NO_TRACE)),
                    _ => self.start_content(kind, header & 0xff_ffff, blocks)?,
                }
            }
            State::Damaged => State::Damaged,
            State::Ended => State::Ended,
        })
    }

    fn after_name(&self, head: &[u8], min_reader: u32) -> Result<State, Error> {
        let Some((&TAG_END, name)) = head.split_last() else {
            return Err(self.damaged(head.len(), "an object's type does not end where its size says"));
        };
        let kind = BlockKind::from_type_name(name);
        match kind {
            _ if kind != BlockKind::TRACE && !self.has_trace => Err(self.damaged(head.len(), NO_TRACE)),
            BlockKind::TRACE if min_reader > MAX_TRACE_VERSION => {
                Err(Error::UnsupportedVersion { version: min_reader })
            }
            BlockKind::TRACE => Ok(State::TraceV4),
            // The layout of this block is newer than this reader.
            _ if min_reader > MAX_BLOCK_VERSION => Ok(State::Size { kind: BlockKind::OTHER }),
            _ => Ok(State::Size { kind }),
        }
    }

    fn push_trace(&mut self, info: TraceInfo) {
        self.has_trace = true;
        self.kind = Some(BlockKind::TRACE);
        self.objects.push_back(Object::Trace(info));
    }

    fn start_content(&mut self, kind: BlockKind, size: u32, blocks: &mut Blocks) -> Result<State, Error> {
        self.kind = Some(kind);
        if kind == BlockKind::OTHER {
            return Ok(State::Skip { left: size.into() });
        }
        self.content_size = size as usize;
        if self.content_size > self.max_block_bytes {
            return Err(self.damaged(4, "a block is larger than the reader's limit"));
        }
        self.content_offset = self.offset;
        self.content = blocks.buffer();
        let is_scanned = self.scanner.start(kind == BlockKind::EVENT && !self.version6);
        let reserved = if is_scanned { RESERVE_SCANNED_BYTES } else { RESERVE_BYTES };
        self.content.reserve(self.content_size.min(reserved));
        Ok(State::Content { kind })
    }

    fn after_content(&mut self) -> State {
        if self.version6 {
            self.object_is_complete();
            return State::Header6;
        }
        State::EndTag
    }

    fn object_is_complete(&mut self) {
        let padding = self.padding.take();
        if let Some(kind) = self.kind.take() {
            self.spans.push(ObjectSpan { kind, start: self.boundary, end: self.offset, padding });
        }
        self.boundary = self.offset;
        self.accounted = self.offset;
    }

    /// Hands on a block. Unreadable parts of its content are counted later, when it is read.
    fn push_block(&mut self, kind: BlockKind, whole: bool, blocks: &mut Blocks) {
        self.unparsed_bytes += if whole { 0 } else { self.content_offset - self.accounted };
        self.accounted = self.offset;
        let content = std::mem::take(&mut self.content);
        self.unparsed_bytes += self.scanner.truncate() as u64;
        let slot = blocks.insert(content, self.content_offset, self.scanner.take());
        self.queued_bytes += blocks.size(slot);
        self.objects.push_back(Object::Block { kind, slot, whole });
    }

    fn end(&mut self) -> State {
        self.objects.push_back(Object::End { clean: true });
        State::Ended
    }

    /// Damage that starts `back` bytes before the next byte.
    fn damaged(&self, back: usize, what: &'static str) -> Error {
        Error::Container { offset: self.offset - back as u64, what }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_le_bytes(*four))
}
