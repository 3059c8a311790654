//! Writes a file in the FastSerialization format.

use std::collections::HashMap;
use std::io::{self, Write};

use super::objects::{SIGNATURE, tag};

/// Writes numbers, texts and objects, and knows its place.
#[derive(Debug)]
pub(super) struct Output<W> {
    writer: W,
    position: u64,
    /// The place of each type's first use.
    types: HashMap<&'static str, u64>,
    /// Places that parts before refer to.
    places: Vec<u64>,
}

impl<W: Write> Output<W> {
    pub(super) fn new(writer: W) -> io::Result<Self> {
        let mut output = Self { writer, position: 0, types: HashMap::new(), places: Vec::new() };
        output.i32(SIGNATURE.len() as i32)?;
        output.bytes(SIGNATURE)?;
        Ok(output)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.writer.write_all(bytes)
    }

    pub(super) fn u8(&mut self, value: u8) -> io::Result<()> {
        self.bytes(&[value])
    }

    pub(super) fn i32(&mut self, value: i32) -> io::Result<()> {
        self.bytes(&value.to_le_bytes())
    }

    /// A number of things, which the caller has checked.
    pub(super) fn count(&mut self, count: usize) -> io::Result<()> {
        self.i32(i32::try_from(count).map_err(io::Error::other)?)
    }

    pub(super) fn i64(&mut self, value: i64) -> io::Result<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> io::Result<()> {
        self.bytes(&value.to_le_bytes())
    }

    pub(super) fn f32(&mut self, value: f32) -> io::Result<()> {
        self.bytes(&value.to_le_bytes())
    }

    /// The halves of a surrogate pair are written as if they were characters.
    pub(super) fn text(&mut self, text: Option<&str>) -> io::Result<()> {
        let Some(text) = text else { return self.i32(-1) };
        self.count(text.encode_utf16().count())?;
        for unit in text.encode_utf16() {
            let low = |shift: u32| 0x80 | ((unit >> shift) & 0x3f) as u8;
            match unit {
                ..0x80 => self.u8(unit as u8)?,
                0x80..0x800 => self.bytes(&[0xc0 | (unit >> 6) as u8, low(0)])?,
                _ => self.bytes(&[0xe0 | (unit >> 12) as u8, low(6), low(0)])?,
            }
        }
        Ok(())
    }

    /// Begins an object of a type. `versions`: that of the type, and the oldest of a reader that understands it.
    pub(super) fn begin(&mut self, name: &'static str, versions: (i32, i32)) -> io::Result<()> {
        self.u8(tag::BEGIN_OBJECT)?;
        if let Some(place) = self.types.get(name).copied() {
            self.u8(tag::OBJECT_REFERENCE)?;
            return self.place(place);
        }
        self.types.insert(name, self.position);
        self.u8(tag::BEGIN_OBJECT)?;
        self.u8(tag::NULL)?;
        self.i32(versions.0)?;
        self.i32(versions.1)?;
        self.text(Some(name))?;
        self.end()
    }

    pub(super) fn end(&mut self) -> io::Result<()> {
        self.u8(tag::END_OBJECT)
    }

    /// Where there could be an object.
    pub(super) fn null(&mut self) -> io::Result<()> {
        self.u8(tag::NULL)
    }

    /// Where there could be an object that old readers skip.
    pub(super) fn null_to_skip(&mut self) -> io::Result<()> {
        self.u8(tag::SKIP_REGION)?;
        self.count(self.places.len())?;
        self.null()?;
        self.places.push(self.position);
        Ok(())
    }

    fn place(&mut self, place: u64) -> io::Result<()> {
        let place = u32::try_from(place).map_err(io::Error::other)?;
        self.bytes(&place.to_le_bytes())
    }

    /// Writes the table of places, and where it is.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.end()?;
        let table = self.position;
        let places = std::mem::take(&mut self.places);
        self.count(places.len())?;
        places.iter().try_for_each(|place| self.place(*place))?;
        let trailer = self.position;
        self.place(table)?;
        self.place(trailer)?;
        self.writer.flush()?;
        Ok(self.writer)
    }
}
