//! The JSON of who holds what, by name.
//!
//! A name is as a C# programmer writes it, with what the compiler made of it taken back: `Demo.Orders.LoadAsync (async)`,
//! `Program.Main (lambda)`. The namespaces that a new project need not name are left out of the framework's types
//! (`List<T>`, `byte[]`). What has no name is in one of the buckets `(no frame)`, `(dynamic method)`, `(unloaded)`, `(unnamed)`.

use crate::gc::growth::GrowthRow;
use crate::gc::induced;
use crate::gc::names::Name;
use crate::gc::root_stats::{
    MethodRow, MethodTotals, Origins, PinnedRow, PinnedTotals, RootStats, StaticRow, TypeRow, TypeTotals,
};
use crate::report::json::number::Int;
use crate::report::json::wire::{MAX_ROWS, wire};

/// Whether a list has more rows than are written.
pub(crate) fn cut(stats: &RootStats) -> bool {
    let statics = stats.statics.as_ref().map_or(0, Vec::len);
    [stats.methods.len(), stats.types.len(), stats.pinned.len(), statics].iter().any(|n| *n > MAX_ROWS)
}

wire! {
    /// Whose the roots are: each root in one of the three. A root in a frame goes by the module of its method, any other by
    /// the module of what it points to (an array by its elements; a generic type with an argument of the program's is the
    /// program's).
    RootOrigins(to, origins: Origins) {
        /// Of the framework's internal namespaces (System.Diagnostics.Tracing, System.Reflection, System.Runtime, Internal and
        /// a few types more), and what the runtime holds in no frame. gcwatch's event session is among them.
        runtime: Int,
        /// Of a module that is not the shared framework's.
        app: Int,
        /// Of the framework and of general use (a string, an array of bytes, a list), or not looked at.
        unknown: Int,
    }

    /// A method whose frames hold objects. Code that has the same name shares a row.
    RootMethod(to, method: MethodRow) {
        /// As written, `(no frame)` for the runtime's own frames, `(dynamic method)`, `(unloaded)` or `(unnamed)`.
        name: String,
        /// Roots in its frames.
        slots: Int,
        /// Different addresses that they point to.
        objects: Int,
        pinned_slots: Int,
    }

    /// Roots of one kind, with the same flags, to objects of one type in one generation.
    RootType(to, row: TypeRow) {
        name: String,
        /// "stack", "handle", "finalizer", "other"; "statics": an array in which static fields lie.
        kind: &'static str,
        /// Any of "pinning", "weak", "interior", "refcounted".
        flags: Vec<&'static str>,
        /// Roots.
        count: Int,
        /// Of the objects themselves, each once; not of what they refer to.
        bytes: Int,
        /// "gen0", "gen1", "gen2", "loh", "poh", "frozen"; null where not known.
        generation: Option<&'static str>,
    }

    /// A static field that holds an object.
    RootStatic(to, field: StaticRow) {
        /// Class and field.
        field: String,
        /// Of the object in it.
        #[serde(rename = "type")]
        type_name: String,
        /// Of the object itself; not of what it refers to.
        bytes: Int,
        generation: Option<&'static str>,
        /// Each thread has a value of its own.
        thread_static: bool,
    }

    /// Objects of one type that are pinned the same way.
    Pinned(to, pinned: PinnedRow) {
        #[serde(rename = "type")]
        type_name: String,
        /// "handle", "fixed local" (a pinning slot of a frame) or "other".
        by: &'static str,
        /// "pinned", "async_pinned" and others, where the making of the handle was seen.
        handle_type: Option<&'static str>,
        /// The method that made the handle, where that was seen, or the one whose frame pins. Handles from before the watch
        /// were not seen being made, and of those made within 100 ms the
        /// first 250 are looked at. Once more than 20,000 were made within 100 ms, none are.
        created_by: Option<String> = to.wire(&pinned.allocated_by),
        generation: Option<&'static str>,
        /// Objects.
        count: Int,
        /// Of the objects themselves.
        bytes: Int,
        /// In how many collections in a row, this one included, the longest pinned of them was.
        seen_in_gcs: Int,
    }

    /// The managed stack that asked for a collection. The runtime leaves out of stacks code that was made at run time, and so
    /// also what was inlined into it.
    TriggeredBy(to, frames: Vec<Name>) {
        /// Innermost first; at most 32.
        frames: Vec<String> = to.wire(frames),
    }

    /// A number at first and at last.
    FirstLast(to, of: (u64, u64)) {
        first: Int = to.wire(&of.0),
        last: Int = to.wire(&of.1),
    }

    /// What roots hold directly and was more at the last collection than at the first: handles by the type of what they hold,
    /// static fields one by one. What grows behind an object that stays the same is not seen.
    Growth(to, row: GrowthRow) {
        /// "handle", "weak handle", "static" or "thread-static".
        what: &'static str = row.source.name(),
        /// Of what is held; of a static field, last.
        #[serde(rename = "type")]
        type_name: String,
        /// Class and field; null for handles.
        field: Option<String>,
        count: FirstLast = to.wire(&(row.first.count, row.last.count)),
        /// Of the objects themselves.
        bytes: FirstLast = to.wire(&(row.first.bytes, row.last.bytes)),
        /// There may be more of it: not all roots of the last collection were looked at.
        at_least: bool,
    }

    /// Collections that one method asked for.
    InducedBy(to, row: induced::InducedBy) {
        /// The first frame that is not of the class `GC`; `(unknown)`: it is in no method that the runtime told. Code that was
        /// made at run time is in no stack: then it is who called that.
        method: String,
        count: Int,
        /// Sum of their pauses.
        pause_ns: Int,
    }

    /// Collections with one reason that were due while one method allocated.
    DueIn(to, row: induced::DueIn) {
        reason: &'static str = row.reason.names().0,
        /// The innermost method of the program's own code; `(unknown)`: it could not be made out; `(no frame of the program)`:
        /// a thread of the framework or of the runtime.
        method: String,
        count: Int,
        /// Sum of their pauses.
        pause_ns: Int,
    }

    /// A method whose frames held objects, over all collections that told names.
    MethodSum(to, sum: MethodTotals) {
        name: String,
        /// Collections in which it held something.
        gcs: Int,
        /// Roots in its frames, over all collections.
        slots: Int,
        pinned_slots: Int,
    }

    /// Objects of a type behind roots of one kind that are not weak, over all collections that told names.
    TypeSum(to, sum: TypeTotals) {
        name: String,
        /// "stack", "handle", "finalizer", "other" or "statics".
        kind: &'static str,
        /// Collections in which there were any.
        gcs: Int,
        /// Roots per collection.
        count: MaxLast = to.wire(&(sum.max_count, sum.last_count)),
        /// Of the objects themselves.
        bytes: MaxLast = to.wire(&(sum.max_bytes, sum.last_bytes)),
    }

    /// A number per collection: its maximum, and that of the last one.
    MaxLast(to, of: (u64, u64)) {
        max: Int = to.wire(&of.0),
        last: Int = to.wire(&of.1),
    }

    /// Objects of one type that were pinned the same way, over all collections that told names.
    PinnedSum(to, sum: PinnedTotals) {
        #[serde(rename = "type")]
        type_name: String,
        by: &'static str,
        handle_type: Option<&'static str>,
        created_by: Option<String> = to.wire(&sum.allocated_by),
        /// Where one of them lay when they were last seen.
        generation: Option<&'static str>,
        /// Collections in which there were any.
        gcs: Int,
        /// Objects per collection, at most.
        max_count: Int,
        /// Of the objects themselves, at most.
        max_bytes: Int,
        /// In how many collections in a row the longest pinned of them was.
        seen_in_gcs: Int,
    }
}
