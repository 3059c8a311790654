//! Parts of the format that differ in version 6: the trace block, metadata rows and thread tables.

use super::bytes::{Bytes, Malformed, Result};
use super::field_codes::{Encoding, fields};
use super::metadata::Metadata;
use super::threads::Threads;
use super::trace::TraceInfo;

/// Properties of a trace that are kept. A few bytes of each take many of memory.
const MAX_PROPERTIES: usize = 4096;

pub(super) fn trace(bytes: &mut Bytes<'_>) -> Result<TraceInfo> {
    let mut info = TraceInfo::clock(bytes, 6)?;
    let count = bytes.u32()? as usize;
    if count > bytes.remaining() / 2 {
        return Err(Malformed("it lists more properties than it has room for"));
    }
    for _ in 0..count {
        let (key, value) = (bytes.utf8()?, bytes.utf8()?);
        match &*key {
            "ProcessId" => info.process_id = value.parse().unwrap_or(0),
            "HardwareThreadCount" => info.processors = value.parse().unwrap_or(0),
            "ExpectedCPUSamplingRate" => info.sampling_period_ns = value.parse().unwrap_or(0),
            _ => {}
        }
        if info.properties.len() < MAX_PROPERTIES {
            info.properties.push((key, value));
        }
    }
    Ok(info)
}

/// Skips the header of a metadata block.
pub(super) fn metadata_header(bytes: &mut Bytes<'_>) -> Result<()> {
    let size = bytes.u16()?;
    bytes.take(size.into()).map(drop)
}

/// Reads a row of a metadata block.
pub(super) fn metadata_row(bytes: &mut Bytes<'_>) -> Result<Metadata> {
    let size = usize::from(bytes.u16()?);
    let mut row = bytes.split(size)?;
    let mut metadata = Metadata::new(row.varu32()?, row.utf8()?, row.varu32()?, row.utf8()?);
    metadata.fields = fields(&mut row, Encoding::V6)?;
    let len = row.u16()?.into();
    let mut optional = row.split(len)?;
    while !optional.is_empty() {
        match optional.u8()? {
            1 => metadata.opcode = Some(optional.u8()?),
            3 => metadata.keywords = optional.u64()?,
            // Message template, description.
            4 | 5 => drop(optional.utf8()?),
            6 => drop((optional.utf8()?, optional.utf8()?)),
            // The provider's GUID.
            7 => drop(optional.take(16)?),
            8 => metadata.level = optional.u8()?.into(),
            9 => metadata.version = optional.u8()?.into(),
            // The length of an unknown property is not known, so the rest cannot be read.
            _ => break,
        }
    }
    Ok(metadata)
}

pub(super) fn threads(bytes: &mut Bytes<'_>, threads: &mut Threads, limit: usize) -> Result<()> {
    while !bytes.is_empty() {
        let size = bytes.u16()?.into();
        let mut row = bytes.split(size)?;
        let index = row.varu64()?;
        while !row.is_empty() {
            match row.u8()? {
                1 => drop(row.utf8()?),
                // The process id.
                2 => drop(row.varu64()?),
                3 => threads.set_os_id(index, row.varu64()?, limit),
                4 => drop((row.utf8()?, row.utf8()?)),
                _ => break,
            }
        }
    }
    Ok(())
}

/// Indices and last sequence numbers of the removed threads.
pub(super) fn removed_threads(bytes: &mut Bytes<'_>) -> Result<Vec<(u64, u32)>> {
    let mut removed = Vec::new();
    while !bytes.is_empty() {
        removed.push((bytes.varu64()?, bytes.varu32()?));
    }
    Ok(removed)
}
