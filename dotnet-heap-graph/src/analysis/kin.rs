//! Which objects of two graphs are the same.

use super::earlier::Earlier;
use crate::error::Result;
use crate::format::{FrameBuffer, FrameKind, IdentityDecoder, malformed};
use crate::graph::Graph;

/// A bit for each object.
#[derive(Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn contains(&self, object: u32) -> bool {
        self.0.get(object as usize / 64).is_some_and(|bits| bits & 1 << (object % 64) != 0)
    }

    fn insert(&mut self, object: u32) {
        if let Some(bits) = self.0.get_mut(object as usize / 64) {
            *bits |= 1 << (object % 64);
        }
    }
}

/// What the second graph says of the objects of the first.
#[derive(Debug)]
pub(super) struct Kin {
    /// For each position of the first graph the object in the second, reachable or not.
    pub(super) now: Vec<Option<u32>>,
    /// Objects of the second graph that were in the first.
    pub(super) is_old: Bits,
    /// Objects that are not where the file says.
    pub(super) contradictions: u64,
}

/// Reads the frames `IDENTITY` of the second graph.
pub(super) fn kin(earlier: &Earlier, graph: &Graph) -> Result<Kin> {
    let mut kin = Kin {
        now: vec![None; earlier.objects.len()],
        is_old: Bits(vec![0; graph.len() as usize / 64 + 1]),
        contradictions: 0,
    };
    // The address in the first graph, and the object in the second.
    let mut pairs: Vec<(u64, u32)> = Vec::new();
    let mut buffer = FrameBuffer::default();
    for frame in graph.reader().frames_of(FrameKind::IDENTITY) {
        let payload = graph.reader().payload(frame, &mut buffer)?;
        for record in IdentityDecoder::new(payload).map_err(|why| malformed(frame, why))? {
            let record = record.map_err(|why| malformed(frame, why))?;
            match graph.object_at(record.address) {
                // A damaged file may name an object again and again.
                Some(object) if !kin.is_old.contains(object) => {
                    kin.is_old.insert(object);
                    pairs.push((record.before, object));
                }
                _ => kin.contradictions += 1,
            }
        }
    }
    // This sort is fast for ascending parts, which these are.
    pairs.sort();
    let mut positions: Vec<(u64, u32)> =
        (0..).zip(&earlier.objects).map(|(position, object)| (object.address, position)).collect();
    positions.sort_unstable();
    let mut pairs = pairs.into_iter().peekable();
    for (address, position) in positions {
        while pairs.next_if(|(before, _)| *before < address).is_some() {}
        if let Some((_, object)) = pairs.next_if(|(before, _)| *before == address)
            && let Some(place) = kin.now.get_mut(position as usize)
        {
            *place = Some(object);
        }
    }
    Ok(kin)
}
