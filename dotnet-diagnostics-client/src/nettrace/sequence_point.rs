//! Sequence points: a time that separates, and each thread's last number.

use super::bytes::{Bytes, Malformed, Result};

const FLUSH_THREADS: u32 = 1;
const FLUSH_METADATA: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct SequencePoint {
    pub(super) timestamp: i64,
    /// Thread (its index in version 6) and last number.
    pub(super) threads: Vec<(u64, u32)>,
    pub(super) flush_threads: bool,
    pub(super) flush_metadata: bool,
}

impl SequencePoint {
    pub(super) fn parse(bytes: &mut Bytes<'_>, version6: bool) -> Result<Self> {
        let timestamp = bytes.i64()?;
        let flags = if version6 { bytes.u32()? } else { 0 };
        let count = bytes.u32()? as usize;
        let least = if version6 { 2 } else { 12 };
        if count > bytes.remaining() / least {
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
