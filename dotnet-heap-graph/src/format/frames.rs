//! Finds the frames of a file, and the place where it is cut or damaged.

use std::fmt;
use std::io::{self, Read};

use super::compression::{MAX_STORED_BYTES, is_known};
use super::frame::{
    FILE_HEAD_BYTES, FrameHead, FrameKind, HEAD_BYTES, MAX_PAYLOAD_BYTES, VERSION, file_version,
};
use crate::error::{Error, Result};

const CHUNK_BYTES: usize = 64 << 10;

/// Where a frame is, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub(crate) head: FrameHead,
    pub(crate) offset: u64,
}

impl Frame {
    /// What the payload is.
    pub fn kind(&self) -> FrameKind {
        self.head.kind
    }

    /// Where the frame starts: bytes from the start of the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Size of the payload in bytes.
    pub fn payload_bytes(&self) -> u32 {
        self.head.raw_bytes
    }

    /// Size of the payload in the file in bytes.
    pub fn stored_bytes(&self) -> u32 {
        self.head.stored_bytes
    }
}

/// Why the file is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The file ends without the frame `END`: it was cut between two frames, or its writer stopped there.
    NoEnd,
    /// The file ends within a frame.
    Cut,
    /// The head of a frame is not one that this reader knows.
    Head,
    /// The bytes of a frame are not those that were written.
    Checksum,
    /// There are bytes behind the frame `END`.
    BehindEnd,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoEnd => "it ends before its last frame",
            Self::Cut => "it ends within a frame",
            Self::Head => "a frame has a head that makes no sense",
            Self::Checksum => "a frame's checksum is wrong",
            Self::BehindEnd => "it has bytes behind its last frame",
        })
    }
}

/// The place from which on a file says nothing: all frames before it are whole, and what is missing can be told by nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated {
    /// Bytes from the start of the file.
    pub offset: u64,
    /// What is wrong there.
    pub damage: Damage,
}

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the file is not complete: at byte {}, {}", self.offset, self.damage)
    }
}

/// Reads the file from its start, checks all checksums, and returns the frames before the first damage.
pub(crate) fn find(input: &mut impl Read) -> Result<(Vec<Frame>, Option<Truncated>)> {
    let mut file_head = [0; FILE_HEAD_BYTES];
    if !fill(input, &mut file_head)?.is_whole() {
        return Err(Error::NotGraph);
    }
    match file_version(&file_head) {
        Some(VERSION) => {}
        Some(version) => return Err(Error::UnsupportedVersion { version }),
        None => return Err(Error::NotGraph),
    }
    let mut frames: Vec<Frame> = Vec::new();
    let mut offset = FILE_HEAD_BYTES as u64;
    let mut chunk = vec![0; CHUNK_BYTES];
    let damage = loop {
        let has_ended = frames.last().is_some_and(|frame| frame.kind() == FrameKind::END);
        let mut head = [0; HEAD_BYTES];
        match fill(input, &mut head)? {
            Filled::Nothing if has_ended => return Ok((frames, None)),
            _ if has_ended => break Damage::BehindEnd,
            Filled::Nothing => break Damage::NoEnd,
            Filled::Part => break Damage::Cut,
            Filled::Whole => {}
        }
        let Some(head) = FrameHead::decode(&head).filter(is_possible) else { break Damage::Head };
        let mut checksum = head.start_checksum();
        match pass_over(input, head.stored_bytes as usize, &mut chunk, &mut checksum)? {
            false => break Damage::Cut,
            true if checksum.finalize() != head.checksum => break Damage::Checksum,
            true => {}
        }
        frames.push(Frame { head, offset });
        offset += HEAD_BYTES as u64 + u64::from(head.stored_bytes);
    };
    Ok((frames, Some(Truncated { offset, damage })))
}

/// Limits what reading a frame costs. The rest of a frame of an unknown kind is of no interest.
fn is_possible(head: &FrameHead) -> bool {
    head.raw_bytes as usize <= MAX_PAYLOAD_BYTES
        && head.stored_bytes as usize <= MAX_STORED_BYTES
        && is_known(head.compression)
}

#[derive(Clone, Copy, PartialEq)]
enum Filled {
    Nothing,
    Part,
    Whole,
}

impl Filled {
    fn is_whole(self) -> bool {
        self == Self::Whole
    }
}

fn fill(input: &mut impl Read, mut buffer: &mut [u8]) -> io::Result<Filled> {
    let mut filled = Filled::Nothing;
    while !buffer.is_empty() {
        match input.read(buffer) {
            Ok(0) => return Ok(filled),
            Ok(read) => buffer = buffer.get_mut(read..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        filled = Filled::Part;
    }
    Ok(Filled::Whole)
}

/// Reads that many bytes for their checksum only. `false` if the file ends before.
fn pass_over(
    input: &mut impl Read,
    mut len: usize,
    chunk: &mut [u8],
    checksum: &mut crc32fast::Hasher,
) -> io::Result<bool> {
    while len > 0 {
        let part = len.min(chunk.len());
        let Some(place) = chunk.get_mut(..part) else { return Ok(false) };
        if !fill(input, place)?.is_whole() {
            return Ok(false);
        }
        checksum.update(place);
        len -= part;
    }
    Ok(true)
}
