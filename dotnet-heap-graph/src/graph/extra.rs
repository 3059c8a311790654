//! References that are not in the frame of their object: in `MORE`, and in `EDGES`.

use super::addresses::Addresses;
use super::limits::Limits;
use super::reference::Edge;
use crate::error::{Error, Result};
use crate::format::{EdgeRecord, Frame, FrameBuffer, FrameKind, MoreDecoder, Reader, malformed};
use crate::parallel;

/// A frame `MORE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct More {
    /// The object that it belongs to.
    pub(crate) object: u32,
    /// Place of the frame among those of the file.
    pub(crate) frame: u32,
    references: u32,
}

/// All references that are not in the frame of their object, in the order of the objects' numbers.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    pub(crate) more: Vec<More>,
    pub(crate) edges: Vec<Edge>,
    /// References in `MORE`.
    pub(crate) references: u64,
    /// References in `EDGES`.
    pub(crate) edge_count: u64,
    /// References from or to what is no object.
    pub(crate) missing: u64,
}

impl Extra {
    pub(crate) fn read(reader: &Reader, addresses: &Addresses, limits: &Limits) -> Result<Self> {
        let mut extra = Self::default();
        let frames: Vec<(u32, &Frame)> =
            (0..).zip(reader.frames()).filter(|(_, frame)| frame.kind() == FrameKind::MORE).collect();
        let found = parallel::map(limits.threads, frames, FrameBuffer::default, |buffer, (index, frame)| {
            let wrong = |why| malformed(frame, why);
            let decoder = MoreDecoder::new(reader.payload(frame, buffer)?).map_err(wrong)?;
            let address = decoder.address();
            // The count is believed only when all have been read.
            let references =
                decoder.map(|reference| reference.map(|_| 1)).sum::<std::result::Result<u32, _>>();
            Ok::<_, Error>((index, address, references.map_err(wrong)?))
        })?;
        for (frame, address, references) in found {
            extra.references += u64::from(references);
            match addresses.number(address) {
                Some(object) => extra.more.push(More { object, frame, references }),
                None => extra.missing += u64::from(references),
            }
        }
        reader.for_each_record(|edge: EdgeRecord| {
            extra.edge_count += 1;
            match (addresses.number(edge.from), addresses.number(edge.to)) {
                (Some(from), Some(to)) => {
                    let is_dependent = edge.kind == EdgeRecord::DEPENDENT;
                    extra.edges.push(Edge { from, to, handle: is_dependent.then_some(edge.id) });
                }
                _ => extra.missing += 1,
            }
        })?;
        // Both sorts keep the order of the file for each object.
        extra.more.sort_by_key(|more| more.object);
        extra.edges.sort_by_key(|edge| edge.from);
        Ok(extra)
    }

    /// What belongs to the objects of these numbers.
    pub(crate) fn of(&self, first: u32, objects: u32) -> (&[More], &[Edge]) {
        let end = first.saturating_add(objects);
        let part = |start: usize, end: usize| start..end.max(start);
        let more = part(
            self.more.partition_point(|more| more.object < first),
            self.more.partition_point(|more| more.object < end),
        );
        let edges = part(
            self.edges.partition_point(|edge| edge.from < first),
            self.edges.partition_point(|edge| edge.from < end),
        );
        (self.more.get(more).unwrap_or_default(), self.edges.get(edges).unwrap_or_default())
    }

    /// How many references that are.
    pub(crate) fn count((more, edges): (&[More], &[Edge])) -> u64 {
        more.iter().map(|more| u64::from(more.references)).sum::<u64>() + edges.len() as u64
    }
}
