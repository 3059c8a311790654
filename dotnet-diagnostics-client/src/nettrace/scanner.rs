//! Finds the payloads to defer while the bytes of an event block come in.
//!
//! The scanner reads the headers of events ahead of the reader. The block then holds everything but those payloads, and
//! a list of where they were.

use super::blob::{BlobReader, DeferredPayloads, PREFIX_BYTES};

/// Payloads of at least this size are deferred.
const MIN_PAYLOAD_BYTES: usize = 4096;
/// Every event header is shorter. If so many bytes are no readable header, they are damaged; the reader reports that.
const MAX_HEADER_BYTES: usize = 256;
/// Scanning takes time. After this many blocks in a row without a deferred payload, only one of so many is scanned.
const IDLE_BLOCKS: u32 = 8;
/// Event definitions whose payloads can be deferred.
const MAX_DEFINITIONS: usize = 64;

/// Scans the block whose bytes come in.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// Metadata ids of the events to defer.
    metadata_ids: Vec<u32>,
    events: Option<BlobReader>,
    is_on: bool,
    /// Blocks since the last one with a deferred payload.
    blocks_without: u32,
    /// Those that are missing in the block so far.
    pub(super) payloads: DeferredPayloads,
    /// Bytes of the last deferred payload that have not come yet.
    pub(super) to_come: usize,
    /// Bytes of the last deferred payload that are left out in all.
    last_bytes: usize,
}

impl Scanner {
    pub(super) fn defer(&mut self, metadata_id: u32) {
        if self.metadata_ids.len() < MAX_DEFINITIONS && !self.metadata_ids.contains(&metadata_id) {
            self.metadata_ids.push(metadata_id);
        }
    }

    /// Starts a block. Payloads can be deferred only in some kinds of blocks. Returns whether the block is scanned.
    pub(super) fn start(&mut self, can_defer: bool) -> bool {
        self.is_on = can_defer && !self.metadata_ids.is_empty();
        self.events = None;
        if self.is_on {
            self.blocks_without = self.blocks_without.saturating_add(1);
            self.is_on =
                self.blocks_without <= IDLE_BLOCKS || self.blocks_without.is_multiple_of(IDLE_BLOCKS);
        }
        self.is_on
    }

    /// Skips so many of the bytes to come.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.to_come -= bytes;
        self.payloads.bytes += bytes;
    }

    /// The stream ends here. A payload that is cut off cannot be deferred. Returns how many of its bytes were skipped.
    pub(super) fn truncate(&mut self) -> usize {
        if self.to_come == 0 {
            return 0;
        }
        let skipped = self.last_bytes - self.to_come;
        self.to_come = 0;
        self.payloads.at.pop();
        self.payloads.bytes -= skipped;
        skipped
    }

    /// Ends the block.
    pub(super) fn take(&mut self) -> DeferredPayloads {
        self.is_on = false;
        std::mem::take(&mut self.payloads)
    }

    /// Scans what has come last of a block that will have `size` bytes in all.
    pub(super) fn scan(&mut self, content: &mut Vec<u8>, size: usize) {
        while self.is_on && self.to_come == 0 {
            let Some(events) = &mut self.events else {
                if content.len() < MAX_HEADER_BYTES.min(size) {
                    return;
                }
                self.events = BlobReader::new(content, false).ok().filter(|events| events.compressed);
                self.is_on = self.events.is_some();
                continue;
            };
            let at = events.at;
            let mut ahead = *events;
            let Ok(header) = ahead.header(content) else {
                self.is_on = content.len() - at < MAX_HEADER_BYTES;
                return;
            };
            let Some((metadata_id, payload, payload_size)) = header else { return };
            let come = content.len() - payload;
            if payload_size >= MIN_PAYLOAD_BYTES && self.metadata_ids.contains(&metadata_id) {
                if payload_size > size - self.payloads.bytes - payload {
                    self.is_on = false;
                    return;
                }
                if come < PREFIX_BYTES {
                    return;
                }
                let come = come.min(payload_size);
                content.drain(payload + PREFIX_BYTES..payload + come);
                self.blocks_without = 0;
                self.payloads.at.push((payload + PREFIX_BYTES) as u32);
                self.payloads.bytes += come - PREFIX_BYTES;
                self.last_bytes = payload_size - PREFIX_BYTES;
                self.to_come = payload_size - come;
                ahead.at = payload + PREFIX_BYTES;
            } else {
                if come < payload_size {
                    return;
                }
                ahead.at = payload + payload_size;
            }
            *events = ahead;
        }
    }
}
