//! Objects and their references in the form of `docs/gcgraph.md`.

use super::buffer::{Buffer, Room, zigzag};
use super::output::Output;
use crate::wire::graph::kind;

/// How many references an object has in its block at most.
pub(super) const MAX_REFERENCES: usize = 65_536;
/// A block is sent when it has grown to this size.
const BLOCK_BYTES: usize = 64 * 1024;
/// Room for a block that is nearly full, and the largest row behind it.
const BLOCK_ROOM: usize = BLOCK_BYTES + 64 + 20 * MAX_REFERENCES;
/// Room for the classes that come with one block.
const CLASS_ROOM: usize = 256 * 1024;
const WORD: usize = size_of::<usize>();

/// A reference: the offset of its place in the object, and its target.
pub(super) type Reference = (usize, usize);

/// An object, without its references.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) address: usize,
    pub(super) class: u32,
    /// Size in words.
    pub(super) words: u64,
    /// The length of an array or a string. It comes with the size, which varies.
    pub(super) length: Option<u32>,
    pub(super) hash: Option<u64>,
    /// Offset of the first place where a reference may be.
    pub(super) first_offset: usize,
}

/// The blocks that are put together.
#[derive(Debug)]
pub(super) struct Objects {
    block: Buffer,
    count: u64,
    first: u64,
    /// The end of the last object.
    end: usize,
    /// Classes that the block needs.
    pub(super) classes: Buffer,
    pub(super) class_count: u64,
    pub(super) all_objects: u64,
    pub(super) all_words: u64,
    pub(super) all_references: u64,
}

impl Objects {
    pub(super) fn new(room: &mut Room) -> Option<Self> {
        Some(Self {
            block: Buffer::within(room, BLOCK_ROOM)?,
            count: 0,
            first: 0,
            end: 0,
            classes: Buffer::within(room, CLASS_ROOM)?,
            class_count: 0,
            all_objects: 0,
            all_words: 0,
            all_references: 0,
        })
    }

    /// Adds an object with all its references, or with the first [`MAX_REFERENCES`].
    pub(super) fn add(&mut self, row: Row, references: &[Reference]) {
        if self.count == 0 {
            self.first = row.address as u64;
            self.end = row.address;
        }
        let gap = row.address.wrapping_sub(self.end) as i64 >> 3;
        let head = u64::from(row.class) << 2 | u64::from(gap != 0) << 1 | u64::from(!references.is_empty());
        self.block.varint(head);
        if gap != 0 {
            self.block.varint(zigzag(gap));
        }
        if let Some(length) = row.length {
            self.block.varint(row.words);
            self.block.varint(u64::from(length));
        }
        if let Some(hash) = row.hash {
            self.block.u64(hash);
        }
        if !references.is_empty() {
            self.block.varint(references.len() as u64);
            put(&mut self.block, row.address, row.first_offset, references);
        }
        self.end = row.address.wrapping_add((row.words as usize).wrapping_mul(WORD));
        self.count = self.count.saturating_add(1);
        self.all_objects = self.all_objects.saturating_add(1);
        self.all_words = self.all_words.saturating_add(row.words);
        self.all_references = self.all_references.saturating_add(references.len() as u64);
    }

    /// Sends further references of the last object. `end_offset`: the end of the reference before them.
    pub(super) fn more(
        &mut self,
        output: &mut Output,
        address: usize,
        end_offset: usize,
        references: &[Reference],
    ) {
        self.flush(output);
        self.block.u64(address as u64);
        self.block.varint(end_offset as u64);
        self.block.varint(references.len() as u64);
        put(&mut self.block, address, end_offset, references);
        output.send(kind::MORE, self.block.bytes(), &[]);
        self.block.clear();
        self.all_references = self.all_references.saturating_add(references.len() as u64);
    }

    /// Sends what is there, if it is much.
    pub(super) fn flush_if_full(&mut self, output: &mut Output) {
        if self.block.len() >= BLOCK_BYTES || self.classes.len() >= CLASS_ROOM / 2 {
            self.flush(output);
        }
    }

    /// Sends what is there: the classes first, because the objects need them.
    pub(super) fn flush(&mut self, output: &mut Output) {
        let mut head = Head::default();
        if self.class_count > 0 {
            head.varint(self.class_count);
            output.send(kind::CLASSES, head.bytes(), self.classes.bytes());
            self.classes.clear();
            self.class_count = 0;
        }
        if self.count > 0 {
            let mut head = Head::default();
            head.varint(self.count);
            head.put(&self.first.to_le_bytes());
            output.send(kind::OBJECTS, head.bytes(), self.block.bytes());
            self.block.clear();
            self.count = 0;
        }
    }

    /// Whether something did not fit into a buffer.
    pub(super) fn overflowed(&self) -> bool {
        self.block.overflowed || self.classes.overflowed
    }
}

/// Writes references, whose offsets rise.
fn put(block: &mut Buffer, address: usize, first_offset: usize, references: &[Reference]) {
    let mut end = first_offset;
    for (offset, target) in references {
        let skip = offset.saturating_sub(end) >> 3;
        let distance = target.wrapping_sub(address) as i64 >> 3;
        block.varint(zigzag(distance) << 1 | u64::from(skip != 0));
        if skip != 0 {
            block.varint(skip as u64);
        }
        end = offset.saturating_add(WORD);
    }
}

/// The head of a message: a number or two.
#[derive(Debug, Default)]
pub(super) struct Head {
    bytes: [u8; 32],
    used: usize,
}

impl Head {
    pub(super) fn varint(&mut self, value: u64) {
        let mut rest = value;
        while rest >= 0x80 {
            self.put(&[rest as u8 | 0x80]);
            rest >>= 7;
        }
        self.put(&[rest as u8]);
    }

    fn put(&mut self, bytes: &[u8]) {
        let end = self.used.saturating_add(bytes.len());
        if let Some(place) = self.bytes.get_mut(self.used..end) {
            place.copy_from_slice(bytes);
            self.used = end;
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }
}
