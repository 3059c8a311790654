//! Sequence points: a time that separates earlier from later events, and the last sequence number of each thread.

use super::bytes::{Bytes, Malformed, Result};

const FLUSH_THREADS: u32 = 1;
const FLUSH_METADATA: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct SequencePoint {
    pub(super) timestamp: i64,
    /// Id of each thread (in version 6 its index) and its last sequence number.
    pub(super) threads: Vec<(u64, u32)>,
    pub(super) flush_threads: bool,
    pub(super) flush_metadata: bool,
}

impl SequencePoint {
    pub(super) fn parse(bytes: &mut Bytes<'_>, version6: bool) -> Result<Self> {
        let timestamp = bytes.i64()?;
        let flags = if version6 { bytes.u32()? } else { 0 };
        let count = bytes.u32()? as usize;
        let min_bytes = if version6 { 2 } else { 12 };
        if count > bytes.remaining() / min_bytes {
            return Err(Malformed("it lists more threads than it has room for"));
        }
        let thread = |_| match version6 {
            true => Ok((bytes.varu64()?, bytes.varu32()?)),
            false => Ok((bytes.u64()?, bytes.u32()?)),
        };
        Ok(Self {
            timestamp,
            threads: (0..count).map(thread).collect::<Result<_>>()?,
            flush_threads: flags & FLUSH_THREADS != 0,
            flush_metadata: flags & FLUSH_METADATA != 0,
        })
    }
}
