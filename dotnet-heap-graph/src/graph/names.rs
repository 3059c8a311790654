//! All names of a file.

use std::collections::HashMap;

use super::class::Class;
use crate::error::Result;
use crate::format::{ClassRecord, Reader, StaticName};

/// The names of all but objects.
#[derive(Debug, Default)]
pub(crate) struct AllNames {
    pub(crate) classes: Vec<Class>,
    pub(crate) methods: HashMap<u64, String>,
    /// In the order of their slots.
    pub(crate) statics: Vec<StaticName>,
}

impl AllNames {
    pub(crate) fn read(reader: &Reader, records: &[ClassRecord]) -> Result<Self> {
        let classes = records.iter().map(|record| Class { record: *record, ..Class::default() });
        let mut all = Self { classes: classes.collect(), ..Self::default() };
        reader.for_each_names(|names| {
            for found in names.classes {
                let Some(class) = all.classes.get_mut(found.index as usize) else { continue };
                class.name = Some(found.name);
                class.module = found.module;
                class.fields = found.fields;
                class.fields.sort_by_key(|(offset, _)| *offset);
            }
            all.methods.extend(names.methods.into_iter().map(|method| (method.id, method.name)));
            all.statics.extend(names.statics);
        })?;
        all.statics.sort_by_key(|field| field.slot);
        Ok(all)
    }

    /// The static field at an address.
    pub(crate) fn static_at(&self, address: u64) -> Option<&StaticName> {
        let found = self.statics.binary_search_by_key(&address, |field| field.slot).ok()?;
        self.statics.get(found)
    }
}
