//! Event blobs: the headers of the events in a block, compressed or not.

use super::bytes::{Bytes, Malformed, Result};

/// How many of its first bytes a deferred payload still has.
pub(super) const PREFIX_BYTES: usize = 16;

pub(super) const METADATA_ID: u8 = 0x01;
pub(super) const SEQUENCE_AND_CAPTURE_THREAD: u8 = 0x02;
pub(super) const THREAD_ID: u8 = 0x04;
const STACK_ID: u8 = 0x08;
const ACTIVITY_ID: u8 = 0x10;
const RELATED_ACTIVITY_ID: u8 = 0x20;
const SORTED: u8 = 0x40;
pub(super) const PAYLOAD_SIZE: u8 = 0x80;
/// The same bit in version 6.
const LABEL_LIST: u8 = 0x10;

const COMPRESSED_HEADERS: u16 = 1;
const MIN_HEADER_BYTES: u16 = 20;
const NOT_SORTED: u32 = 0x8000_0000;

/// Offset in a block of something whose length is known. `ABSENT` if the event does not have it.
pub(super) type BlockOffset = u32;
pub(super) const ABSENT: BlockOffset = u32::MAX;

/// The large payloads that a block does not hold, in order: the caller can read them from a file later.
#[derive(Debug, Default)]
pub(super) struct DeferredPayloads {
    /// Where in the bytes that the block does hold the rest of each payload is missing.
    pub(super) at: Vec<u32>,
    /// How many bytes are missing in all.
    pub(super) bytes: usize,
}

/// The header of an event. A compressed header has only the fields that differ from the previous header.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blob {
    pub(super) metadata_id: u32,
    pub(super) sequence: u32,
    pub(super) capture_thread: u64,
    pub(super) processor: u32,
    pub(super) thread: u64,
    pub(super) stack_id: u32,
    pub(super) timestamp: i64,
    pub(super) activity: BlockOffset,
    pub(super) related_activity: BlockOffset,
    pub(super) label_list: u32,
    /// No later event of the stream is earlier than this one.
    pub(super) sorted: bool,
    pub(super) payload_size: u32,
    pub(super) payload: BlockOffset,
    /// How many bytes of the payload the block holds.
    pub(super) payload_held: u32,
    /// Bytes of deferred payloads before this event.
    pub(super) deferred_before: u32,
}

/// Reads the events of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlobReader {
    blob: Blob,
    /// Where the next event starts. After [`header`](Self::header), the caller sets it.
    pub(super) at: usize,
    pub(super) compressed: bool,
    version6: bool,
    /// Deferred payloads before the next event, and their bytes.
    deferred: usize,
    pub(super) deferred_bytes: usize,
}

impl BlobReader {
    /// Reads the header of the block.
    pub(super) fn new(block: &[u8], version6: bool) -> Result<Self> {
        let mut bytes = Bytes::new(block);
        let header_size = bytes.u16()?;
        let flags = bytes.u16()?;
        if header_size < MIN_HEADER_BYTES {
            return Err(Malformed("its header is too short"));
        }
        // Later versions may append fields to the header, so its size is used.
        bytes.skip_to(header_size.into())?;
        Ok(Self {
            blob: Blob { activity: ABSENT, related_activity: ABSENT, ..Blob::default() },
            at: bytes.position(),
            compressed: flags & COMPRESSED_HEADERS != 0,
            version6,
            deferred: 0,
            deferred_bytes: 0,
        })
    }

    /// Reads the next header in a block of version 4 with compressed headers, of which only the beginning has come.
    /// Gives the metadata id, and offset and size of the payload. `None` at the end of `block`.
    pub(super) fn header(&mut self, block: &[u8]) -> Result<Option<(u32, usize, usize)>> {
        let mut bytes = Bytes::starting_at(block, self.at);
        if bytes.is_empty() {
            return Ok(None);
        }
        self.blob.compressed(&mut bytes, false)?;
        Ok(Some((self.blob.metadata_id, bytes.position(), self.blob.payload_size as usize)))
    }

    /// The next event of `block`, which must be the block given to [`new`](Self::new). `None` at its end.
    #[inline]
    pub(super) fn next(&mut self, block: &[u8], payloads: &DeferredPayloads) -> Result<Option<&Blob>> {
        let mut bytes = Bytes::starting_at(block, self.at);
        if bytes.is_empty() {
            return Ok(None);
        }
        if self.compressed {
            self.blob.compressed(&mut bytes, self.version6)?;
            self.blob.payload = bytes.position() as BlockOffset;
            self.blob.payload_held = self.blob.payload_size;
            self.blob.deferred_before = self.deferred_bytes as u32;
            let rest = self.blob.payload + PREFIX_BYTES as BlockOffset;
            if payloads.at.get(self.deferred) == Some(&rest) {
                self.blob.payload_held = PREFIX_BYTES as u32;
                self.deferred += 1;
                self.deferred_bytes += (self.blob.payload_size as usize).saturating_sub(PREFIX_BYTES);
            }
            bytes.take(self.blob.payload_held as usize)?;
        } else {
            self.blob.uncompressed(&mut bytes, self.version6)?;
            self.blob.payload_held = self.blob.payload_size;
        }
        self.at = bytes.position();
        Ok(Some(&self.blob))
    }
}

impl Blob {
    #[inline]
    fn compressed(&mut self, bytes: &mut Bytes<'_>, version6: bool) -> Result<()> {
        let flags = bytes.u8()?;
        if flags & METADATA_ID != 0 {
            self.metadata_id = bytes.varu32()?;
        }
        if flags & SEQUENCE_AND_CAPTURE_THREAD != 0 {
            self.sequence = self.sequence.wrapping_add(bytes.varu32()?).wrapping_add(1);
            self.capture_thread = bytes.varu64()?;
            self.processor = bytes.varu32()?;
        } else if self.metadata_id != 0 || version6 {
            self.sequence = self.sequence.wrapping_add(1);
        }
        if flags & THREAD_ID != 0 {
            self.thread = bytes.varu64()?;
        }
        if flags & STACK_ID != 0 {
            self.stack_id = bytes.varu32()?;
        }
        // The difference is unsigned in the stream but can be negative: a block has one thread's events after
        // another's.
        self.timestamp = self.timestamp.wrapping_add_unsigned(bytes.varu64()?);
        if version6 {
            if flags & LABEL_LIST != 0 {
                self.label_list = bytes.varu32()?;
            }
        } else {
            if flags & ACTIVITY_ID != 0 {
                self.activity = guid(bytes)?;
            }
            if flags & RELATED_ACTIVITY_ID != 0 {
                self.related_activity = guid(bytes)?;
            }
        }
        self.sorted = flags & SORTED != 0;
        if flags & PAYLOAD_SIZE != 0 {
            self.payload_size = bytes.varu32()?;
        }
        Ok(())
    }

    fn uncompressed(&mut self, bytes: &mut Bytes<'_>, version6: bool) -> Result<()> {
        let size = bytes.u32()? as usize;
        let end = bytes.position().saturating_add(size);
        let metadata_id = bytes.u32()?;
        self.metadata_id = metadata_id & !NOT_SORTED;
        // In version 6 the specification and the existing readers disagree about the bit, so it is not used.
        self.sorted = metadata_id & NOT_SORTED == 0 && !version6;
        self.sequence = bytes.u32()?;
        self.thread = bytes.u64()?;
        self.capture_thread = bytes.u64()?;
        self.processor = bytes.u32()?;
        self.stack_id = bytes.u32()?;
        self.timestamp = bytes.i64()?;
        if version6 {
            self.label_list = bytes.u32()?;
        } else {
            self.activity = guid(bytes)?;
            self.related_activity = guid(bytes)?;
        }
        self.payload_size = bytes.u32()?;
        self.payload = bytes.position() as BlockOffset;
        bytes.take(self.payload_size as usize)?;
        if bytes.position() > end {
            return Err(Malformed("an event is longer than its size"));
        }
        bytes.skip_to(end)?;
        if !version6 {
            let padding = end.wrapping_neg() % 4;
            bytes.take(padding.min(bytes.remaining()))?;
        }
        Ok(())
    }
}

fn guid(bytes: &mut Bytes<'_>) -> Result<BlockOffset> {
    let offset = bytes.position() as BlockOffset;
    bytes.take(16)?;
    Ok(offset)
}
