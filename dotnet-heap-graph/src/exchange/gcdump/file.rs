//! Writes the `GCHeapDump` object.

use std::io::{self, Write};

use super::blob::Blob;
use super::description::Description;
use super::output::Output;
use crate::exchange::Result;
use crate::format::RangeRecord;

/// A type of nodes.
#[derive(Clone, Debug)]
pub(super) struct NodeKind {
    pub(super) name: String,
    pub(super) module: Option<String>,
    /// Size of its nodes that say no other size.
    pub(super) size_bytes: i32,
}

/// All that the file will have.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub(super) kinds: &'a [NodeKind],
    pub(super) blob: &'a Blob,
    pub(super) addresses: &'a [u64],
    /// The node of all roots.
    pub(super) root: u32,
    pub(super) ranges: &'a [RangeRecord],
}

impl File<'_> {
    pub(super) fn write<W: Write>(&self, description: &Description, output: W) -> Result<W> {
        // These are the versions that the files of dotnet-gcdump and PerfView say.
        let mut out = Output::new(output)?;
        out.begin("GCHeapDump", (10, 8))?;
        out.begin("Graphs.MemoryGraph", (1, 0))?;
        self.graph(&mut out)?;
        out.end()?;
        let is_64_bit = 1;
        out.u8(is_64_bit)?;
        // How many times more objects and bytes there were.
        out.f32(1.0)?;
        out.f32(1.0)?;
        // Of JavaScript.
        out.null()?;
        self.segments(&mut out)?;
        // The log of the tool.
        out.text(None)?;
        out.i64(description.collected_ticks.unwrap_or(0))?;
        out.text(description.machine_name.as_deref())?;
        out.text(description.process_name.as_deref())?;
        out.i32(description.process_id.unwrap_or(0).cast_signed())?;
        // Bytes that the process committed, its working set, and how many times more objects of each type there were.
        out.i64(0)?;
        out.i64(0)?;
        out.i32(0)?;
        // COM objects.
        out.null_to_skip()?;
        out.u8(super::objects::tag::TEXT)?;
        out.text(description.tool.as_deref())?;
        out.end()?;
        Ok(out.finish()?)
    }

    fn graph<W: Write>(&self, out: &mut Output<W>) -> io::Result<()> {
        out.i64(self.blob.total_bytes)?;
        out.i32(self.root.cast_signed())?;
        out.count(self.kinds.len())?;
        for kind in self.kinds {
            out.text(Some(&kind.name))?;
            out.i32(kind.size_bytes)?;
            out.text(kind.module.as_deref())?;
        }
        out.count(self.blob.places().len())?;
        self.blob.places().iter().try_for_each(|place| out.i32(place.cast_signed()))?;
        out.count(self.blob.bytes().len())?;
        out.bytes(self.blob.bytes())?;
        out.count(self.addresses.len())?;
        self.addresses.iter().try_for_each(|address| out.u64(*address))?;
        // Whether the process has 64 bits.
        out.u8(super::objects::tag::BYTE)?;
        out.u8(1)
    }

    /// The generations. The format has no frozen objects.
    fn segments<W: Write>(&self, out: &mut Output<W>) -> io::Result<()> {
        let known: Vec<_> =
            self.ranges.iter().filter(|range| range.generation <= RangeRecord::PINNED).collect();
        if known.is_empty() {
            return out.null();
        }
        out.begin("DotNetHeapInfo", (0, 0))?;
        out.u64(known.iter().fold(0, |sum, range| sum.saturating_add(range.used_bytes)))?;
        out.count(known.len())?;
        for range in known {
            let end = range.start.saturating_add(range.used_bytes);
            out.begin("GCHeapDumpSegment", (1, 1))?;
            out.u64(range.start)?;
            out.u64(end)?;
            for generation in 0..=RangeRecord::PINNED {
                // A reader looks at the oldest generation first.
                out.u64(if generation == range.generation { end } else { 0 })?;
            }
            out.end()?;
        }
        out.end()
    }
}
