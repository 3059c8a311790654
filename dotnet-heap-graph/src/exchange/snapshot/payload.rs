//! Reads the payloads of events. A payload that ends too early has no further values.

/// What is left of a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'a> {
    rest: &'a [u8],
}

impl<'a> Payload<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// UTF-16 up to a zero.
    pub(super) fn text(&mut self) -> Option<String> {
        let (units, _) = self.rest.as_chunks::<2>();
        let len = units.iter().position(|unit| *unit == [0, 0])?;
        let text = units.iter().take(len).map(|unit| u16::from_le_bytes(*unit));
        let text = char::decode_utf16(text).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        self.rest = self.rest.get(2 * len + 2..)?;
        Some(text)
    }
}
