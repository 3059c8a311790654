//! The table of a stream's event definitions.

use std::collections::HashMap;

use super::blob::{BlobReader, DeferredPayloads};
use super::bytes::{BlockResult, Bytes, Malformed, Result};
use super::metadata::Metadata;
use super::{metadata_v4, v6};

/// All event definitions of a stream. If an id is defined again, the earlier definition stays for the events that are
/// held.
#[derive(Debug, Default)]
pub(super) struct MetadataTable {
    records: Vec<Metadata>,
    by_id: HashMap<u32, u32>,
    last: Option<(u32, u32)>,
    bytes: usize,
    /// Chooses the events whose payloads are deferred.
    defer: Option<fn(&Metadata) -> bool>,
    deferred: Vec<u32>,
}

impl MetadataTable {
    /// Applies `which` to all definitions that follow.
    pub(super) fn defer(&mut self, which: fn(&Metadata) -> bool) {
        self.defer = Some(which);
    }

    /// Ids of the latest definitions that `which` chose.
    pub(super) fn take_deferred(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.deferred)
    }

    /// Fails if all definitions would take more than `limit` bytes of memory.
    pub(super) fn insert(&mut self, record: Metadata, limit: usize) -> Result<()> {
        let record = record.with_manifest();
        self.last = None;
        if self.defer.is_some_and(|which| which(&record)) {
            self.deferred.push(record.id);
        }
        if self.get_index(record.id).and_then(|index| self.records.get(index as usize)) == Some(&record) {
            return Ok(());
        }
        let bytes = self.bytes.saturating_add(record.memory());
        if bytes > limit {
            return Err(Malformed("there are more event descriptions than the reader's limit allows"));
        }
        self.bytes = bytes;
        let index =
            u32::try_from(self.records.len()).map_err(|_| Malformed("too many event descriptions"))?;
        self.by_id.insert(record.id, index);
        self.records.push(record);
        Ok(())
    }

    /// Index of the present definition of `id`.
    #[inline]
    pub(super) fn index_of(&mut self, id: u32) -> Option<u32> {
        match self.last {
            Some((last, index)) if last == id => Some(index),
            _ => {
                let index = self.get_index(id)?;
                self.last = Some((id, index));
                Some(index)
            }
        }
    }

    fn get_index(&self, id: u32) -> Option<u32> {
        self.by_id.get(&id).copied()
    }

    /// The definition at an index that [`index_of`](Self::index_of) gave.
    #[inline]
    pub(super) fn record(&self, index: u32) -> &Metadata {
        &self.records[index as usize]
    }

    /// Reads a metadata block. A damaged record is left out; the first one is the error.
    pub(super) fn read_v4(&mut self, block: &[u8], limit: usize) -> BlockResult {
        let mut blobs = BlobReader::new(block, false).map_err(|why| (0, why))?;
        let mut first_damage = Ok(());
        loop {
            let at = blobs.at;
            let Some(blob) = blobs.next(block, &DeferredPayloads::default()).map_err(|why| (at, why))? else {
                return first_damage;
            };
            let payload = Bytes::starting_at(block, blob.payload as usize).take(blob.payload_size as usize);
            let record = payload.and_then(metadata_v4::parse);
            let read = record.and_then(|record| self.insert(record, limit));
            first_damage = first_damage.and(read.map_err(|why| (at, why)));
        }
    }

    pub(super) fn read_v6(&mut self, bytes: &mut Bytes<'_>, limit: usize) -> Result<()> {
        v6::metadata_header(bytes)?;
        while !bytes.is_empty() {
            self.insert(v6::metadata_row(bytes)?, limit)?;
        }
        Ok(())
    }

    /// Forgets all definitions, as a sequence point of version 6 can demand. No event may be held.
    pub(super) fn clear(&mut self) {
        *self = Self { defer: self.defer, ..Self::default() };
    }
}
