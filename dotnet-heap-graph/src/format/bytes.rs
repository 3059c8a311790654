//! A little-endian reader over a slice. Every read is checked against the end of the slice.

/// Why the payload of a frame cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub(crate) &'static str);

const CUT: Malformed = Malformed("it ends in the middle of a value");
const VARINT: Malformed = Malformed("a number has more than 64 bits");
const TEXT: Malformed = Malformed("a text is not UTF-8");

pub(crate) type Result<T> = std::result::Result<T, Malformed>;

/// What is left of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(CUT)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// UTF-8 after its length in bytes.
    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let len = usize::try_from(self.varint()?).map_err(|_| CUT)?;
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(CUT)?;
        self.rest = rest;
        std::str::from_utf8(taken).map_err(|_| TEXT)
    }

    /// LEB128 of at most 64 bits.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Result<u64> {
        let (first, rest) = self.rest.split_first().ok_or(CUT)?;
        if *first < 0x80 {
            self.rest = rest;
            return Ok(u64::from(*first));
        }
        self.long_varint()
    }

    /// A number of up to 8 bytes comes out of one word without a loop; almost all numbers of a graph are that short.
    #[inline]
    fn long_varint(&mut self) -> Result<u64> {
        let Some(eight) = self.rest.first_chunk::<8>() else { return self.slow_varint() };
        let word = u64::from_le_bytes(*eight);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.slow_varint();
        }
        let bits = ends.trailing_zeros() + 1;
        let groups = word & (u64::MAX >> (64 - bits)) & 0x7f7f_7f7f_7f7f_7f7f;
        let pairs = (groups & 0x007f_007f_007f_007f) | ((groups & 0x7f00_7f00_7f00_7f00) >> 1);
        let quads = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
        self.rest = self.rest.get(bits as usize / 8..).unwrap_or_default();
        Ok((quads & 0x0fff_ffff) | ((quads & 0x0fff_ffff_0000_0000) >> 4))
    }

    #[cold]
    fn slow_varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
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
}

#[inline]
pub(crate) fn unzigzag(zigzag: u64) -> i64 {
    (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()
}

#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Appends LEB128.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends LEB128 in zigzag form.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, zigzag(value));
}

/// Appends UTF-8 after its length in bytes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn varints_are_checked_to_the_last_bit() {
        let read = |bytes: &[u8]| Bytes::new(bytes).varint();
        assert_eq!(read(&[0x7f]), Ok(127));
        assert_eq!(read(&[0x80, 0x01]), Ok(128));
        assert_eq!(read(&[0xff; 9]), Err(CUT));
        let mut ten = [0xff; 10];
        ten[9] = 1;
        assert_eq!(read(&ten), Ok(u64::MAX));
        ten[9] = 2;
        assert_eq!(read(&ten), Err(VARINT));
    }

    #[test]
    fn text_ends_where_its_length_says() {
        assert_eq!(Bytes::new(&[2, b'a', b'b', b'c']).text(), Ok("ab"));
        assert_eq!(Bytes::new(&[4, b'a', b'b', b'c']).text(), Err(CUT));
        assert_eq!(Bytes::new(&[1, 0xff]).text(), Err(TEXT));
    }

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<u64>, shifts: Vec<u8>, signed: i64) {
            let values: Vec<u64> = values.iter().zip(&shifts).map(|(v, s)| v >> (s % 64)).collect();
            let mut out = Vec::new();
            values.iter().for_each(|value| put_varint(&mut out, *value));
            put_signed(&mut out, signed);
            let mut bytes = Bytes::new(&out);
            for value in values {
                prop_assert_eq!(bytes.varint(), Ok(value));
            }
            prop_assert_eq!(bytes.varint().map(unzigzag), Ok(signed));
            prop_assert!(bytes.is_empty());
        }
    }
}
