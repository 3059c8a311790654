//! The `GCHeapDump` object and its `Graphs.MemoryGraph`, read as they are.

use std::collections::HashMap;
use std::io::{Read, Seek};

use super::description::Description;
use super::objects::{Objects, Type, tag};
use crate::exchange::names::file_name;
use crate::exchange::{Error, Result};

/// Versions before this one have other fields.
const FIRST_VERSION: i32 = 9;
/// What this reader may call itself: a newer program can say that readers must be as new as some version.
const READER_VERSION: i32 = 10;
const GRAPH_READER_VERSION: i32 = 1;

/// A type of nodes.
#[derive(Debug)]
pub(super) struct NodeType {
    /// `None`: the file has a number instead, which only the symbols of the program explain.
    pub(super) name: Option<String>,
    /// Place in [`Contents::modules`].
    pub(super) module: Option<u32>,
    /// Size of its nodes that say no other size, in bytes. -1: there is none.
    pub(super) size_bytes: i32,
}

/// A part of the heap, and where the objects of each generation end in it: 0 to 2, large objects, pinned objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) generation_ends: [u64; 5],
}

/// All that a file has.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) description: Description,
    pub(super) root: i32,
    pub(super) types: Vec<NodeType>,
    /// File names.
    pub(super) modules: Vec<String>,
    /// Where each node is in `blob`.
    pub(super) places: Vec<u32>,
    pub(super) blob: Vec<u8>,
    /// Where the blob is in the file.
    pub(super) blob_offset: u64,
    /// Of each node.
    pub(super) addresses: Vec<u64>,
    pub(super) segments: Vec<Segment>,
    is_64_bit: bool,
}

impl Contents {
    pub(super) fn read(reader: impl Read + Seek) -> Result<Self> {
        let mut objects = Objects::new(reader)?;
        let mut contents = Self::default();
        contents.dump(&mut objects)?;
        if contents.is_64_bit { Ok(contents) } else { Err(Error::Not64Bit) }
    }

    fn dump(&mut self, objects: &mut Objects<impl Read + Seek>) -> Result<()> {
        let kind = objects.begin_as("GCHeapDump")?;
        if kind.version < FIRST_VERSION || kind.minimum_reader > READER_VERSION {
            return Err(Error::UnsupportedVersion { version: kind.version });
        }
        let kind = objects.begin_as("Graphs.MemoryGraph")?;
        self.graph(objects, &kind)?;
        objects.end()?;

        let _is_64_bit = objects.input.u8()?;
        let (count_multiplier, _size_multiplier) = (objects.input.f32()?, objects.input.f32()?);
        // Of JavaScript: it has no fields.
        if objects.begin()?.is_some() {
            objects.end()?;
        }
        if objects.begin()?.is_some() {
            self.segments(objects)?;
            objects.end()?;
        }
        let input = &mut objects.input;
        let _log = input.text()?;
        let collected_ticks = input.i64()?;
        let (machine_name, process_name) = (input.text()?, input.text()?);
        let process_id = input.i32()?;
        let (_commit_bytes, _working_set_bytes) = (input.i64()?, input.i64()?);
        for _type in 0..input.count()? {
            input.f32()?;
        }
        self.description = Description {
            process_name,
            process_id: u32::try_from(process_id).ok().filter(|id| *id != 0),
            machine_name,
            collected_ticks: Some(collected_ticks).filter(|ticks| *ticks != 0),
            tool: None,
            sampled: Some(count_multiplier).filter(|multiplier| *multiplier != 1.0),
        };
        self.tool(objects)
    }

    /// The last fields, which older files lack: what COM objects there are, and the tool.
    fn tool(&mut self, objects: &mut Objects<impl Read + Seek>) -> Result<()> {
        let mut next = objects.input.u8()?;
        if next == tag::SKIP_REGION {
            objects.skip_region()?;
            next = objects.input.u8()?;
        }
        if next == tag::TEXT {
            self.description.tool = objects.input.text()?;
        }
        Ok(())
    }

    fn graph(&mut self, objects: &mut Objects<impl Read + Seek>, kind: &Type) -> Result<()> {
        if kind.minimum_reader > GRAPH_READER_VERSION {
            return Err(Error::UnsupportedVersion { version: kind.version });
        }
        let input = &mut objects.input;
        let _total_bytes = input.i64()?;
        self.root = input.i32()?;
        let mut modules = HashMap::new();
        for _type in 0..input.count()? {
            let (name, size_bytes, module) = (input.text()?, input.i32()?, input.text()?);
            let module = module.filter(|path| !is_placeholder(path)).map(|path| {
                let next = modules.len() as u32;
                *modules.entry(file_name(&path).to_owned()).or_insert(next)
            });
            self.types.push(NodeType { name, module, size_bytes });
        }
        let mut modules: Vec<_> = modules.into_iter().collect();
        modules.sort_by_key(|(_, index)| *index);
        self.modules = modules.into_iter().map(|(name, _)| name).collect();
        for _node in 0..input.count()? {
            self.places.push(input.u32()?);
        }
        let blob_bytes = input.count()?;
        self.blob_offset = input.position();
        self.blob = input.bytes(blob_bytes)?;
        if kind.minimum_reader >= 1 {
            objects.skip_region()?;
        }
        let input = &mut objects.input;
        for _node in 0..input.count()? {
            self.addresses.push(input.u64()?);
        }
        if self.addresses.len() != self.places.len() {
            return Err(input.malformed("there are more nodes than addresses, or fewer"));
        }
        // Older files do not say it here.
        let at = input.position();
        self.is_64_bit = match input.u8()? {
            tag::BYTE => input.u8()? != 0,
            _ => {
                input.seek(at)?;
                self.addresses.iter().any(|address| *address > u64::from(u32::MAX))
            }
        };
        Ok(())
    }

    fn segments(&mut self, objects: &mut Objects<impl Read + Seek>) -> Result<()> {
        let _bytes = objects.input.i64()?;
        for _segment in 0..objects.input.count()? {
            let Some(kind) = objects.begin()? else { continue };
            let input = &mut objects.input;
            let (start, end) = (input.u64()?, input.u64()?);
            let mut generation_ends = [0; 5];
            let known = if kind.version >= 1 { 5 } else { 4 };
            for place in generation_ends.iter_mut().take(known) {
                *place = input.u64()?;
            }
            self.segments.push(Segment { start, end, generation_ends });
            objects.end()?;
        }
        Ok(())
    }
}

/// What dotnet-gcdump writes if it does not know the module.
fn is_placeholder(path: &str) -> bool {
    path.is_empty() || path.starts_with("Module(0x")
}
