//! Integers and addresses in a form that JavaScript and `jq` read without loss.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// The largest integer that every JSON reader holds exactly: 2^53 - 1.
pub(crate) const MAX: u64 = (1 << 53) - 1;

/// An integer from 0 to [`MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Int(u64);

impl Int {
    /// The value, or [`MAX`]; whether it was cut.
    pub(crate) fn saturating(value: u64) -> (Int, bool) {
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
pub(crate) struct Address(pub(crate) u64);

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

/// A number that need not be whole; whole ones are written without a point.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Number(pub(crate) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 as i64;
        // Up to 2^53 every integer is one.
        if self.0.abs() <= 9_007_199_254_740_992.0 && whole as f64 == self.0 {
            to.serialize_i64(whole)
        } else {
            to.serialize_f64(self.0)
        }
    }
}
