//! What can go wrong with the file of another tool.

use std::io;

/// Why a graph cannot be taken from, or given to, another tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The other tool's file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The `.gcgraph` file cannot be read or written.
    #[error(transparent)]
    Graph(#[from] crate::Error),
    /// The file does not begin as a `.gcdump` file does.
    #[error("this is no .gcdump file")]
    NotGcDump,
    /// The file has another format than this reader knows.
    #[error("the .gcdump file has version {version} of its format, which this program does not know")]
    UnsupportedVersion {
        /// The version that the file says.
        version: i32,
    },
    /// The file makes no sense.
    #[error("the .gcdump file is wrong at byte {offset}: {why}")]
    Malformed {
        /// The place: bytes from the start of the file.
        offset: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// The process had pointers of 4 bytes. Its objects are at addresses that a `.gcgraph` file cannot have.
    #[error("the heap is that of a 32-bit process, which is not supported")]
    Not64Bit,
    /// The recording has no heap snapshot, or not as many.
    #[error("the recording has {found} heap snapshots")]
    NoSnapshot {
        /// How many it has.
        found: u32,
    },
    /// The graph does not fit into the other tool's format.
    #[error(
        "the graph is too large for a .gcdump file: it has {objects} objects and {references} references"
    )]
    TooLarge {
        /// How many objects it has, roots among them.
        objects: u64,
        /// How many references it has up to the place where the file is full.
        references: u64,
    },
}

/// The result of an exchange.
pub type Result<T> = std::result::Result<T, Error>;
