//! Reads the fields of a payload.

/// A bounded little-endian cursor.
#[derive(Debug, Clone, Copy)]
pub(in crate::gc) struct Cursor<'a> {
    pub(in crate::gc) bytes: &'a [u8],
    pub(in crate::gc) pointer_size: u32,
}

impl<'a> Cursor<'a> {
    pub(in crate::gc) fn new(bytes: &'a [u8], pointer_size: u32) -> Cursor<'a> {
        Cursor { bytes, pointer_size }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*head)
    }
    pub(in crate::gc) fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|b| b[0])
    }
    pub(in crate::gc) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }
    pub(in crate::gc) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
    pub(in crate::gc) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
    pub(in crate::gc) fn pointer(&mut self) -> Option<u64> {
        if self.pointer_size == 4 { self.u32().map(u64::from) } else { self.u64() }
    }
    pub(in crate::gc) fn skip(&mut self, n: usize) -> Option<()> {
        self.bytes = self.bytes.get(n..)?;
        Some(())
    }
    /// UTF-16 up to a 16-bit NUL; a missing one ends at the payload's end (old writers).
    pub(in crate::gc) fn utf16(&mut self) -> String {
        let units: Vec<u16> = self
            .bytes
            .chunks_exact(2)
            .map(|c| u16::from_le_bytes([c[0], c[1]]))
            .take_while(|&u| u != 0)
            .collect();
        self.bytes = self.bytes.get(units.len() * 2 + 2..).unwrap_or_default();
        String::from_utf16_lossy(&units)
    }
}
