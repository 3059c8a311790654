//! A little-endian reader over a slice. Every read is checked against the end of the slice.

/// Why a part of a block cannot be read. Together with the offset it becomes an [`Error`](super::Error).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

const TRUNCATED: Malformed = Malformed("it ends in the middle of a value");
const VARINT: Malformed = Malformed("a variable-length number does not fit its type");

pub(super) type Result<T> = std::result::Result<T, Malformed>;

/// Of a block: where in it the part starts that cannot be read, and why.
pub(super) type BlockResult = std::result::Result<(), (usize, Malformed)>;

/// A position in a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    data: &'a [u8],
    at: usize,
}

macro_rules! fixed {
    ($($name:ident $t:ty),*) => {$(
        #[inline]
        pub(super) fn $name(&mut self) -> Result<$t> {
            self.array().map(<$t>::from_le_bytes)
        }
    )*};
}

impl<'a> Bytes<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self::starting_at(data, 0)
    }

    /// A reader whose next byte is `data[at]`. At a position past the end there is nothing to read.
    #[inline]
    pub(super) fn starting_at(data: &'a [u8], at: usize) -> Self {
        Self { data, at: at.min(data.len()) }
    }

    #[inline]
    pub(super) fn position(&self) -> usize {
        self.at
    }

    #[inline]
    pub(super) fn remaining(&self) -> usize {
        self.data.len() - self.at
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.at == self.data.len()
    }

    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let (taken, _) = rest.split_at_checked(len).ok_or(TRUNCATED)?;
        self.at += len;
        Ok(taken)
    }

    /// Goes to an absolute position. It cannot go backwards, so no length in the stream makes a reader loop.
    #[inline]
    pub(super) fn skip_to(&mut self, at: usize) -> Result<()> {
        if at < self.at || at > self.data.len() {
            return Err(TRUNCATED);
        }
        self.at = at;
        Ok(())
    }

    /// Goes to any absolute position, or to the end.
    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at.min(self.data.len());
    }

    /// The bytes from here to the position of another reader of the same slice.
    pub(super) fn between(&self, end: &Self) -> &'a [u8] {
        self.data.get(self.at..end.at).unwrap_or_default()
    }

    /// What is left.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    /// A reader of the next `len` bytes.
    pub(super) fn split(&mut self, len: usize) -> Result<Bytes<'a>> {
        self.take(len).map(Bytes::new)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let taken = rest.first_chunk::<N>().ok_or(TRUNCATED)?;
        self.at += N;
        Ok(*taken)
    }

    fixed!(u8 u8, u16 u16, i16 i16, u32 u32, u64 u64, i64 i64);

    /// LEB128 of at most 10 bytes. Bits beyond the 64th are an error.
    #[inline]
    pub(super) fn varu64(&mut self) -> Result<u64> {
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        self.varu64_rest(u64::from(first & 0x7f))
    }

    fn varu64_rest(&mut self, mut value: u64) -> Result<u64> {
        for shift in (7..63).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        match self.u8()? {
            last @ (0 | 1) => Ok(value | u64::from(last) << 63),
            _ => Err(VARINT),
        }
    }

    #[inline]
    pub(super) fn varu32(&mut self) -> Result<u32> {
        u32::try_from(self.varu64()?).map_err(|_| VARINT)
    }

    /// Zigzag LEB128.
    pub(super) fn varint(&mut self) -> Result<i64> {
        let zigzag = self.varu64()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// The bytes of a UTF-16 text that ends with a NUL, without it.
    pub(super) fn until_nul16(&mut self) -> Result<&'a [u8]> {
        let (units, _) = self.rest().as_chunks::<2>();
        let len = units.iter().position(|unit| *unit == [0, 0]).ok_or(TRUNCATED)?;
        let text = self.take(len * 2)?;
        self.at += 2;
        Ok(text)
    }

    /// The bytes of a text that ends with a zero byte, without it.
    pub(super) fn until_nul8(&mut self) -> Result<&'a [u8]> {
        let len = self.rest().iter().position(|byte| *byte == 0).ok_or(TRUNCATED)?;
        let text = self.take(len)?;
        self.at += 1;
        Ok(text)
    }

    /// UTF-16 that ends with a NUL. Unpaired surrogates become U+FFFD.
    pub(super) fn utf16z(&mut self) -> Result<Box<str>> {
        let (units, _) = self.until_nul16()?.as_chunks::<2>();
        let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
        Ok(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }

    /// UTF-8 after its length in bytes, the text of version 6. Invalid bytes become U+FFFD.
    pub(super) fn utf8(&mut self) -> Result<Box<str>> {
        let len = self.varu32()? as usize;
        Ok(String::from_utf8_lossy(self.take(len)?).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_checked_to_the_last_bit() {
        let read = |bytes: &[u8]| Bytes::new(bytes).varu64();
        assert_eq!(read(&[0x7f]), Ok(127));
        assert_eq!(read(&[0x80, 0x01]), Ok(128));
        assert_eq!(read(&[0xff; 9]), Err(TRUNCATED));
        let mut ten = [0xff; 10];
        ten[9] = 1;
        assert_eq!(read(&ten), Ok(u64::MAX));
        ten[9] = 2;
        assert_eq!(read(&ten), Err(VARINT));
        assert_eq!(Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).varu32(), Ok(u32::MAX));
        assert_eq!(Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varu32(), Err(VARINT));
    }

    #[test]
    fn a_sub_reader_ends_at_its_length() {
        let mut whole = Bytes::new(&[1, 2, 3, 4]);
        let mut part = whole.split(3).unwrap();
        assert_eq!(part.u16(), Ok(0x0201));
        assert_eq!(part.u16(), Err(TRUNCATED));
        assert_eq!(part.u8(), Ok(3));
        assert!(part.is_empty());
        assert_eq!(whole.u8(), Ok(4));
        assert_eq!(whole.take(usize::MAX), Err(TRUNCATED));
        assert_eq!(whole.skip_to(1), Err(TRUNCATED), "backwards");
    }

    #[test]
    fn text_needs_its_terminator() {
        let mut text = Bytes::new(&[b'a', 0, 0x3d, 0xd8, 0, 0, b'b', 0]);
        assert_eq!(&*text.utf16z().unwrap(), "a\u{fffd}");
        assert_eq!(text.utf16z(), Err(TRUNCATED));
    }
}
