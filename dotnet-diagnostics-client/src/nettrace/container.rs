//! Splits a stream into its objects, however it is cut into chunks. The content of blocks is copied once, into buffers
//! that are used again.

use std::collections::VecDeque;
use std::ops::Range;

use super::blocks::{Blocks, Slot};
use super::bytes::Bytes;
use super::deferred::Scout;
use super::{BlockKind, Error, Limits, ObjectSpan, TraceInfo, v6};

const MAGIC: &[u8; 8] = b"Nettrace";
/// Name of the serializer with its length before it; version 6 has zeros where the length is.
const SERIALIZER: &[u8; 24] = b"\x14\0\0\0!FastSerialization.1";
const TAG_NULL: u8 = 1;
const TAG_BEGIN_PRIVATE: u8 = 5;
const TAG_END: u8 = 6;
/// A type's name is at most 13 bytes today.
const MAX_NAME_BYTES: u32 = 255;
/// Versions that this reader understands.
const MAX_TRACE_VERSION: u32 = 5;
const MAX_BLOCK_VERSION: u32 = 2;
const NO_TRACE: &str = "the stream does not start with its trace object";
/// What a block's size reserves before its bytes have come.
const RESERVE_BYTES: usize = 1 << 20;
/// The same where most of a block may be left out.
const RESERVE_SPARSE_BYTES: usize = 8 << 10;

/// One object of a stream, in order.
#[derive(Debug)]
pub(super) enum Object {
    Trace(TraceInfo),
    /// `whole` is false for the last block of a stream that ends inside it.
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
    /// Content of a kind that is not known.
    Skip {
        left: u64,
    },
    /// Content that is whole; it is handed on with its end tag, where a file may be cut.
    ContentEndTag {
        kind: BlockKind,
    },
    EndTag,
    Header6,
    /// After damage: all that comes is counted and passed over.
    Damaged,
    /// After the end tag.
    Over,
}

#[derive(Debug)]
pub(super) struct Container {
    state: State,
    /// Bytes of the small piece that is being collected.
    head: Vec<u8>,
    /// Content of the block that is being collected.
    content: Vec<u8>,
    content_size: usize,
    /// What of it is left out.
    scout: Scout,
    offset: u64,
    content_offset: u64,
    boundary: u64,
    /// Everything before it was understood, handed on or counted as unparsed.
    accounted: u64,
    has_trace: bool,
    version6: bool,
    max_block_bytes: usize,
    objects: VecDeque<Object>,
    queued_bytes: usize,
    pub(super) unparsed_bytes: u64,
    /// Kind and padding of the object that is being collected.
    kind: Option<BlockKind>,
    padding: Option<Range<u64>>,
    /// Those that the last bytes completed.
    spans: Vec<ObjectSpan>,
}

impl Container {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            state: State::Magic,
            head: Vec::new(),
            content: Vec::new(),
            content_size: 0,
            scout: Scout::default(),
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

    /// Where the objects are that the last bytes completed.
    pub(super) fn spans(&self) -> &[ObjectSpan] {
        &self.spans
    }

    pub(super) fn is_version6(&self) -> bool {
        self.version6
    }

    /// Memory of blocks that wait to be read.
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

    /// Large payloads of events with this description are left out from now on.
    pub(super) fn defer(&mut self, metadata_id: u32) {
        self.scout.defer(metadata_id);
    }

    /// How many of the bytes that come next are passed over.
    pub(super) fn passes_over(&self) -> u64 {
        match &self.state {
            State::Skip { left } => *left,
            State::Content { .. } => self.scout.passes_over() as u64,
            _ => 0,
        }
    }

    /// As if so many bytes had been fed, which are no more than are passed over.
    pub(super) fn pass_over(&mut self, bytes: u64, blocks: &mut Blocks) {
        self.spans.clear();
        let bytes = bytes.min(self.passes_over());
        match &mut self.state {
            State::Skip { left } => *left -= bytes,
            _ => self.scout.pass_over(bytes as usize),
        }
        self.offset += bytes;
        while self.is_complete() {
            self.advance(blocks);
        }
    }

    /// Bytes of the block that is being collected which have come, those left out included.
    fn content_come(&self) -> usize {
        self.content.len() + self.scout.left_out()
    }

    /// Offset after the last complete object.
    pub(super) fn boundary(&self) -> u64 {
        self.boundary
    }

    /// The bytes so far end within an object.
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
                State::Over => bytes.len(),
                State::Skip { left } => {
                    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= used as u64;
                    used
                }
                State::Content { .. } if self.scout.passes_over() > 0 => {
                    let used = self.scout.passes_over().min(bytes.len());
                    self.scout.pass_over(used);
                    used
                }
                State::Content { .. } => {
                    let used = (self.content_size - self.content_come()).min(bytes.len());
                    self.content.extend_from_slice(&bytes[..used]);
                    self.scout.look(&mut self.content, self.content_size);
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
            // A step may need no byte at all (no padding, an empty block): go on as long as the state is complete.
            while self.is_complete() {
                self.advance(blocks);
            }
        }
    }

    /// No more bytes will come.
    pub(super) fn finish(&mut self, blocks: &mut Blocks) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Over => return,
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

    /// The same, as if the bytes ended with the last complete object.
    pub(super) fn finish_at_boundary(&mut self, blocks: &mut Blocks) {
        if let State::Content { .. } | State::ContentEndTag { .. } = self.state {
            self.state = State::Skip { left: 0 };
        }
        self.finish(blocks);
    }

    /// How many bytes the small piece of this state has.
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
            State::Content { .. } | State::Skip { .. } | State::Damaged | State::Over => 0,
        }
    }

    fn is_complete(&self) -> bool {
        match &self.state {
            State::Damaged | State::Over => false,
            State::Skip { left } => *left == 0,
            State::Content { .. } => self.content_come() == self.content_size,
            _ => self.head.len() >= self.wanted(),
        }
    }

    /// Acts on a complete piece.
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
            // The old format starts with the serializer's header at once.
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
                self.has_trace(TraceInfo::parse_v4(head).map_err(|why| self.damaged(head.len(), why.0))?);
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
                self.has_trace(info.map_err(|why| self.damaged(content.len(), why.0))?);
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
            State::Over => State::Over,
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
            // A known block in an unknown layout is as good as an unknown block.
            _ if min_reader > MAX_BLOCK_VERSION => Ok(State::Size { kind: BlockKind::OTHER }),
            _ => Ok(State::Size { kind }),
        }
    }

    fn has_trace(&mut self, info: TraceInfo) {
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
        let sparse = self.scout.start(kind == BlockKind::EVENT && !self.version6);
        // The size is a claim: what it reserves is bounded, the rest comes with the bytes.
        let most = if sparse { RESERVE_SPARSE_BYTES } else { RESERVE_BYTES };
        self.content.reserve(self.content_size.min(most));
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

    /// What cannot be read of the content is counted by who reads it.
    fn push_block(&mut self, kind: BlockKind, whole: bool, blocks: &mut Blocks) {
        self.unparsed_bytes += if whole { 0 } else { self.content_offset - self.accounted };
        self.accounted = self.offset;
        let content = std::mem::take(&mut self.content);
        // Of a payload that was cut off nothing is left out but its bytes.
        self.unparsed_bytes += self.scout.cut() as u64;
        let slot = blocks.insert(content, self.content_offset, self.scout.take());
        self.queued_bytes += blocks.size(slot);
        self.objects.push_back(Object::Block { kind, slot, whole });
    }

    fn end(&mut self) -> State {
        self.objects.push_back(Object::End { clean: true });
        State::Over
    }

    fn damaged(&self, back: usize, what: &'static str) -> Error {
        Error::Container { offset: self.offset - back as u64, what }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_le_bytes(*four))
}
