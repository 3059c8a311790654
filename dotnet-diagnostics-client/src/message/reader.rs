//! Decodes payloads. Every length is checked; no input causes a panic.

use crate::guid::Guid;

use super::error::ProtocolError;

/// A cursor over a payload.
#[derive(Debug, Clone)]
pub(crate) struct PayloadReader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> PayloadReader<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, length: payload.len() }
    }

    fn truncated(&self, requested: u64) -> ProtocolError {
        ProtocolError::Truncated {
            offset: self.length - self.rest.len(),
            requested,
            available: self.rest.len(),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated(N as u64))?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, ProtocolError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, ProtocolError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn guid(&mut self) -> Result<Guid, ProtocolError> {
        self.array().map(Guid::from_bytes)
    }

    /// A text. Unpaired surrogates become U+FFFD. Without a text (length 0), it is empty.
    pub(crate) fn str16(&mut self) -> Result<String, ProtocolError> {
        let byte_length = u64::from(self.u32()?) * 2;
        let (text, rest) = usize::try_from(byte_length)
            .ok()
            .and_then(|length| self.rest.split_at_checked(length))
            .ok_or_else(|| self.truncated(byte_length))?;
        self.rest = rest;
        let mut units: Vec<u16> =
            text.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        if units.last() == Some(&0) {
            units.pop();
        }
        Ok(String::from_utf16_lossy(&units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::writer::PayloadWriter;
    use proptest::prelude::*;

    #[test]
    fn text_has_its_length_in_units_with_the_nul() {
        let mut writer = PayloadWriter::default();
        writer.str16("text", Some("a😀")).str16("none", None);
        assert_eq!(writer.finish().unwrap(), [4, 0, 0, 0, b'a', 0, 0x3d, 0xd8, 0x00, 0xde, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_length_beyond_the_payload_is_an_error_with_its_offset() {
        let mut reader = PayloadReader::new(&[1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]);
        assert_eq!(reader.str16(), Ok(String::new()));
        assert_eq!(
            reader.str16(),
            Err(ProtocolError::Truncated { offset: 10, requested: 2 * 0xffff_ffff, available: 2 })
        );
    }

    proptest! {
        #[test]
        fn values_round_trip(a: u8, b: u32, c: u64, guid: u128, text in "[^\0]{0,40}") {
            let mut writer = PayloadWriter::default();
            writer.u32(b).u64(c).guid(Guid::from_u128(guid)).str16("text", Some(&text)).u8(a);
            let bytes = writer.finish().unwrap();
            let mut reader = PayloadReader::new(&bytes);
            prop_assert_eq!(reader.u32(), Ok(b));
            prop_assert_eq!(reader.u64(), Ok(c));
            prop_assert_eq!(reader.guid(), Ok(Guid::from_u128(guid)));
            prop_assert_eq!(reader.str16(), Ok(text));
            prop_assert_eq!(reader.array(), Ok([a]));
            prop_assert!(reader.u32().is_err());
        }

        #[test]
        fn any_bytes_are_decoded_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), steps in prop::collection::vec(0..4u8, 0..16)) {
            let mut reader = PayloadReader::new(&bytes);
            for step in steps {
                let before = reader.rest.len();
                let ok = match step {
                    0 => reader.u32().is_ok(),
                    1 => reader.u64().is_ok(),
                    2 => reader.guid().is_ok(),
                    _ => reader.str16().is_ok(),
                };
                prop_assert!(!ok || reader.rest.len() < before);
            }
        }
    }
}
