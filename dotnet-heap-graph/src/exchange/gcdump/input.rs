//! Numbers and texts of a file.

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};

use crate::exchange::{Error, Result};

const CUT: &str = "the file ends in the middle of a value";
const LONG: &str = "a text is too long";

/// In UTF-16 units. Names have some hundred, and the log of the tool that made the file some thousand.
const MAX_TEXT_UNITS: u32 = 16 << 20;

/// A file that knows its place.
#[derive(Debug)]
pub(super) struct Input<R> {
    reader: BufReader<R>,
    position: u64,
}

impl<R: Read + Seek> Input<R> {
    pub(super) fn new(mut reader: R) -> Result<Self> {
        reader.rewind()?;
        Ok(Self { reader: BufReader::with_capacity(64 << 10, reader), position: 0 })
    }

    /// Bytes from the start of the file.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// The error for what was read last.
    pub(super) fn malformed(&self, why: &'static str) -> Error {
        Error::Malformed { offset: self.position, why }
    }

    pub(super) fn seek(&mut self, position: u64) -> Result<()> {
        self.reader.seek(SeekFrom::Start(position))?;
        self.position = position;
        Ok(())
    }

    /// Size of the file in bytes. The place is another one after it.
    pub(super) fn seek_to_end(&mut self) -> Result<u64> {
        self.position = self.reader.seek(SeekFrom::End(0))?;
        Ok(self.position)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => {
                self.position += N as u64;
                Ok(bytes)
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(self.malformed(CUT)),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn f32(&mut self) -> Result<f32> {
        self.array().map(f32::from_le_bytes)
    }

    /// How many things follow.
    pub(super) fn count(&mut self) -> Result<u32> {
        let count = self.i32()?;
        u32::try_from(count).map_err(|_| self.malformed("a count is negative"))
    }

    /// So many bytes. Memory grows with what the file has, not with what it claims.
    pub(super) fn bytes(&mut self, len: u32) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(len.into()).read_to_end(&mut bytes)?;
        self.position += read as u64;
        if read as u64 == u64::from(len) { Ok(bytes) } else { Err(self.malformed(CUT)) }
    }

    /// A text after its length in UTF-16 units. Each unit is 1 to 3 bytes of UTF-8, the halves of a surrogate pair too.
    pub(super) fn text(&mut self) -> Result<Option<String>> {
        let Ok(len) = u32::try_from(self.i32()?) else { return Ok(None) };
        if len > MAX_TEXT_UNITS {
            return Err(self.malformed(LONG));
        }
        let mut failed = None;
        let units = (0..len).map_while(|_| self.unit().map_err(|error| failed = Some(error)).ok());
        let text =
            char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        failed.map_or(Ok(Some(text)), Err)
    }

    fn unit(&mut self) -> Result<u16> {
        let first = u16::from(self.u8()?);
        let mut more = || self.u8().map(|byte| u16::from(byte & 0x3f));
        Ok(match first {
            ..0x80 => first,
            0x80..0xe0 => (first & 0x1f) << 6 | more()?,
            _ => (first & 0xf) << 12 | more()? << 6 | more()?,
        })
    }
}
