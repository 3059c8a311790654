//! What a `.gcdump` file needs to know of all objects and classes before the first node.

use super::file::NodeKind;
use crate::exchange::{Error, Result};
use crate::format::{ClassRecord, Reader};

/// The addresses of all objects, sorted, each once.
pub(super) fn addresses(reader: &Reader, classes: &[ClassRecord]) -> Result<Vec<u64>> {
    let mut addresses = Vec::new();
    reader.for_each_object(classes, |object| addresses.push(object.address))?;
    if addresses.len() > i32::MAX as usize {
        return Err(Error::TooLarge { objects: addresses.len() as u64, references: 0 });
    }
    addresses.sort_unstable();
    // An object without an address would stand for a group of roots.
    addresses.dedup();
    if addresses.first() == Some(&0) {
        addresses.remove(0);
    }
    Ok(addresses)
}

/// The type of undefined nodes, and one for each class.
pub(super) fn kinds(reader: &Reader, classes: &[ClassRecord]) -> Result<Vec<NodeKind>> {
    let mut kinds = vec![NodeKind { name: "UNDEFINED".to_owned(), module: None, size_bytes: 0 }];
    kinds.extend(classes.iter().map(|class| NodeKind {
        name: format!("unknown class {:#x}", class.id),
        module: None,
        size_bytes: i32::try_from(class.size_units.saturating_mul(8)).unwrap_or(i32::MAX),
    }));
    reader.for_each_names(|names| {
        for class in names.classes {
            let Some(kind) = kinds.get_mut(class.index as usize + 1) else { continue };
            kind.name = class.name;
            kind.module = class.module.filter(|module| !module.is_empty());
        }
    })?;
    Ok(kinds)
}
