//! Buffers of blocks: filled once from the stream, lent out as slices, used again when nothing refers to them.

use super::deferred::LeftOut;

/// Buffers kept for later, in bytes of capacity. Runtimes write blocks of up to 100 KiB.
const KEPT_BYTES: usize = 8 << 20;

/// Memory of a block besides its bytes: its entry, and what the allocator adds.
const OVERHEAD_BYTES: usize = size_of::<Block>() + 32;

/// Index of a block in [`Blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

#[derive(Debug, Default)]
struct Block {
    data: Vec<u8>,
    /// Offset in the stream of `data[0]`.
    offset: u64,
    /// Payloads that are not in `data`.
    left_out: LeftOut,
    /// Held events, stacks and cursors that point into it.
    users: u32,
}

impl Block {
    fn size(&self) -> usize {
        self.data.capacity() + self.left_out.at.capacity() * size_of::<u32>() + OVERHEAD_BYTES
    }
}

#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
    bytes: usize,
}

impl Blocks {
    /// An empty buffer, a used one where there is one.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        let buffer = self.spare.pop().unwrap_or_default();
        self.spare_bytes -= buffer.capacity();
        buffer
    }

    /// Takes back a buffer that nothing was made of.
    pub(super) fn recycle(&mut self, mut buffer: Vec<u8>) {
        if self.spare_bytes + buffer.capacity() <= KEPT_BYTES {
            buffer.clear();
            self.spare_bytes += buffer.capacity();
            self.spare.push(buffer);
        }
    }

    /// Stores a block with one user.
    pub(super) fn insert(&mut self, data: Vec<u8>, offset: u64, left_out: LeftOut) -> Slot {
        let block = Block { data, offset, left_out, users: 1 };
        self.bytes += block.size();
        match self.free.pop() {
            Some(index) => {
                self.blocks[index as usize] = block;
                Slot(index)
            }
            None => {
                self.blocks.push(block);
                Slot((self.blocks.len() - 1) as u32)
            }
        }
    }

    #[inline]
    pub(super) fn data(&self, slot: Slot) -> &[u8] {
        &self.blocks[slot.0 as usize].data
    }

    /// What of a block was left out.
    #[inline]
    pub(super) fn left_out(&self, slot: Slot) -> &LeftOut {
        &self.blocks[slot.0 as usize].left_out
    }

    /// A part of a block; empty where the range is not inside it, which the parsers have excluded.
    #[inline]
    pub(super) fn slice(&self, slot: Slot, at: u32, len: u32) -> &[u8] {
        self.data(slot).get(at as usize..).and_then(|rest| rest.get(..len as usize)).unwrap_or_default()
    }

    pub(super) fn offset(&self, slot: Slot) -> u64 {
        self.blocks[slot.0 as usize].offset
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
            block.left_out = LeftOut::default();
            let data = std::mem::take(&mut block.data);
            self.free.push(slot.0);
            self.recycle(data);
        }
    }

    /// Memory that a block takes, which can be more than its length: buffers are used again.
    pub(super) fn size(&self, slot: Slot) -> usize {
        self.blocks[slot.0 as usize].size()
    }

    /// Gives back what a block's buffer has beyond its bytes. For blocks that are kept for long. No one else may use
    /// it yet.
    pub(super) fn shrink(&mut self, slot: Slot) {
        let block = &mut self.blocks[slot.0 as usize];
        self.bytes -= block.size();
        // A buffer that is used again may be a thousand times as large.
        if block.data.capacity() > block.data.len() * 2 {
            let exact = block.data.as_slice().into();
            let buffer = std::mem::replace(&mut block.data, exact);
            self.bytes += block.size();
            self.recycle(buffer);
        } else {
            self.bytes += block.size();
        }
    }

    /// Memory of all blocks that are in use.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
