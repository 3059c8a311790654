//! Bytes of the graph, put together in memory that was mapped for them.

use core::ptr::NonNull;

use crate::sys;

/// Memory that was mapped at once, and of which parts are used for good.
#[derive(Debug)]
pub(super) struct Room {
    next: *mut u8,
    left: usize,
}

impl Room {
    /// Maps so many bytes, of which few may be used.
    pub(super) fn map(length: usize) -> Option<Self> {
        Some(Self { next: sys::map_sparse(length)?.as_ptr(), left: length })
    }

    /// The next part: zeroed, and aligned to a cache line.
    pub(super) fn take(&mut self, length: usize) -> Option<NonNull<u8>> {
        const LINE: usize = 64;
        let length = length.checked_next_multiple_of(LINE)?;
        self.left = self.left.checked_sub(length)?;
        let part = NonNull::new(self.next)?;
        self.next = self.next.wrapping_add(length);
        Some(part)
    }
}

/// A buffer. What does not fit is dropped, and noted.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: &'static mut [u8],
    used: usize,
    pub(super) overflowed: bool,
}

impl Buffer {
    /// A buffer in this memory.
    pub(super) fn within(room: &mut Room, length: usize) -> Option<Self> {
        let memory = room.take(length)?;
        // SAFETY: a part of this length, zeroed, and nobody else has the pointer.
        let bytes = unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), length) };
        Some(Self { bytes, used: 0, overflowed: false })
    }

    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    /// Appends bytes.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let end = self.used.saturating_add(bytes.len());
        match self.bytes.get_mut(self.used..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.used = end;
            }
            None => self.overflowed = true,
        }
    }

    #[inline]
    pub(super) fn u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    #[inline]
    pub(super) fn u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    #[inline]
    pub(super) fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a LEB128 number.
    #[inline]
    pub(super) fn varint(&mut self, value: u64) {
        let mut rest = value;
        while rest >= 0x80 {
            self.u8(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.u8(rest as u8);
    }
}

/// The zigzag form of a difference: small numbers for small differences of both signs.
#[inline]
pub(super) fn zigzag(difference: i64) -> u64 {
    (difference.wrapping_shl(1) ^ difference.wrapping_shr(63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_their_format() {
        let mut buffer = Buffer::within(&mut Room::map(64).unwrap(), 64).unwrap();
        for value in [0, 1, 127, 128, 300, u64::MAX] {
            buffer.varint(value);
        }
        assert_eq!(buffer.bytes()[..7], [0, 1, 127, 0x80, 1, 0xac, 2]);
        assert_eq!(buffer.len(), 7 + 10);
        assert_eq!([0, -1, 1, -2, i64::MIN].map(zigzag), [0, 1, 2, 3, u64::MAX]);
    }

    #[test]
    fn what_does_not_fit_is_noted() {
        let mut buffer = Buffer::within(&mut Room::map(64).unwrap(), 8).unwrap();
        buffer.u64(7);
        assert!(!buffer.overflowed);
        buffer.u8(1);
        assert!(buffer.overflowed && buffer.bytes() == 7_u64.to_le_bytes());
        buffer.clear();
        assert_eq!(buffer.len(), 0);
    }
}
