//! Numbers of objects and bytes.

use dotnet_heap_graph::Amount;
use schemars::JsonSchema;
use serde::Serialize;

/// Objects and their bytes.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Amounts {
    pub(crate) objects: u64,
    pub(crate) bytes: u64,
}

impl From<Amount> for Amounts {
    fn from(amount: Amount) -> Amounts {
        Amounts { objects: amount.objects, bytes: amount.bytes }
    }
}
