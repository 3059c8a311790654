//! The JSON of what is not filled in yet: its shape is fixed, its value is null (or an empty list).

use schemars::JsonSchema;
use serde::Serialize;

use super::number::Int;

/// Whose the roots are.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootOrigins {
    /// The runtime's own, gcwatch's event session included.
    pub(super) runtime: Int,
    pub(super) app: Int,
    pub(super) unknown: Int,
}

/// A method whose frames hold objects.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootMethod {
    pub(super) name: Option<String>,
    pub(super) slots: Int,
    pub(super) objects: Option<Int>,
    pub(super) pinned_slots: Int,
}

/// A type that roots point to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootType {
    pub(super) name: Option<String>,
    pub(super) kind: &'static str,
    pub(super) flags: Vec<&'static str>,
    pub(super) count: Int,
    pub(super) bytes: Option<Int>,
    pub(super) generation: Option<&'static str>,
}

/// A static field among the roots.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootStatic {
    pub(super) field: String,
    #[serde(rename = "type")]
    pub(super) type_name: Option<String>,
    pub(super) bytes: Option<Int>,
}

/// Pinned objects of one type.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pinned {
    #[serde(rename = "type")]
    pub(super) type_name: Option<String>,
    /// What pins them.
    pub(super) by: Option<String>,
    pub(super) generation: Option<&'static str>,
    pub(super) count: Int,
    pub(super) bytes: Option<Int>,
    pub(super) seen_in_gcs: Option<Int>,
}

/// The managed stack that asked for a collection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TriggeredBy {
    /// Innermost first.
    pub(super) frames: Vec<String>,
}

/// Something that grows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Growth {
    pub(super) name: String,
    pub(super) first: Int,
    pub(super) last: Int,
}

/// Collections that one method asked for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InducedBy {
    pub(super) method: String,
    pub(super) count: Int,
    pub(super) pause_ns: Int,
}
