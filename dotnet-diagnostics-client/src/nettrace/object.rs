//! Where the objects of a stream are: for who keeps a stream, and cuts it.

use std::ops::Range;

use super::BlockKind;

/// Where the content of blocks starts in versions 4 and 5: at a multiple of this.
const ALIGNMENT: u64 = 4;

/// One whole object of a stream, as [`Reader::objects`](super::Reader::objects) gives it. Offsets count bytes from the
/// start of the stream.
///
/// A part of a stream that can be read alone has the stream's header ([`start`](Self::start) of its first object is its
/// length) and its trace object, all metadata blocks that came before (and, in version 6, the blocks about threads), and
/// then what follows a sequence point, which is also the place to start: numbers of stacks and of label lists begin
/// anew there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObjectSpan {
    /// What it is.
    pub kind: BlockKind,
    /// Its first byte.
    pub start: u64,
    /// The byte after its last.
    pub end: u64,
    /// The zeros that align its content; `None` where nothing is aligned.
    pub(super) padding: Option<Range<u64>>,
}

impl ObjectSpan {
    /// Appends the object to another stream, of which `out` is what comes from offset `out_starts_at` on. `object` is
    /// its bytes in this one. They stay as they are but for the padding, which depends on the place.
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
