//! What is wrong with a stream, and where.

use super::bytes::Malformed;

/// Why a stream, or a part of it, cannot be read. Offsets are in bytes from the start of the stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream has no bytes.
    #[error("it is empty: its writer ended, or was killed, before anything came to be written")]
    Empty,
    /// The stream does not begin like a nettrace stream.
    #[error("this is not a nettrace stream: it does not start with \"Nettrace\"")]
    NotNettrace,
    /// The stream has the older NetPerf format (`!FastSerialization.1` without `Nettrace`), which runtimes write only
    /// on request.
    #[error("this is a NetPerf stream, the format before nettrace: record it again with the NetTrace format")]
    NetPerf,
    /// The stream has a version of the format that this reader does not know.
    #[error("this nettrace stream has format version {version}; versions 4, 5 and 6 can be read")]
    UnsupportedVersion {
        /// The version that a reader must support, according to the stream.
        version: u32,
    },
    /// The sequence of objects is broken, so nothing after this offset can be read.
    #[error("the stream is damaged at byte {offset}: {what}")]
    Container {
        /// Where the damage was found.
        offset: u64,
        /// What was found instead of an object.
        what: &'static str,
    },
    /// A block is damaged. The next one can be read.
    #[error("the {block} at byte {block_offset} is damaged at byte {offset}: {what}")]
    Block {
        /// Kind of the block.
        block: BlockKind,
        /// Where the content of the block starts.
        block_offset: u64,
        /// Where the part starts that cannot be read.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An event has no definition; perhaps that was in a damaged block. The event is left out. This comes once for each
    /// id.
    #[error("the event at byte {offset} refers to metadata {id}, which the stream has not defined")]
    UnknownMetadata {
        /// Where the event starts.
        offset: u64,
        /// The metadata id of the event.
        id: u32,
    },
    /// The stream exceeds one of the reader's [`Limits`](super::Limits). Reading goes on, with the consequence that the
    /// text names. This comes once for each limit.
    #[error("the stream goes beyond what a reader keeps: {what}")]
    Limit {
        /// What exceeds the limit, and what follows from that.
        what: &'static str,
    },
}

impl Error {
    /// Offset of the error in bytes from the start of the stream.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Container { offset, .. }
            | Self::Block { offset, .. }
            | Self::UnknownMetadata { offset, .. } => *offset,
            _ => 0,
        }
    }

    /// Whether nothing after it can be read. The reader then gives the events that it holds, and [`End`](super::End).
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Block { .. } | Self::UnknownMetadata { .. } | Self::Limit { .. })
    }

    pub(super) fn in_block(block: BlockKind, block_offset: u64, at: u64, why: Malformed) -> Self {
        Self::Block { block, block_offset, offset: block_offset + at, what: why.0 }
    }
}

/// Kind of a block in a stream. Readers skip kinds that they do not know.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockKind(pub(super) u8);

impl BlockKind {
    pub(super) const END: Self = Self(0);
    /// Clock, process and pointer size of the stream.
    pub const TRACE: Self = Self(1);
    /// Events.
    pub const EVENT: Self = Self(2);
    /// Definitions of events.
    pub const METADATA: Self = Self(3);
    /// A point in time that separates earlier from later events.
    pub const SEQUENCE_POINT: Self = Self(4);
    /// Call stacks.
    pub const STACK: Self = Self(5);
    /// Threads (version 6).
    pub const THREAD: Self = Self(6);
    /// Threads that have ended (version 6).
    pub const REMOVE_THREAD: Self = Self(7);
    /// Labels of events, such as activity ids (version 6).
    pub const LABEL_LIST: Self = Self(8);
    /// A kind that this reader does not know.
    pub const OTHER: Self = Self(255);

    /// Type names of versions 4 and 5.
    pub(super) fn from_type_name(name: &[u8]) -> Self {
        match name {
            b"Trace" => Self::TRACE,
            b"EventBlock" => Self::EVENT,
            b"MetadataBlock" => Self::METADATA,
            b"SPBlock" => Self::SEQUENCE_POINT,
            b"StackBlock" => Self::STACK,
            _ => Self::OTHER,
        }
    }

    /// Block kind numbers of version 6.
    pub(super) fn from_number(number: u8) -> Self {
        if number <= Self::LABEL_LIST.0 { Self(number) } else { Self::OTHER }
    }

    fn name(self) -> &'static str {
        match self {
            Self::END => "end of stream",
            Self::TRACE => "trace object",
            Self::EVENT => "event block",
            Self::METADATA => "metadata block",
            Self::SEQUENCE_POINT => "sequence point",
            Self::STACK => "stack block",
            Self::THREAD => "thread block",
            Self::REMOVE_THREAD => "thread removal block",
            Self::LABEL_LIST => "label list block",
            _ => "block of an unknown kind",
        }
    }
}

impl std::fmt::Display for BlockKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::fmt::Debug for BlockKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
