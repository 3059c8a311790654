//! The words and numbers of the table: what it writes must have no characters that its own format uses.

use anyhow::{Context, Result, ensure};

/// A name: ASCII letters, digits and `_`.
pub(super) fn word(text: &str) -> Result<&str> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    ensure!(!text.is_empty() && text.chars().all(is_known), "{text:?} is no name");
    Ok(text)
}

/// A number as the manifest writes it: decimal, or hexadecimal after `0x`.
pub(super) fn number(text: &str) -> Result<u64> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.with_context(|| format!("{text:?} is no number"))
}
