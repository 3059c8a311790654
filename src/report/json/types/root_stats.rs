//! The JSON of who holds what, by name.
//!
//! A name is as a C# programmer writes it, with what the compiler made of it taken back: `Demo.Orders.LoadAsync (async)`,
//! `Program.Main (lambda)`. The namespaces that a new project need not name are left out of the framework's types
//! (`List<T>`, `byte[]`). What has no name is in one of the buckets `(no frame)`, `(dynamic method)`, `(unloaded)`, `(unnamed)`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::json::number::Int;

/// Whose the roots are: each root in one of the three. A root in a frame goes by the module of its method, any other by
/// the module of what it points to (an array by its elements; a generic type with an argument of the program's is the
/// program's).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootOrigins {
    /// Of the framework's internal namespaces (System.Diagnostics.Tracing, System.Reflection, System.Runtime, Internal and
    /// a few types more), and what the runtime holds in no frame. gcwatch's event session is among them.
    pub(crate) runtime: Int,
    /// Of a module that is not the shared framework's.
    pub(crate) app: Int,
    /// Of the framework and of general use (a string, an array of bytes, a list), or not looked at.
    pub(crate) unknown: Int,
}

/// A method whose frames hold objects. Code that has the same name shares a row.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootMethod {
    /// As written, `(no frame)` for the runtime's own frames, `(dynamic method)`, `(unloaded)` or `(unnamed)`.
    pub(crate) name: String,
    /// Roots in its frames.
    pub(crate) slots: Int,
    /// Different addresses that they point to.
    pub(crate) objects: Int,
    pub(crate) pinned_slots: Int,
}

/// Roots of one kind, with the same flags, to objects of one type in one generation.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootType {
    pub(crate) name: String,
    /// "stack", "handle", "finalizer", "other"; "statics": an array in which static fields lie.
    pub(crate) kind: &'static str,
    /// Any of "pinning", "weak", "interior", "refcounted".
    pub(crate) flags: Vec<&'static str>,
    /// Roots.
    pub(crate) count: Int,
    /// Of the objects themselves, each once; not of what they refer to.
    pub(crate) bytes: Int,
    /// "gen0", "gen1", "gen2", "loh", "poh", "frozen"; null where not known.
    pub(crate) generation: Option<&'static str>,
}

/// A static field that holds an object.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootStatic {
    /// Class and field.
    pub(crate) field: String,
    /// Of the object in it.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Of the object itself; not of what it refers to.
    pub(crate) bytes: Int,
    pub(crate) generation: Option<&'static str>,
    /// Each thread has a value of its own.
    pub(crate) thread_static: bool,
}

/// Objects of one type that are pinned the same way.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pinned {
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// "handle", "fixed local" (a pinning slot of a frame) or "other".
    pub(crate) by: &'static str,
    /// "pinned", "async_pinned" and others, where the making of the handle was seen.
    pub(crate) handle_type: Option<&'static str>,
    /// The method that made the handle, where that was seen, or the one whose frame pins. Handles from before the watch
    /// were not seen being made, and of those made within 100 ms the
    /// first 250 are looked at. Once more than 20,000 were made within 100 ms, none are.
    pub(crate) created_by: Option<String>,
    pub(crate) generation: Option<&'static str>,
    /// Objects.
    pub(crate) count: Int,
    /// Of the objects themselves.
    pub(crate) bytes: Int,
    /// In how many collections in a row, this one included, the longest pinned of them was.
    pub(crate) seen_in_gcs: Int,
}

/// The managed stack that asked for a collection. The runtime leaves out of stacks code that was made at run time, and so
/// also what was inlined into it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TriggeredBy {
    /// Innermost first; at most 32.
    pub(crate) frames: Vec<String>,
}

/// A number at first and at last.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FirstLast {
    pub(crate) first: Int,
    pub(crate) last: Int,
}

/// What roots hold directly and was more at the last collection than at the first: handles by the type of what they hold,
/// static fields one by one. What grows behind an object that stays the same is not seen.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Growth {
    /// "handle", "weak handle", "static" or "thread-static".
    pub(crate) what: &'static str,
    /// Of what is held; of a static field, last.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Class and field; null for handles.
    pub(crate) field: Option<String>,
    pub(crate) count: FirstLast,
    /// Of the objects themselves.
    pub(crate) bytes: FirstLast,
    /// There may be more of it: not all roots of the last collection were looked at.
    pub(crate) at_least: bool,
}

/// Collections that one method asked for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InducedBy {
    /// The first frame that is not of the class `GC`. Code that was made at run time is in no stack: then it is who called
    /// that.
    pub(crate) method: String,
    pub(crate) count: Int,
    /// Sum of their pauses.
    pub(crate) pause_ns: Int,
}

/// A method whose frames held objects, over all collections that told names.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodSum {
    pub(crate) name: String,
    /// Collections in which it held something.
    pub(crate) gcs: Int,
    /// Roots in its frames, over all collections.
    pub(crate) slots: Int,
    pub(crate) pinned_slots: Int,
}

/// Objects of a type behind roots of one kind that are not weak, over all collections that told names.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypeSum {
    pub(crate) name: String,
    /// "stack", "handle", "finalizer", "other" or "statics".
    pub(crate) kind: &'static str,
    /// Collections in which there were any.
    pub(crate) gcs: Int,
    /// Roots per collection.
    pub(crate) count: MaxLast,
    /// Of the objects themselves.
    pub(crate) bytes: MaxLast,
}

/// A number per collection: its maximum, and that of the last one.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MaxLast {
    pub(crate) max: Int,
    pub(crate) last: Int,
}

/// Objects of one type that were pinned the same way, over all collections that told names.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinnedSum {
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) by: &'static str,
    pub(crate) handle_type: Option<&'static str>,
    pub(crate) created_by: Option<String>,
    /// Where one of them lay when they were last seen.
    pub(crate) generation: Option<&'static str>,
    /// Collections in which there were any.
    pub(crate) gcs: Int,
    /// Objects per collection, at most.
    pub(crate) max_count: Int,
    /// Of the objects themselves, at most.
    pub(crate) max_bytes: Int,
    /// In how many collections in a row the longest pinned of them was.
    pub(crate) seen_in_gcs: Int,
}
