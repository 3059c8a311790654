//! A class with its names.

use std::borrow::Cow;

use crate::format::ClassRecord;

/// A class of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// What the runtime says of it.
    pub record: ClassRecord,
    /// Its full name. `None`: unknown.
    pub name: Option<String>,
    /// Its module. `None`: unknown.
    pub module: Option<String>,
    /// Its own fields without those of its base classes: the offset in bytes and the name, in the order of the offsets. The
    /// offset counts from the start of the object; for a value type from the start of the value.
    pub fields: Vec<(u32, String)>,
}

impl Class {
    /// Its name, or a text that says that it is unknown.
    pub fn label(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("unknown class {:#x}", self.record.id)),
        }
    }

    /// The field that has the byte at an offset: the last one that begins there or before.
    pub(crate) fn field_at(&self, offset_bytes: u64) -> Option<(u32, &str)> {
        let behind = self.fields.partition_point(|(offset, _)| u64::from(*offset) <= offset_bytes);
        self.fields.get(behind.checked_sub(1)?).map(|(offset, name)| (*offset, name.as_str()))
    }
}
