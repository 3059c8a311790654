//! The fields of a payload, by the definition of its event.

use super::bytes::{Bytes, Malformed, Result};
use super::field::{Field, FieldType, Sizes};
use super::value::{Value, read};

/// Structs without a name within each other that are read as one.
const MAX_UNNAMED: usize = 8;

/// The fields of an event or of a struct in it, as names and values, in their order in the payload.
///
/// It ends before the first field that the payload does not have or that has an unknown type;
/// [`unread_fields`](Self::unread_fields) then says how many are left. The fields of a struct that has no name, such as
/// the one around the values of EventCounters, come as if they were the event's own.
#[derive(Clone)]
pub struct Fields<'a> {
    fields: &'a [Field],
    next: usize,
    /// At the next field, in the whole payload.
    bytes: Bytes<'a>,
    /// At the first field.
    start: Bytes<'a>,
    sizes: Sizes,
    /// The fields after a struct without a name.
    outer: [&'a [Field]; MAX_UNNAMED],
    depth: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(fields: &'a [Field], bytes: Bytes<'a>, sizes: Sizes) -> Self {
        Self { fields, next: 0, bytes, start: bytes, sizes, outer: [&[]; MAX_UNNAMED], depth: 0 }
    }

    /// How many fields of the definition have not come. After the last one that can be read: how many cannot.
    pub fn unread_fields(&self) -> usize {
        let outer: usize = self.outer[..self.depth].iter().map(|fields| fields.len()).sum();
        self.fields.len() - self.next + outer
    }

    /// The bytes of the payload after the fields that have come. After the last one this is what the definition does
    /// not mention: later versions of an event append fields.
    pub fn unread_bytes(&self) -> &'a [u8] {
        self.bytes.rest()
    }

    /// The value of the first field with this name, among those that have not come yet. The position does not change.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.clone().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The fields of an event that the stream itself defines. An `EventSource` with a manifest writes a bool in four
    /// bytes, one that describes itself in one byte, and the stream does not say which it is: only one of them uses up
    /// the payload.
    pub(super) fn of_stream(fields: &'a [Field], bytes: Bytes<'a>, sizes: Sizes) -> Self {
        let usual = Self::new(fields, bytes, sizes);
        if !fields.iter().any(Field::has_bool) || usual.is_exact() {
            return usual;
        }
        let other = Self::new(fields, bytes, Sizes { bool: 1, ..sizes });
        if other.is_exact() { other } else { usual }
    }

    /// Whether the fields use up the payload.
    fn is_exact(&self) -> bool {
        let mut end = self.clone();
        end.skip_all().is_ok() && end.bytes.is_empty()
    }

    pub(super) fn bytes(&self) -> Bytes<'a> {
        self.bytes
    }

    /// Goes to the end.
    pub(super) fn skip_all(&mut self) -> Result<()> {
        while self.advance()?.is_some() {}
        Ok(())
    }

    /// The next field. `None` after the last.
    fn advance(&mut self) -> Result<Option<(&'a str, Value<'a>)>> {
        loop {
            let Some(field) = self.fields.get(self.next) else {
                let Some(depth) = self.depth.checked_sub(1) else { return Ok(None) };
                (self.fields, self.next, self.depth) = (self.outer[depth], 0, depth);
                continue;
            };
            if let (true, FieldType::Struct(inner)) = (field.name.is_empty(), &field.field_type) {
                let place = self.outer.get_mut(self.depth);
                *place.ok_or(Malformed("structs without names are nested too deeply"))? =
                    &self.fields[self.next + 1..];
                (self.fields, self.next, self.depth) = (inner, 0, self.depth + 1);
                continue;
            }
            let mut bytes = self.bytes;
            let value = read(&field.field_type, &mut bytes, self.sizes, &|index| self.number(index))?;
            self.bytes = bytes;
            self.next += 1;
            if matches!(field.field_type, FieldType::Padding { .. }) {
                continue;
            }
            return Ok(Some((&field.name, value)));
        }
    }

    /// The number in an earlier field of this struct. Only manifests need it, which have no structs without names.
    fn number(&self, index: u16) -> Option<u64> {
        let index = usize::from(index);
        let mut again = Self::new(self.fields.get(..self.next)?, self.start, self.sizes);
        again.nth(index).and_then(|(_, value)| value.as_u64())
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().ok().flatten()
    }
}

impl PartialEq for Fields<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.clone().eq(other.clone())
    }
}

impl std::fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.clone()).finish()
    }
}
