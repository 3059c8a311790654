//! How FastSerialization writes objects: a tag, the object's type, its fields, and a tag at the end.

use std::collections::HashMap;
use std::io::{Read, Seek};

use super::input::Input;
use crate::exchange::{Error, Result};

/// What a tag means.
pub(super) mod tag {
    pub(crate) const NULL: u8 = 1;
    /// The place of an object before follows (u32).
    pub(crate) const OBJECT_REFERENCE: u8 = 2;
    pub(crate) const FORWARD_REFERENCE: u8 = 3;
    pub(crate) const BEGIN_OBJECT: u8 = 4;
    pub(crate) const BEGIN_PRIVATE_OBJECT: u8 = 5;
    pub(crate) const END_OBJECT: u8 = 6;
    pub(crate) const BYTE: u8 = 8;
    pub(crate) const INT16: u8 = 9;
    pub(crate) const INT32: u8 = 10;
    pub(crate) const INT64: u8 = 11;
    /// The number of a place further on follows (i32), and what can be skipped up to there.
    pub(crate) const SKIP_REGION: u8 = 12;
    pub(crate) const TEXT: u8 = 13;
    pub(crate) const BLOB: u8 = 14;
}

/// The text at the start of each file.
pub(super) const SIGNATURE: &[u8; 20] = b"!FastSerialization.1";

const TAG: &str = "there is no object where one is expected";
const TYPE: &str = "an object has no type";
const FIELD: &str = "an object has a field of an unknown kind";
const BACKWARDS: &str = "a part that can be skipped ends before it starts";
const PLACES: &str = "the table of places is not where the end of the file says";

/// The type of an object.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) version: i32,
    /// The oldest version of a reader that understands it.
    pub(super) minimum_reader: i32,
}

#[derive(Debug)]
pub(super) struct Objects<R> {
    pub(super) input: Input<R>,
    /// By the place of their first use.
    types: HashMap<u64, Type>,
}

impl<R: Read + Seek> Objects<R> {
    pub(super) fn new(reader: R) -> Result<Self> {
        let mut input = Input::new(reader)?;
        let is_known =
            |input: &mut Input<R>| Ok::<_, Error>(input.i32()? == 20 && input.array()? == *SIGNATURE);
        match is_known(&mut input) {
            Ok(true) => Ok(Self { input, types: HashMap::new() }),
            Ok(false) | Err(Error::Malformed { .. }) => Err(Error::NotGcDump),
            Err(error) => Err(error),
        }
    }

    /// Goes to the first field of an object. `None`: there is no object, but a null.
    pub(super) fn begin(&mut self) -> Result<Option<Type>> {
        match self.input.u8()? {
            tag::NULL => Ok(None),
            tag::BEGIN_OBJECT | tag::BEGIN_PRIVATE_OBJECT => self.type_of_object().map(Some),
            _ => Err(self.input.malformed(TAG)),
        }
    }

    /// Goes to the first field of an object of this type.
    pub(super) fn begin_as(&mut self, name: &str) -> Result<Type> {
        let found = self.begin()?.filter(|found| found.name == name);
        found.ok_or_else(|| self.input.malformed("there is an object of another type than expected"))
    }

    fn type_of_object(&mut self) -> Result<Type> {
        let place = self.input.position();
        match self.input.u8()? {
            tag::OBJECT_REFERENCE => {
                let place = self.input.u32()?.into();
                self.types.get(&place).cloned().ok_or_else(|| self.input.malformed(TYPE))
            }
            tag::BEGIN_OBJECT => {
                // The type of types is null.
                if self.input.u8()? != tag::NULL {
                    return Err(self.input.malformed(TYPE));
                }
                let (version, minimum_reader) = (self.input.i32()?, self.input.i32()?);
                let name = self.input.text()?.unwrap_or_default();
                self.end()?;
                let found = Type { name, version, minimum_reader };
                self.types.insert(place, found.clone());
                Ok(found)
            }
            _ => Err(self.input.malformed(TYPE)),
        }
    }

    /// Skips fields that only newer programs write, and goes behind the object.
    pub(super) fn end(&mut self) -> Result<()> {
        loop {
            match self.input.u8()? {
                tag::END_OBJECT => return Ok(()),
                tag::NULL => {}
                tag::BYTE => drop(self.input.u8()?),
                tag::INT16 => drop(self.input.array::<2>()?),
                tag::INT32 | tag::OBJECT_REFERENCE | tag::FORWARD_REFERENCE => drop(self.input.i32()?),
                tag::INT64 => drop(self.input.i64()?),
                tag::TEXT => drop(self.input.text()?),
                tag::SKIP_REGION => self.skip_region()?,
                tag::BLOB => {
                    let len = self.input.count()?;
                    self.input.seek(self.input.position() + u64::from(len))?;
                }
                _ => return Err(self.input.malformed(FIELD)),
            }
        }
    }

    /// Goes to the end of a part that can be skipped. The number of that place is next.
    pub(super) fn skip_region(&mut self) -> Result<()> {
        let number = self.input.count()?;
        let here = self.input.position();
        let end = self.place(number)?;
        // A place before would let a reader go in circles.
        if end < here {
            return Err(self.input.malformed(BACKWARDS));
        }
        self.input.seek(end)
    }

    /// A place further on in the file. The table of these places is at the end of the file.
    fn place(&mut self, number: u32) -> Result<u64> {
        let end = self.input.seek_to_end()?;
        let trailer = end.checked_sub(4).ok_or_else(|| self.input.malformed(PLACES))?;
        self.input.seek(trailer)?;
        let trailer = self.input.u32()?.into();
        self.input.seek(trailer)?;
        let table = u64::from(self.input.u32()?);
        self.input.seek(table)?;
        if number >= self.input.count()? {
            return Err(self.input.malformed(PLACES));
        }
        self.input.seek(table + 4 + 4 * u64::from(number))?;
        Ok(self.input.u32()?.into())
    }
}
