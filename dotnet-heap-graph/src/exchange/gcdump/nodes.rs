//! The nodes of the graph.

use super::graph::Contents;
use crate::exchange::{Error, Result};

const CUT: &str = "a node ends behind the last node";
const PLACE: &str = "a node is behind the last node";
const TYPE: &str = "a node has a type that was not described";
const COUNT: &str = "a node has a negative size or number of references";
const CHILD: &str = "a node refers to one that is not there";
const OVERLAP: &str = "nodes overlap";

/// A node without an object here is one that others refer to, but that the file does not describe.
const UNDEFINED: u32 = 0;

/// A node without its references.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: u32,
    pub(super) size_bytes: u32,
}

/// How many bytes may still be read. Nodes that lie over each other would make a file seem larger than it is.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Contents {
    /// A node that the file describes.
    pub(super) fn is_defined(&self, node: u32) -> bool {
        self.places.get(node as usize).is_some_and(|place| *place != UNDEFINED)
    }

    pub(super) fn address(&self, node: u32) -> u64 {
        self.addresses.get(node as usize).copied().unwrap_or(0)
    }

    /// Enough to read each node once.
    pub(super) fn budget(&self) -> Budget {
        Budget(self.blob.len().saturating_add(16 * self.places.len()))
    }

    /// The type and the size of a node, and the nodes that it refers to, if they are wanted.
    pub(super) fn node(
        &self,
        node: u32,
        children: Option<&mut Vec<u32>>,
        budget: &mut Budget,
    ) -> Result<Node> {
        let place = self.places.get(node as usize).map_or(usize::MAX, |place| *place as usize);
        let wrong = |why| Error::Malformed { offset: self.blob_offset.saturating_add(place as u64), why };
        let mut rest = self.blob.get(place..).ok_or_else(|| wrong(PLACE))?;
        let before = rest.len();
        let mut next = || compressed(&mut rest).ok_or_else(|| wrong(CUT));
        let head = next()?.cast_unsigned();
        let kind = (head >> 1) & (u32::MAX >> 1);
        let found = self.types.get(kind as usize).ok_or_else(|| wrong(TYPE))?;
        let size_bytes = if head & 1 != 0 { next()? } else { found.size_bytes.max(0) };
        let size_bytes = u32::try_from(size_bytes).map_err(|_| wrong(COUNT))?;
        let count = u32::try_from(next()?).map_err(|_| wrong(COUNT))?;
        if let Some(children) = children {
            children.clear();
            for _child in 0..count {
                let child = node.checked_add_signed(next()?).filter(|child| self.has(*child));
                children.push(child.ok_or_else(|| wrong(CHILD))?);
            }
        }
        budget.0 = budget.0.checked_sub(before - rest.len()).ok_or_else(|| wrong(OVERLAP))?;
        Ok(Node { kind, size_bytes })
    }

    pub(super) fn has(&self, node: u32) -> bool {
        (node as usize) < self.places.len()
    }
}

/// A signed number of 1 to 5 bytes: 7 bits each, the highest first; the first bit of all but the last byte is set.
#[inline]
pub(super) fn compressed(bytes: &mut &[u8]) -> Option<i32> {
    let (first, mut rest) = bytes.split_first()?;
    // The sign is the highest of the first 7 bits.
    let mut value = i32::from(((*first << 1).cast_signed()) >> 1);
    let mut more = first & 0x80 != 0;
    for _byte in 0..4 {
        if !more {
            break;
        }
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        value = (value << 7) | i32::from(byte & 0x7f);
        more = byte & 0x80 != 0;
    }
    *bytes = rest;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::compressed;

    #[test]
    fn numbers_have_their_sign_in_the_first_byte() {
        let read = |mut bytes: &[u8]| (compressed(&mut bytes), bytes.len());
        assert_eq!(read(&[0x3f, 9]), (Some(63), 1));
        assert_eq!(read(&[0x40]), (Some(-64), 0));
        assert_eq!(read(&[0x7f]), (Some(-1), 0));
        assert_eq!(read(&[0x80, 0x40]), (Some(64), 0));
        assert_eq!(read(&[0xff, 0x3f]), (Some(-65), 0));
        assert_eq!(read(&[0x87, 0xff, 0xff, 0xff, 0x7f]), (Some(i32::MAX), 0));
        assert_eq!(read(&[0xf8, 0x80, 0x80, 0x80, 0x00]), (Some(i32::MIN), 0));
        assert_eq!(read(&[0x80]).0, None);
        assert_eq!(read(&[]).0, None);
    }
}
