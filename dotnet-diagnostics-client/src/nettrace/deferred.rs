//! Large payloads that are left out: a file has them still when their event's turn comes.
//!
//! As the bytes of an event block come in, a scout reads the headers of its events ahead of the reader and finds the
//! payloads that are not wanted. The block then holds all but those, and a list of where they were.

use super::blob::BlobReader;

/// Payloads from this size on are left out.
pub(super) const MIN_BYTES: usize = 4096;
/// So many of their first bytes are there all the same.
pub(super) const KEPT_BYTES: usize = 16;
/// A header has fewer bytes: what cannot be read of so many is damaged. The reader proper says how.
const ENOUGH_BYTES: usize = 256;
/// After so many blocks in a row in which nothing was left out, one of as many is looked at: looking takes time, too.
const PATIENCE_BLOCKS: u32 = 8;
/// Descriptions whose payloads can be left out.
const MAX_DEFERRED: usize = 64;

/// The payloads that a block lacks, in order: where the rest of each should begin, in what is there of the block.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub(super) at: Vec<u32>,
    /// Bytes of all.
    pub(super) bytes: usize,
}

/// Reads ahead in the block that is being collected.
#[derive(Debug, Default)]
pub(super) struct Scout {
    deferred: Vec<u32>,
    events: Option<BlobReader>,
    on: bool,
    /// Blocks since one in which something was left out.
    in_vain: u32,
    left_out: LeftOut,
    /// Of the last one, the bytes still to come.
    to_come: usize,
    /// Of the last one, all that is left out.
    last: usize,
}

impl Scout {
    pub(super) fn defer(&mut self, metadata_id: u32) {
        if self.deferred.len() < MAX_DEFERRED && !self.deferred.contains(&metadata_id) {
            self.deferred.push(metadata_id);
        }
    }

    /// A block begins; `on`: it is of a kind in which something can be left out. Whether there is anything to look for.
    pub(super) fn start(&mut self, on: bool) -> bool {
        self.on = on && !self.deferred.is_empty();
        self.events = None;
        if self.on {
            self.in_vain = self.in_vain.saturating_add(1);
            self.on = self.in_vain <= PATIENCE_BLOCKS || self.in_vain.is_multiple_of(PATIENCE_BLOCKS);
        }
        self.on
    }

    pub(super) fn passes_over(&self) -> usize {
        self.to_come
    }

    pub(super) fn pass_over(&mut self, bytes: usize) {
        self.to_come -= bytes;
        self.left_out.bytes += bytes;
    }

    pub(super) fn left_out(&self) -> usize {
        self.left_out.bytes
    }

    /// The block is cut off: a payload that is left out in part is not left out. The bytes it had.
    pub(super) fn cut(&mut self) -> usize {
        if self.to_come == 0 {
            return 0;
        }
        let come = self.last - self.to_come;
        self.to_come = 0;
        self.left_out.at.pop();
        self.left_out.bytes -= come;
        come
    }

    pub(super) fn take(&mut self) -> LeftOut {
        self.on = false;
        std::mem::take(&mut self.left_out)
    }

    /// Looks at what came last of a block that will have `size` bytes in all.
    pub(super) fn look(&mut self, content: &mut Vec<u8>, size: usize) {
        while self.on && self.to_come == 0 {
            let Some(events) = &mut self.events else {
                if content.len() < ENOUGH_BYTES.min(size) {
                    return;
                }
                self.events = BlobReader::new(content, false).ok().filter(BlobReader::is_compressed);
                self.on = self.events.is_some();
                continue;
            };
            let at = events.position();
            let mut ahead = *events;
            let Ok(header) = ahead.header(content) else {
                self.on = content.len() - at < ENOUGH_BYTES;
                return;
            };
            let Some((metadata_id, payload, payload_size)) = header else { return };
            let there = content.len() - payload;
            if payload_size >= MIN_BYTES && self.deferred.contains(&metadata_id) {
                if payload_size > size - self.left_out.bytes - payload {
                    self.on = false;
                    return;
                }
                if there < KEPT_BYTES {
                    return;
                }
                let come = there.min(payload_size);
                content.drain(payload + KEPT_BYTES..payload + come);
                self.in_vain = 0;
                self.left_out.at.push((payload + KEPT_BYTES) as u32);
                self.left_out.bytes += come - KEPT_BYTES;
                self.last = payload_size - KEPT_BYTES;
                self.to_come = payload_size - come;
                ahead.go_on(payload + KEPT_BYTES);
            } else {
                if there < payload_size {
                    return;
                }
                ahead.go_on(payload + payload_size);
            }
            *events = ahead;
        }
    }
}
