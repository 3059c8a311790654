//! Encodes payloads, and refuses values that a runtime cannot decode.

use crate::guid::Guid;

use super::error::InvalidRequest;

/// Encodes a payload. [`finish`](Self::finish) reports the first invalid value.
#[derive(Debug, Default)]
pub(crate) struct PayloadWriter {
    bytes: Vec<u8>,
    invalid: Option<InvalidRequest>,
}

impl PayloadWriter {
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(value.into())
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn guid(&mut self, value: Guid) -> &mut Self {
        self.bytes(&value.to_bytes())
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(value);
        self
    }

    /// The 32-bit count before an array.
    pub(crate) fn count(&mut self, count: usize) -> &mut Self {
        match u32::try_from(count) {
            Ok(count) => self.u32(count),
            Err(_) => self.refuse(InvalidRequest::TooLong { length: count }),
        }
    }

    /// A text in UTF-16 after its length in units, with a NUL at its end. `None` is a length of 0.
    pub(crate) fn str16(&mut self, what: &'static str, text: Option<&str>) -> &mut Self {
        let Some(text) = text else {
            return self.u32(0);
        };
        if text.contains('\0') {
            return self.refuse(InvalidRequest::EmbeddedNul { what });
        }
        self.count(text.encode_utf16().count() + 1);
        for unit in text.encode_utf16().chain([0]) {
            self.bytes.extend_from_slice(&unit.to_le_bytes());
        }
        self
    }

    /// A text that must not be empty.
    pub(crate) fn required_str16(&mut self, what: &'static str, text: &str) -> &mut Self {
        if text.is_empty() {
            return self.refuse(InvalidRequest::Empty { what });
        }
        self.str16(what, Some(text))
    }

    pub(crate) fn refuse(&mut self, reason: InvalidRequest) -> &mut Self {
        self.invalid.get_or_insert(reason);
        self
    }

    pub(crate) fn finish(self) -> Result<Vec<u8>, InvalidRequest> {
        self.invalid.map_or(Ok(self.bytes), Err)
    }
}
