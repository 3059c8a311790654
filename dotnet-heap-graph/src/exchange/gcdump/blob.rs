//! Encodes nodes.

use crate::exchange::{Error, Result};

/// A file's numbers have 32 bits with a sign.
const MAX: usize = i32::MAX as usize;

/// The nodes that were encoded.
#[derive(Debug)]
pub(super) struct Blob {
    bytes: Vec<u8>,
    /// Of each node its place; 0: not yet encoded.
    places: Vec<u32>,
    pub(super) references: u64,
    /// The sum of the sizes that the nodes have here.
    pub(super) total_bytes: i64,
    /// How many sizes were too large.
    pub(super) oversized: u64,
}

impl Blob {
    /// Room for so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        // At the start is the node that stands for undefined ones: type 0, no references.
        let bytes = vec![0, 0];
        Self { bytes, places: vec![0; nodes], references: 0, total_bytes: 0, oversized: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn places(&self) -> &[u32] {
        &self.places
    }

    fn too_large(&self) -> Error {
        Error::TooLarge { objects: self.places.len() as u64, references: self.references }
    }

    /// Makes room for more nodes, and returns the number of the first.
    pub(super) fn add_room(&mut self, nodes: usize) -> Result<u32> {
        let first = self.places.len();
        if nodes > MAX - first.min(MAX) {
            return Err(self.too_large());
        }
        self.places.resize(first + nodes, 0);
        Ok(first as u32)
    }

    /// Appends a node. `false` if it is there already.
    pub(super) fn node(&mut self, node: u32, kind: u32, size: Size, children: &[u32]) -> Result<bool> {
        let Some(place) = self.places.get_mut(node as usize).filter(|place| **place == 0) else {
            return Ok(false);
        };
        *place = self.bytes.len() as u32;
        let size_bytes = match size {
            Size::OfType(bytes) | Size::Own(bytes) => bytes,
        };
        let clipped = i32::try_from(size_bytes).unwrap_or(i32::MAX);
        let is_own = matches!(size, Size::Own(_));
        self.oversized += u64::from(clipped.cast_unsigned() as u64 != size_bytes);
        self.total_bytes += i64::from(clipped);
        self.references += children.len() as u64;
        compress(&mut self.bytes, (kind << 1 | u32::from(is_own)).cast_signed());
        if is_own {
            compress(&mut self.bytes, clipped);
        }
        let count = i32::try_from(children.len()).map_err(|_| self.too_large())?;
        compress(&mut self.bytes, count);
        for child in children {
            compress(&mut self.bytes, child.cast_signed().wrapping_sub(node.cast_signed()));
        }
        if self.bytes.len() > MAX { Err(self.too_large()) } else { Ok(true) }
    }
}

/// The size of a node in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// The type says the same.
    OfType(u64),
    Own(u64),
}

/// Appends a number in as few bytes as possible, the highest 7 bits first.
fn compress(out: &mut Vec<u8>, value: i32) {
    let fits = |bits: u32| value << (32 - bits) >> (32 - bits) == value;
    let more = (1..5).find(|bytes| *bytes == 5 || fits(bytes * 7)).unwrap_or(5) - 1;
    for shift in (1..=more).rev() {
        out.push((value >> (shift * 7)) as u8 | 0x80);
    }
    out.push(value as u8 & 0x7f);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::compress;
    use crate::exchange::gcdump::nodes::compressed;

    proptest! {
        #[test]
        fn numbers_come_back(value: i32, shift in 0_u32..32) {
            let value = value >> shift;
            let mut out = Vec::new();
            compress(&mut out, value);
            let mut rest = out.as_slice();
            prop_assert_eq!(compressed(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
        }
    }
}
