//! What can be wrong with a stream, and where.

use super::bytes::Malformed;

/// Why (a part of) a stream could not be read. Offsets count bytes from the start of the stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is not a single byte.
    #[error("it is empty: its writer ended, or was killed, before anything came to be written")]
    Empty,
    /// The first bytes are not those of a nettrace stream.
    #[error("this is not a nettrace stream: it does not start with \"Nettrace\"")]
    NotNettrace,
    /// The older NetPerf format (`!FastSerialization.1` without `Nettrace`), which runtimes write on request only.
    #[error("this is a NetPerf stream, the format before nettrace: record it again with the NetTrace format")]
    NetPerf,
    /// A version of the format that this reader does not know.
    #[error("this nettrace stream has format version {version}; versions 4, 5 and 6 can be read")]
    UnsupportedVersion {
        /// The version that a reader must understand, as the stream says it.
        version: u32,
    },
    /// The sequence of objects is broken, so nothing after this offset can be found.
    #[error("the stream is damaged at byte {offset}: {what}")]
    Container {
        /// Where the damage was noticed.
        offset: u64,
        /// What was found instead of an object.
        what: &'static str,
    },
    /// One block is damaged; the next one can be read.
    #[error("the {block} at byte {block_offset} is damaged at byte {offset}: {what}")]
    Block {
        /// Kind of the block.
        block: BlockKind,
        /// Where the block's content starts.
        block_offset: u64,
        /// Where the piece starts that could not be read.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An event refers to a description that has not come (it may have been in a damaged block). The event is left
    /// out; this is said once for each id.
    #[error("the event at byte {offset} refers to metadata {id}, which the stream has not defined")]
    UnknownMetadata {
        /// Where the event starts.
        offset: u64,
        /// The id it refers to.
        id: u32,
    },
    /// The stream has more of something than the reader keeps, see [`Limits`](super::Limits). Reading goes on; what
    /// that does to the rest is in the text. It is said once for each thing.
    #[error("the stream goes beyond what a reader keeps: {what}")]
    Limit {
        /// What there is too much of, and what follows.
        what: &'static str,
    },
}

impl Error {
    /// Where in the stream it happened, in bytes from its start.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Container { offset, .. }
            | Self::Block { offset, .. }
            | Self::UnknownMetadata { offset, .. } => *offset,
            _ => 0,
        }
    }

    /// True where nothing after it can be read. The reader then gives what it holds back, and [`End`](super::End).
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Block { .. } | Self::UnknownMetadata { .. } | Self::Limit { .. })
    }

    pub(super) fn in_block(block: BlockKind, block_offset: u64, at: u64, why: Malformed) -> Self {
        Self::Block { block, block_offset, offset: block_offset + at, what: why.0 }
    }
}

/// Kinds of blocks in a stream. An open set: readers skip kinds they do not know.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockKind(pub(super) u8);

impl BlockKind {
    pub(super) const END: Self = Self(0);
    /// Describes the stream: clock, process, pointer size.
    pub const TRACE: Self = Self(1);
    /// Events.
    pub const EVENT: Self = Self(2);
    /// Descriptions of events.
    pub const METADATA: Self = Self(3);
    /// A point that all earlier events are before.
    pub const SEQUENCE_POINT: Self = Self(4);
    /// Call stacks.
    pub const STACK: Self = Self(5);
    /// Threads (version 6).
    pub const THREAD: Self = Self(6);
    /// Threads that are no more (version 6).
    pub const REMOVE_THREAD: Self = Self(7);
    /// Labels of events, such as activity ids (version 6).
    pub const LABEL_LIST: Self = Self(8);
    /// Not known to this reader.
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
