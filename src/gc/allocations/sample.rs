//! The events that are samples of allocations.

use crate::gc::events::Cursor;
use crate::gc::named::named;

/// AllocationTick.
pub(super) const TICK: u32 = 10;
/// AllocationSampled.
pub(super) const SAMPLED: u32 = 303;

named! {
    /// Where objects are allocated.
    Heap {
        /// Gen0.
        Small = "small",
        /// The large object heap.
        Large = "large",
        /// The heap of pinned objects.
        Pinned = "pinned",
    }
}

impl Heap {
    fn of(kind: u32) -> Option<Heap> {
        [Heap::Small, Heap::Large, Heap::Pinned].into_iter().nth(kind as usize)
    }
}

/// An object that was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample<'a> {
    pub(super) heap: Heap,
    /// In UTF-16.
    pub(super) type_name: &'a [u8],
    pub(super) object_bytes: u64,
    /// AllocationTick: all bytes since the last one. `None`: it is an AllocationSampled.
    pub(super) since_last_bytes: Option<u64>,
}

/// Decodes one of the two events; `None` for others, and for payloads that are too short or come from before .NET 6.
pub(super) fn decode(id: u32, payload: &[u8], pointer_size: u32) -> Option<Sample<'_>> {
    let mut c = Cursor::new(payload, pointer_size);
    match id {
        TICK => {
            c.skip(4)?;
            let heap = Heap::of(c.u32()?)?;
            c.skip(2)?;
            let amount = c.u64()?;
            c.pointer()?;
            let type_name = utf16_bytes(&mut c)?;
            c.u32()?;
            c.pointer()?;
            let object_bytes = c.u64()?;
            Some(Sample { heap, type_name, object_bytes, since_last_bytes: Some(amount) })
        }
        SAMPLED => {
            let heap = Heap::of(c.u32()?)?;
            c.skip(2)?;
            c.pointer()?;
            let type_name = utf16_bytes(&mut c)?;
            c.pointer()?;
            Some(Sample { heap, type_name, object_bytes: c.u64()?, since_last_bytes: None })
        }
        _ => None,
    }
}

/// A name up to its NUL, which is skipped.
fn utf16_bytes<'a>(c: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let bytes = c.bytes;
    let units = bytes.chunks_exact(2).position(|unit| unit == [0, 0])?;
    c.skip(units * 2 + 2)?;
    bytes.get(..units * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_events() {
        let name: Vec<u8> = "T\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut tick = Vec::new();
        tick.extend(102_500_u32.to_le_bytes());
        tick.extend(1_u32.to_le_bytes());
        tick.extend([0; 2]);
        tick.extend(102_500_u64.to_le_bytes());
        tick.extend([0; 8]);
        tick.extend(&name);
        tick.extend([0; 12]);
        tick.extend(90_000_u64.to_le_bytes());
        let seen = decode(TICK, &tick, 8).expect("it is whole");
        assert_eq!(
            (seen.heap, seen.object_bytes, seen.since_last_bytes),
            (Heap::Large, 90_000, Some(102_500))
        );
        assert_eq!(seen.type_name, b"T\0");
        assert_eq!(decode(TICK, &tick[..tick.len() - 1], 8), None);

        let mut sampled = 2_u32.to_le_bytes().to_vec();
        sampled.extend([0; 10]);
        sampled.extend(&name);
        sampled.extend([0; 8]);
        sampled.extend(24_u64.to_le_bytes());
        sampled.extend([0; 8]);
        let seen = decode(SAMPLED, &sampled, 8).expect("it is whole");
        assert_eq!((seen.heap, seen.object_bytes, seen.since_last_bytes), (Heap::Pinned, 24, None));
        for len in 0..40 {
            let _ = decode(SAMPLED, &sampled[..len], 4);
        }
    }
}
