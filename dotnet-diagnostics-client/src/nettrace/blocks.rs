//! Buffers of blocks. They are filled once from the stream, lent out as slices, and reused when nothing refers to them.

use std::ops::Index;

use super::blob::DeferredPayloads;

/// Unused buffers that are kept, in bytes of capacity. Runtimes write blocks of up to 100 KiB.
const MAX_SPARE_BYTES: usize = 8 << 20;

/// Memory of a block in addition to its buffer: its entry, and the bookkeeping of the allocator.
const OVERHEAD_BYTES: usize = size_of::<Block>() + 32;

/// Index of a block in [`Blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) data: Vec<u8>,
    /// Offset in the stream of `data[0]`.
    pub(super) offset: u64,
    /// Payloads that are not in `data`.
    pub(super) deferred: DeferredPayloads,
    /// Held events, stacks and cursors that refer to this block.
    users: u32,
}

impl Block {
    /// Memory in bytes. It can be more than the length, because buffers are reused.
    pub(super) fn size(&self) -> usize {
        self.data.capacity() + self.deferred.at.capacity() * size_of::<u32>() + OVERHEAD_BYTES
    }
}

/// Puts a value at an index that is free, or at the end. Returns the index.
#[inline]
pub(super) fn put<T>(values: &mut Vec<T>, free: &mut Vec<u32>, value: T) -> u32 {
    if let Some(index) = free.pop() {
        values[index as usize] = value;
        return index;
    }
    values.push(value);
    (values.len() - 1) as u32
}

#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
    /// Memory of all blocks in use.
    pub(super) bytes: usize,
}

impl Index<Slot> for Blocks {
    type Output = Block;

    #[inline]
    fn index(&self, slot: Slot) -> &Block {
        &self.blocks[slot.0 as usize]
    }
}

impl Blocks {
    /// An empty buffer, reused if possible.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        let buffer = self.spare.pop().unwrap_or_default();
        self.spare_bytes -= buffer.capacity();
        buffer
    }

    /// Takes back a buffer that has not become a block.
    pub(super) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare_bytes + buffer.capacity() <= MAX_SPARE_BYTES {
            buffer.clear();
            self.spare_bytes += buffer.capacity();
            self.spare.push(buffer);
        }
    }

    /// Stores a block with one user.
    pub(super) fn insert(&mut self, data: Vec<u8>, offset: u64, deferred: DeferredPayloads) -> Slot {
        let block = Block { data, offset, deferred, users: 1 };
        self.bytes += block.size();
        Slot(put(&mut self.blocks, &mut self.free, block))
    }

    /// A part of a block. Empty if the range is not within the block; the parsers exclude that.
    #[inline]
    pub(super) fn slice(&self, slot: Slot, at: u32, len: u32) -> &[u8] {
        self[slot].data.get(at as usize..).and_then(|rest| rest.get(..len as usize)).unwrap_or_default()
    }

    #[inline]
    pub(super) fn retain(&mut self, slot: Slot) {
        self.blocks[slot.0 as usize].users += 1;
    }

    #[inline]
    pub(super) fn release(&mut self, slot: Slot) {
        let block = &mut self.blocks[slot.0 as usize];
        block.users -= 1;
        if block.users == 0 {
            self.bytes -= block.size();
            block.deferred = DeferredPayloads::default();
            let data = std::mem::take(&mut block.data);
            self.free.push(slot.0);
            self.recycle(data);
        }
    }

    /// Frees the unused capacity of a block's buffer, for a block that is kept for long. It may have no other user
    /// yet.
    pub(super) fn shrink(&mut self, slot: Slot) {
        let block = &mut self.blocks[slot.0 as usize];
        // A reused buffer can be a thousand times as large as the block.
        if block.data.capacity() > block.data.len() * 2 {
            self.bytes -= block.size();
            let exact = block.data.as_slice().into();
            let buffer = std::mem::replace(&mut block.data, exact);
            self.bytes += block.size();
            self.recycle(buffer);
        }
    }
}
