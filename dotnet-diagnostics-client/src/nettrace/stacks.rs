//! The call stacks since the last sequence point.

use std::collections::VecDeque;

use super::blocks::{Blocks, Slot};
use super::bytes::{BlockResult, Bytes, Result};

/// Where the addresses of a stack are.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackRef {
    pub(super) slot: Slot,
    pub(super) at: u32,
    pub(super) len: u32,
}

#[derive(Debug)]
struct StackBlock {
    first_id: u32,
    slot: Slot,
    /// Offset and length of each stack.
    stacks: Vec<(u32, u32)>,
}

/// Keeps the stack blocks themselves, so that no stack is copied.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    blocks: VecDeque<StackBlock>,
    bytes: usize,
}

impl Stacks {
    /// Adds a block and takes over one use of `slot`. Above `limit` bytes the oldest blocks are dropped. Of a damaged
    /// block, the stacks before the damage are kept.
    pub(super) fn insert(&mut self, slot: Slot, limit: usize, blocks: &mut Blocks) -> BlockResult {
        blocks.shrink(slot);
        let mut bytes = Bytes::new(&blocks[slot].data);
        let mut parsed = StackBlock { first_id: 0, slot, stacks: Vec::new() };
        let result = parsed.parse(&mut bytes).map_err(|why| (bytes.position(), why));
        // Ids start again at a sequence point. If they go backwards elsewhere, the newest block counts.
        if self.blocks.back().is_some_and(|last| u64::from(parsed.first_id) < last.end_id()) {
            self.clear(blocks);
        }
        self.bytes += parsed.bytes(blocks);
        self.blocks.push_back(parsed);
        while self.bytes > limit {
            let Some(oldest) = self.blocks.pop_front() else { break };
            self.forget(&oldest, blocks);
        }
        result
    }

    pub(super) fn get(&self, id: u32) -> Option<StackRef> {
        let last = self.blocks.partition_point(|block| block.first_id <= id).checked_sub(1)?;
        let block = self.blocks.get(last)?;
        let &(at, len) = block.stacks.get((id - block.first_id) as usize)?;
        Some(StackRef { slot: block.slot, at, len })
    }

    pub(super) fn clear(&mut self, blocks: &mut Blocks) {
        while let Some(block) = self.blocks.pop_front() {
            self.forget(&block, blocks);
        }
    }

    fn forget(&mut self, block: &StackBlock, blocks: &mut Blocks) {
        self.bytes -= block.bytes(blocks);
        blocks.release(block.slot);
    }
}

impl StackBlock {
    fn parse(&mut self, bytes: &mut Bytes<'_>) -> Result<()> {
        self.first_id = bytes.u32()?;
        let count = bytes.u32()? as usize;
        // A stack has at least its length field, which bounds the memory that a wrong count can reserve.
        self.stacks.reserve_exact(count.min(bytes.remaining() / 4));
        for _ in 0..count {
            let len = bytes.u32()?;
            let at = bytes.position() as u32;
            bytes.take(len as usize)?;
            self.stacks.push((at, len));
        }
        Ok(())
    }

    fn end_id(&self) -> u64 {
        u64::from(self.first_id) + self.stacks.len() as u64
    }

    fn bytes(&self, blocks: &Blocks) -> usize {
        blocks[self.slot].size() + self.stacks.capacity() * size_of::<(u32, u32)>() + size_of::<Self>()
    }
}
