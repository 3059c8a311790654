//! Payloads of the runtime's events, written the way its manifest has them.

use super::runtime::What;

/// What every collection tells.
pub(super) const MEMORY_LOAD_PERCENT: u32 = 71;

/// Appends little-endian fields.
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    pointer_size: u32,
}

impl Bytes {
    pub(super) fn new(pointer_size: u32) -> Bytes {
        Bytes { bytes: Vec::new(), pointer_size }
    }
    fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }
    fn u32<const N: usize>(&mut self, values: [u32; N]) {
        values.into_iter().for_each(|value| self.bytes.extend(value.to_le_bytes()));
    }
    fn u64<const N: usize>(&mut self, values: [u64; N]) {
        values.into_iter().for_each(|value| self.bytes.extend(value.to_le_bytes()));
    }
    fn pointer(&mut self, value: u64) {
        if self.pointer_size == 4 {
            self.u32([u32::try_from(value).expect("an address of 32 bits")]);
        } else {
            self.u64([value]);
        }
    }
}

/// The event's number and payload.
pub(super) fn encode(what: &What, pointer_size: u32) -> (u32, Vec<u8>) {
    let mut b = Bytes::new(pointer_size);
    let id = match what {
        What::Start { number, generation, reason, kind } => {
            b.u32([*number, *generation, *reason, *kind]);
            b.u16(0);
            b.u64([0]);
            1
        }
        What::End { number, generation } => {
            b.u32([*number, *generation]);
            b.u16(0);
            2
        }
        What::RestartEnd => 3,
        What::Stats(stats) => {
            for (size, promoted) in &stats.generations[..4] {
                b.u64([*size, *promoted]);
            }
            b.u64([stats.finalization_bytes, stats.finalization_objects]);
            b.u32([stats.pinned, 7, stats.handles]);
            b.u16(0);
            if let Some((size, promoted)) = stats.generations.get(4) {
                b.u64([*size, *promoted]);
            }
            4
        }
        What::RestartBegin => 7,
        What::SuspendEnd => 8,
        What::SuspendBegin { reason } => {
            b.u32([*reason, 0]);
            9
        }
        What::Surviving { index, ranges } => {
            b.u32([*index, ranges.len() as u32]);
            b.u16(0);
            for (start, bytes) in ranges {
                b.pointer(*start);
                b.u64([*bytes]);
            }
            21
        }
        What::Moved { index, ranges } => {
            b.u32([*index, ranges.len() as u32]);
            b.u16(0);
            for (old, new, bytes) in ranges {
                b.pointer(*old);
                b.pointer(*new);
                b.u64([*bytes]);
            }
            22
        }
        What::Bound { generation, start, bytes } => {
            b.bytes.push(*generation);
            b.pointer(*start);
            b.u64([*bytes, *bytes]);
            23
        }
        What::Triggered { reason } => {
            b.u32([*reason]);
            35
        }
        What::Committed { in_use, free } => {
            "CommittedUsage\0".encode_utf16().for_each(|unit| b.u16(unit));
            b.u32([42]);
            b.u16(1);
            b.u64([*in_use, 3, *free, 5, 7]);
            39
        }
        What::Mark { heap, mark_type, bytes } => {
            b.u32([*heap]);
            b.u16(0);
            b.u32([*mark_type]);
            b.u64([*bytes]);
            202
        }
        What::PerHeap { heap, reasons, generations } => {
            b.u16(0);
            (0..6).for_each(|v| b.pointer(v));
            b.u32([0, reasons[0], reasons[1], 0, 0, *heap]);
            b.pointer(0);
            b.u32([generations.len() as u32]);
            for g in generations {
                for value in
                    [g.before, 1, 2, g.after, g.free_list, g.free_objects, 3, g.pinned, g.survived, 4]
                {
                    b.pointer(value);
                }
            }
            204
        }
        What::Global { heaps, generation, mechanisms } => {
            b.u64([0]);
            b.u32([*heaps, *generation]);
            b.u64([0]);
            b.u32([*mechanisms]);
            b.u16(0);
            b.u32([1, MEMORY_LOAD_PERCENT]);
            205
        }
        What::LohCompact => 208,
    };
    (id, b.bytes)
}
