//! Bounds-checked reading and writing of little-endian fields.

use core::fmt;

/// A payload that is too short for its event, or a buffer that is too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The payload ends inside a field or a table.
    Truncated {
        /// Offset of the missing field or table in bytes.
        offset: usize,
        /// Its size in bytes.
        requested: usize,
        /// How many bytes are left.
        available: usize,
    },
    /// The encoder's buffer has no room for the next field.
    BufferFull {
        /// Size of the buffer in bytes.
        capacity: usize,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { offset, requested, available } => write!(
                f,
                "event payload ends early: {requested} bytes expected at offset {offset}, {available} left"
            ),
            Self::BufferFull { capacity } => {
                write!(f, "event does not fit into its buffer of {capacity} bytes")
            }
        }
    }
}

impl core::error::Error for WireError {}

/// Takes fields from the front of a payload.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, offset: 0 }
    }

    /// The bytes that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether no byte is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let Some((head, rest)) = self.rest.split_at_checked(length) else {
            return Err(WireError::Truncated {
                offset: self.offset,
                requested: length,
                available: self.rest.len(),
            });
        };
        self.rest = rest;
        self.offset = self.offset.saturating_add(length);
        Ok(head)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, WireError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn i32(&mut self) -> Result<i32, WireError> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array()?))
    }
}

/// Appends fields to a buffer. If one does not fit, [`Writer::finish`] fails.
#[derive(Debug)]
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    length: usize,
    full: bool,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, length: 0, full: false }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.length.saturating_add(bytes.len());
        match self.buffer.get_mut(self.length..end) {
            Some(space) if !self.full => {
                space.copy_from_slice(bytes);
                self.length = end;
            }
            _ => self.full = true,
        }
    }

    #[inline(never)]
    pub(crate) fn u8(&mut self, value: u8) {
        self.bytes(&value.to_le_bytes());
    }

    #[inline(never)]
    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    #[inline(never)]
    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    #[inline(never)]
    pub(crate) fn i32(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    #[inline(never)]
    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// A table, with its 16-bit number of rows in front.
    pub(crate) fn rows<T>(&mut self, rows: impl Iterator<Item = T>, write: impl Fn(&T, &mut Self)) {
        let at = self.length;
        self.u16(0);
        let mut count = 0_u16;
        rows.for_each(|row| {
            write(&row, self);
            count = count.saturating_add(1);
        });
        let end = at.saturating_add(2);
        if let (Some(space), false) = (self.buffer.get_mut(at..end), self.full) {
            space.copy_from_slice(&count.to_le_bytes());
        }
    }

    /// The number of bytes written.
    pub(crate) fn finish(self) -> Result<usize, WireError> {
        if self.full { Err(WireError::BufferFull { capacity: self.buffer.len() }) } else { Ok(self.length) }
    }
}
