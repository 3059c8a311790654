//! The record of a string's content.

use super::bytes::{Bytes, Result, put_text, put_varint};
use super::encoding::Encoding;
use super::frame::FrameKind;
use super::records::Record;

/// The content of a string, or its begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRecord<'a> {
    /// Address of the string.
    pub address: u64,
    /// Its content.
    pub text: &'a str,
}

impl<'a> Record<'a> for TextRecord<'a> {
    const KIND: FrameKind = FrameKind::TEXTS;
}

impl<'a> Encoding<'a> for TextRecord<'a> {
    fn decode(bytes: &mut Bytes<'a>) -> Result<Self> {
        Ok(Self { address: bytes.varint()?, text: bytes.text()? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.address);
        put_text(out, self.text);
    }
}
