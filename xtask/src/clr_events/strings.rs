//! The texts that the manifest shows for tasks and opcodes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::element::Element;

/// Where the texts are.
const TABLE: [&str; 5] = ["instrumentationManifest", "localization", "resources", "stringTable", "string"];

/// The string table.
#[derive(Debug)]
pub(super) struct Strings(BTreeMap<String, String>);

impl Strings {
    pub(super) fn read(document: &Element) -> Result<Strings> {
        let mut strings = BTreeMap::new();
        for string in document.at(&TABLE) {
            let (id, value) = (string.required("id")?, string.required("value")?);
            let before = strings.insert(id.to_owned(), value.to_owned());
            ensure!(before.is_none_or(|before| before == value), "the string {id} has two values");
        }
        Ok(Strings(strings))
    }

    /// The text of a message: of `$(string.ID)`.
    pub(super) fn text(&self, message: &str) -> Result<&str> {
        let id = message.strip_prefix("$(string.").and_then(|rest| rest.strip_suffix(')'));
        let id = id.with_context(|| format!("{message} does not name a string"))?;
        self.0.get(id).map(String::as_str).with_context(|| format!("there is no string {id}"))
    }
}
