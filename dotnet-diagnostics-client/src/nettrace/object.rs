//! Where the objects of a stream are, for programs that store a stream or cut it into files.

use std::ops::Range;

use super::error::BlockKind;

/// In versions 4 and 5 the content of a block starts at a multiple of this offset.
const ALIGNMENT: u64 = 4;

/// A complete object of a stream, see [`RawReader::objects`](super::raw::RawReader::objects). Offsets are in bytes from the start
/// of the stream.
///
/// A part of a stream can be read alone if it consists of:
///
/// 1. the header of the stream, which ends at the [`start`](Self::start) of its first object,
/// 2. the trace object, and all metadata blocks before the part (in version 6 also all blocks about threads),
/// 3. a sequence point, and what follows it. Ids of stacks and of label lists start again there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectSpan {
    /// Kind of the object.
    pub kind: BlockKind,
    /// Offset of its first byte.
    pub start: u64,
    /// Offset of the byte after its last.
    pub end: u64,
    /// The zeros that align its content. `None` if it is not aligned.
    pub(super) padding: Option<Range<u64>>,
}

impl ObjectSpan {
    /// Appends the object to another stream. `object` is its bytes in this stream, and `out` is the end of the other
    /// stream, from offset `out_starts_at` on. Only the padding changes, which depends on the offset.
    pub fn append(&self, object: &[u8], out: &mut Vec<u8>, out_starts_at: u64) {
        let Some(padding) = &self.padding else {
            out.extend_from_slice(object);
            return;
        };
        let at = |offset: u64| {
            usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX).min(object.len())
        };
        out.extend_from_slice(&object[..at(padding.start)]);
        let here = out_starts_at.wrapping_add(out.len() as u64);
        let zeros = here.wrapping_neg() % ALIGNMENT;
        out.extend(std::iter::repeat_n(0, zeros as usize));
        out.extend_from_slice(&object[at(padding.end)..]);
    }
}
