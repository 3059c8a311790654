//! Text: UTF-16 as the runtime returns it, valid or not.

use core::fmt;

use super::cursor::{Reader, WireError, Writer};
use super::payload::{Field, List};

/// The maximum length of a text in a payload, in UTF-16 units. A longer text is cut and ends with U+2026.
pub const MAX_TEXT_UNITS: usize = 512;

/// The maximum number of texts in a list.
pub const MAX_TEXTS: usize = 255;

const ELLIPSIS: u16 = 0x2026;

/// UTF-16, not necessarily valid. It is untrusted: [`fmt::Display`] only replaces invalid units, and shows everything
/// else as it is, control characters included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a>(List<'a, u16>);

impl<'a> Text<'a> {
    /// Text to write.
    #[must_use]
    pub const fn new(units: &'a [u16]) -> Self {
        Self(List::Native(units))
    }

    /// All units.
    pub fn units(self) -> impl Iterator<Item = u16> + 'a {
        self.0.iter()
    }

    /// The characters, with U+FFFD for invalid units.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        char::decode_utf16(self.units()).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Whether the text is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.len() == 0
    }
}

impl<'a> Field<'a> for Text<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let units = usize::from(reader.u16()?);
        Ok(Self(List::Bytes(reader.take(units.saturating_mul(2))?)))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let length = self.0.len();
        let kept = if length > MAX_TEXT_UNITS { MAX_TEXT_UNITS.saturating_sub(1) } else { length };
        let end = (length > kept).then_some(ELLIPSIS);
        writer.rows(self.units().take(kept).chain(end), Field::write);
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.chars().try_for_each(|character| f.write_char(character))
    }
}

/// A list of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Texts<'a>(List<'a, Text<'a>>);

impl<'a> Texts<'a> {
    /// Texts to write. At most [`MAX_TEXTS`] are written.
    #[must_use]
    pub const fn new(texts: &'a [Text<'a>]) -> Self {
        Self(List::Native(texts))
    }

    /// The texts.
    pub fn iter(self) -> impl Iterator<Item = Text<'a>> {
        self.0.iter()
    }
}

impl<'a> Field<'a> for Texts<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = reader.u8()?;
        let all = reader.rest();
        for _ in 0..count {
            Text::read(reader)?;
        }
        let length = all.len().saturating_sub(reader.rest().len());
        Ok(Self(List::Bytes(all.get(..length).unwrap_or_default())))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let count = self.iter().take(MAX_TEXTS).count();
        writer.u8(u8::try_from(count).unwrap_or(u8::MAX));
        self.iter().take(MAX_TEXTS).for_each(|text| text.write(writer));
    }
}
