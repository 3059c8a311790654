//! The head of a frame: what the payload is, how it is stored, and its checksum.

use std::fmt;

/// The largest payload of a frame in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 4 << 20;

/// Size of the head in bytes.
pub(crate) const HEAD_BYTES: usize = 16;
/// Size of the file's own head in bytes.
pub(crate) const FILE_HEAD_BYTES: usize = 16;
/// The version of the format.
pub(crate) const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"GCGRAPH\0";

/// What the payload of a frame is. Readers skip the kinds that they do not know.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameKind(pub u8);

impl FrameKind {
    /// JSON: what was taken of which process, when, and what it cost.
    pub const INFO: Self = Self(1);
    /// [`ClassRecord`](super::ClassRecord)s.
    pub const CLASSES: Self = Self(2);
    /// Objects, for an [`ObjectsDecoder`](super::ObjectsDecoder).
    pub const OBJECTS: Self = Self(3);
    /// [`RootRecord`](super::RootRecord)s.
    pub const ROOTS: Self = Self(4);
    /// [`EdgeRecord`](super::EdgeRecord)s.
    pub const EDGES: Self = Self(5);
    /// [`RangeRecord`](super::RangeRecord)s.
    pub const RANGES: Self = Self(6);
    /// JSON: [`Names`](super::Names).
    pub const NAMES: Self = Self(7);
    /// [`TextRecord`](super::TextRecord)s.
    pub const TEXTS: Self = Self(8);
    /// [`EndRecord`](super::EndRecord), in the last frame.
    pub const END: Self = Self(9);
    /// Further references of one object, for a [`MoreDecoder`](super::MoreDecoder).
    pub const MORE: Self = Self(10);
    /// [`IdentityRecord`](super::IdentityRecord)s, for an [`IdentityDecoder`](super::IdentityDecoder).
    pub const IDENTITY: Self = Self(11);

    fn name(self) -> Option<&'static str> {
        let names = [
            "INFO", "CLASSES", "OBJECTS", "ROOTS", "EDGES", "RANGES", "NAMES", "TEXTS", "END", "MORE",
            "IDENTITY",
        ];
        names.get(usize::from(self.0).checked_sub(1)?).copied()
    }
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "of kind {}", self.0),
        }
    }
}

impl fmt::Debug for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub(crate) kind: FrameKind,
    pub(crate) compression: u8,
    pub(crate) stored_bytes: u32,
    pub(crate) raw_bytes: u32,
    pub(crate) checksum: u32,
}

impl FrameHead {
    /// The head of a frame with these stored bytes.
    pub(crate) fn new(kind: FrameKind, compression: u8, stored: &[u8], raw_bytes: u32) -> Self {
        let stored_bytes = u32::try_from(stored.len()).unwrap_or(u32::MAX);
        let mut head = Self { kind, compression, stored_bytes, raw_bytes, checksum: 0 };
        let mut checksum = head.start_checksum();
        checksum.update(stored);
        head.checksum = checksum.finalize();
        head
    }

    pub(crate) fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let fields = [
            u32::from(self.kind.0) | u32::from(self.compression) << 8,
            self.stored_bytes,
            self.raw_bytes,
            self.checksum,
        ];
        for (place, field) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(fields) {
            *place = field.to_le_bytes();
        }
        bytes
    }

    /// `None` if a part of it that has to be zero is not.
    pub(crate) fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or_default();
        let (what, stored_bytes, raw_bytes, checksum) = (next(), next(), next(), next());
        let [kind, compression, 0, 0] = what.to_le_bytes() else { return None };
        Some(Self { kind: FrameKind(kind), compression, stored_bytes, raw_bytes, checksum })
    }

    /// A checksum that has seen the head, to be updated with the stored bytes.
    pub(crate) fn start_checksum(&self) -> crc32fast::Hasher {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&self.encode()[..HEAD_BYTES - 4]);
        checksum
    }
}

/// The first bytes of a file.
pub(crate) fn file_head() -> [u8; FILE_HEAD_BYTES] {
    let mut head = [0; FILE_HEAD_BYTES];
    let parts = MAGIC.iter().chain(&[VERSION as u8]);
    head.iter_mut().zip(parts).for_each(|(place, byte)| *place = *byte);
    head
}

/// The version of a file with this head. `None` if it is no `.gcgraph` file.
pub(crate) fn file_version(head: &[u8; FILE_HEAD_BYTES]) -> Option<u32> {
    let rest = head.strip_prefix(&MAGIC)?;
    let (version, reserved) = rest.split_first_chunk::<4>()?;
    (reserved == [0; 4]).then_some(u32::from_le_bytes(*version))
}
