//! What can go wrong with a file.

use std::io;

use crate::format::bytes::Malformed;
use crate::format::frame::FrameKind;

/// Why a `.gcgraph` file cannot be read.
///
/// A file that is cut or damaged is no error: [`Reader::truncated`](crate::format::Reader::truncated) says so, and what
/// comes before that place can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file does not begin as a `.gcgraph` file does.
    #[error("this is no .gcgraph file")]
    NotGraph,
    /// The file has a newer format.
    #[error("the file has version {version} of the format; this program knows version 1")]
    UnsupportedVersion {
        /// The version that the file says.
        version: u32,
    },
    /// A frame that was stored whole has a payload that makes no sense. Its writer was wrong.
    #[error("the frame {kind} at byte {offset} is wrong: {why}")]
    Malformed {
        /// Where the frame starts, in bytes.
        offset: u64,
        /// The kind of the frame.
        kind: FrameKind,
        /// What is wrong.
        why: Malformed,
    },
    /// A frame with JSON in it cannot be understood.
    #[error("the frame {kind} at byte {offset} has JSON that cannot be understood")]
    Json {
        /// Where the frame starts, in bytes.
        offset: u64,
        /// The kind of the frame.
        kind: FrameKind,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The payload to be written is larger than a frame can be.
    #[error("a payload of {bytes} bytes does not fit into a frame")]
    FrameTooLarge {
        /// Size of the payload in bytes.
        bytes: usize,
    },
    /// The file has more objects or references than [`Limits`](crate::Limits) permit.
    #[error("the file has {objects} objects with {references} references, which is more than is permitted")]
    TooLarge {
        /// How many objects the file has.
        objects: u64,
        /// How many references they have.
        references: u64,
    },
    /// The file says twice what is at one address.
    #[error("the file says twice which object is at 0x{address:x}")]
    Twice {
        /// The address of one of these objects.
        address: u64,
    },
}

/// The result of reading or writing.
pub type Result<T> = std::result::Result<T, Error>;
