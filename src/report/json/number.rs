//! Integers and addresses as JavaScript and `jq` can hold them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// The largest integer that every JSON reader holds exactly: 2^53 - 1.
pub(super) const MAX: u64 = (1 << 53) - 1;

/// An integer from 0 to [`MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Int(u64);

impl Int {
    /// The value, or [`MAX`]; whether it was cut.
    pub(super) fn saturating(value: u64) -> (Int, bool) {
        (Int(value.min(MAX)), value > MAX)
    }
}

impl JsonSchema for Int {
    fn schema_name() -> Cow<'static, str> {
        "Int".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": MAX })
    }
}

/// An address, id or handle: a string, since it may need all 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address(pub(super) u64);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^0x[0-9a-f]{1,16}$" })
    }
}
