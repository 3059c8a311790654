//! GUIDs.

use std::fmt;
use std::str::FromStr;

/// A GUID, for example a runtime cookie or the class id of a profiler.
///
/// The text form is `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`; the parser also accepts braces. In the protocol the first
/// three fields are little-endian, and the last eight bytes are in the order of the text.
///
/// ```
/// use dotnet_diagnostics_client::Guid;
///
/// let guid: Guid = "{cf0d821e-299b-5307-a3d8-b283c03916dd}".parse().unwrap();
/// assert_eq!(guid.to_string(), "cf0d821e-299b-5307-a3d8-b283c03916dd");
/// assert_eq!(guid.to_bytes()[..4], [0x1e, 0x82, 0x0d, 0xcf]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Guid(u128);

impl Guid {
    /// The GUID whose text form, read as one hexadecimal number, is `value`.
    pub const fn from_u128(value: u128) -> Self {
        Self(value)
    }

    /// The text form as one hexadecimal number.
    pub const fn to_u128(self) -> u128 {
        self.0
    }

    /// Decodes the 16 bytes of the protocol.
    pub const fn from_bytes(b: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(swap(b)))
    }

    /// The 16 bytes of the protocol.
    pub const fn to_bytes(self) -> [u8; 16] {
        swap(self.0.to_be_bytes())
    }
}

/// Reverses the byte order of the first three fields.
const fn swap(b: [u8; 16]) -> [u8; 16] {
    [b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            v >> 96,
            (v >> 80) & 0xffff,
            (v >> 64) & 0xffff,
            (v >> 48) & 0xffff,
            v & 0xffff_ffff_ffff
        )
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guid({self})")
    }
}

/// The text is not a GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a GUID: expected xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, with or without braces")]
pub struct ParseGuidError;

impl FromStr for Guid {
    type Err = ParseGuidError;

    fn from_str(text: &str) -> Result<Self, ParseGuidError> {
        let inner =
            text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}')).ok_or(ParseGuidError)?;
        let digits: String = inner.split('-').collect();
        // from_str_radix accepts a sign.
        if !inner.split('-').map(str::len).eq([8, 4, 4, 4, 12]) || digits.starts_with('+') {
            return Err(ParseGuidError);
        }
        u128::from_str_radix(&digits, 16).map(Self).map_err(|_| ParseGuidError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wire_layout_is_mixed_endian() {
        let guid = Guid::from_u128(0x00112233_4455_6677_8899_aabbccddeeff);
        assert_eq!(
            guid.to_bytes(),
            [0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]
        );
    }

    #[test]
    fn refuses_what_is_not_a_guid() {
        for text in [
            "",
            "{",
            "{}",
            "----",
            "00112233-4455-6677-8899-aabbccddeef",
            "00112233-4455-6677-8899-aabbccddeeff-00",
            "{00112233-4455-6677-8899-aabbccddeeff",
            "+0112233-4455-6677-8899-aabbccddeeff",
            "00112233445566778899aabbccddeeff",
        ] {
            assert_eq!(text.parse::<Guid>(), Err(ParseGuidError), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn text_and_bytes_round_trip(value: u128) {
            let guid = Guid::from_u128(value);
            prop_assert_eq!(guid.to_string().parse::<Guid>(), Ok(guid));
            prop_assert_eq!(format!("{{{guid}}}").to_uppercase().parse::<Guid>(), Ok(guid));
            prop_assert_eq!(Guid::from_bytes(guid.to_bytes()), guid);
        }

        #[test]
        fn parsing_never_panics(text in ".{0,48}") {
            let _ = text.parse::<Guid>();
        }
    }
}
