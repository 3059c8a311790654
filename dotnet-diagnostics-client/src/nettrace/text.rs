//! Texts in payloads, decoded when they are used.

use std::fmt::{self, Write};

/// A text in a payload: UTF-16 or UTF-8, without the NUL at its end. The target chooses it, so it can have any
/// characters; in a terminal show it with `{:?}`, which escapes them.
///
/// ```
/// # use dotnet_diagnostics_client::nettrace::Value;
/// fn shorter(value: Value<'_>) -> Option<String> {
///     let Value::Text(text) = value else { return None };
///     Some(text.chars().take(10).collect())
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Text<'a>(Encoded<'a>);

#[derive(Clone, Copy)]
enum Encoded<'a> {
    Utf16(&'a [u8]),
    Utf8(&'a [u8]),
}

impl<'a> Text<'a> {
    /// Little-endian UTF-16. A last odd byte is ignored.
    pub(super) fn utf16(bytes: &'a [u8]) -> Self {
        Self(Encoded::Utf16(bytes))
    }

    pub(super) fn utf8(bytes: &'a [u8]) -> Self {
        Self(Encoded::Utf8(bytes))
    }

    /// The characters. What is not valid in the encoding becomes U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        let (units, bytes) = match self.0 {
            Encoded::Utf16(bytes) => (bytes.as_chunks::<2>().0, &[][..]),
            Encoded::Utf8(bytes) => (&[][..], bytes),
        };
        let utf16 = char::decode_utf16(units.iter().map(|unit| u16::from_le_bytes(*unit)))
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        let utf8 = bytes.utf8_chunks().flat_map(|chunk| {
            let replacement = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
            chunk.valid().chars().chain(replacement)
        });
        utf16.chain(utf8)
    }

    /// Whether the text has no characters.
    pub fn is_empty(self) -> bool {
        match self.0 {
            Encoded::Utf16(bytes) => bytes.len() < 2,
            Encoded::Utf8(bytes) => bytes.is_empty(),
        }
    }
}

/// The text as it is.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|c| f.write_char(c))
    }
}

/// In quotes, with control characters escaped.
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        self.chars().try_for_each(|c| match c {
            '\'' => f.write_char(c),
            c => c.escape_debug().try_for_each(|c| f.write_char(c)),
        })?;
        f.write_char('"')
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.chars().eq(other.chars())
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.chars().eq(other.chars())
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.chars().eq(other.chars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_encodings_are_decoded_and_compared() {
        let utf16 = Text::utf16(&[b'a', 0, 0x3d, 0xd8, 0x00, 0xde, b'\n', 0, 7]);
        let utf8 = Text::utf8("a😀\n".as_bytes());
        assert_eq!(utf16, utf8);
        assert_eq!(utf16, "a😀\n");
        assert_eq!((utf8.to_string().as_str(), format!("{utf16:?}").as_str()), ("a😀\n", r#""a😀\n""#));
        assert!(Text::utf16(&[1]).is_empty() && !utf8.is_empty());
    }

    #[test]
    fn what_is_not_valid_is_replaced() {
        assert_eq!(Text::utf16(&[0x3d, 0xd8, b'b', 0]), "\u{fffd}b");
        assert_eq!(Text::utf8(b"a\xffb\xf0"), "a\u{fffd}b\u{fffd}");
    }
}
