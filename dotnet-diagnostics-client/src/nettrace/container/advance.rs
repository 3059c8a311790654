//! The transitions between the states of a container.

use super::super::blocks::Blocks;
use super::super::bytes::Bytes;
use super::super::error::{BlockKind, Error};
use super::super::object::ObjectSpan;
use super::super::trace::TraceInfo;
use super::super::v6;
use super::{Container, MAGIC, Object, SERIALIZER, State};

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

impl Container {
    /// Goes on to the next state after a complete header, tag or content.
    pub(super) fn advance(&mut self, blocks: &mut Blocks) {
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
                State::Name(u32_at(head, 6))
            }
            State::Name(min_reader) => self.after_name(head, min_reader)?,
            State::TraceV4 => {
                self.push_trace(TraceInfo::parse_v4(head).map_err(|why| self.damaged(head.len(), why.0))?);
                State::EndTag
            }
            State::Size(kind) => State::Padding(kind, u32_at(head, 0)),
            State::Padding(kind, size) => {
                self.padding = Some(self.offset - head.len() as u64..self.offset);
                self.start_content(kind, size, blocks)?
            }
            State::Content(BlockKind::TRACE) => {
                let content = std::mem::take(&mut self.content);
                let info = v6::trace(&mut Bytes::new(&content));
                self.push_trace(info.map_err(|why| self.damaged(content.len(), why.0))?);
                blocks.recycle(content);
                self.after_content()
            }
            State::Content(kind) if self.version6 => {
                self.push_block(kind, true, blocks);
                self.after_content()
            }
            State::Content(kind) => State::ContentEndTag(kind),
            State::ContentEndTag(kind) => {
                self.push_block(kind, true, blocks);
                self.after_end_tag(head)?
            }
            State::Skip(_) => self.after_content(),
            State::EndTag => self.after_end_tag(head)?,
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
            _ if min_reader > MAX_BLOCK_VERSION => Ok(State::Size(BlockKind::OTHER)),
            _ => Ok(State::Size(kind)),
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
            return Ok(State::Skip(size.into()));
        }
        self.content_size = size as usize;
        if self.content_size > self.limits.max_block_bytes {
            return Err(self.damaged(4, "a block is larger than the reader's limit"));
        }
        self.content_offset = self.offset;
        self.content = blocks.buffer();
        let is_scanned = self.scanner.start(kind == BlockKind::EVENT && !self.version6);
        let reserved = if is_scanned { RESERVE_SCANNED_BYTES } else { RESERVE_BYTES };
        self.content.reserve(self.content_size.min(reserved));
        Ok(State::Content(kind))
    }

    fn after_content(&mut self) -> State {
        if self.version6 {
            self.object_is_complete();
            return State::Header6;
        }
        State::EndTag
    }

    fn after_end_tag(&mut self, head: &[u8]) -> Result<State, Error> {
        if head != [TAG_END] {
            return Err(self.damaged(1, "an object does not end where its size says"));
        }
        self.object_is_complete();
        Ok(State::Tag)
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
    pub(super) fn push_block(&mut self, kind: BlockKind, whole: bool, blocks: &mut Blocks) {
        self.unparsed_bytes += if whole { 0 } else { self.content_offset - self.accounted };
        self.accounted = self.offset;
        let content = std::mem::take(&mut self.content);
        self.unparsed_bytes += self.scanner.truncate() as u64;
        let slot = blocks.insert(content, self.content_offset, self.scanner.take());
        self.queued_bytes += blocks[slot].size();
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
