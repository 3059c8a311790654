//! The JSON of what allocates.
//!
//! The figures are estimates from samples, see `docs/allocations.md`. A standard error says how far off an estimate may
//! be: the truth is within twice of it in 95 of 100 cases, where there are some 30 samples or more.

use crate::gc::allocations::{
    AllocationSummary, BeforeRows, Estimate, MethodRow, Row, SinceLast, Source, TypeRow, TypeShare,
};
use crate::gc::record::Reason;
use crate::report::json::number::Int;
use crate::report::json::wire::{Convert, wire};

/// An estimate, and what it is a part of.
type Of<'a> = (&'a Estimate, Source, &'a Estimate);

/// A row, where samples come from, and the whole.
type RowOf<'a, R> = (&'a R, Source, &'a Estimate);

fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn percent(of: Of<'_>) -> f64 {
    (of.0.share(of.2) * 1e5).round() / 1e3
}

fn rows<'a, T, R: 'a>(to: &mut Convert, rows: &'a [R], source: Source, all: &'a Estimate) -> Vec<T>
where
    T: crate::report::json::wire::Wire<RowOf<'a, R>>,
{
    rows.iter().map(|row| to.wire(&(row, source, all))).collect()
}

wire! {
    /// What allocates, from the runtime's samples of all threads.
    Allocations(to, of: AllocationSummary) {
        /// "ticks": AllocationTick, .NET 8 and 9; "sampled": AllocationSampled, .NET 10 and later.
        source: &'static str = of.source.name(),
        /// Whether the runtime listed its methods, which it does when the session ends; without them all methods are
        /// `(unknown)`.
        methods_known: bool = of.named,
        /// Of all threads and all heaps.
        all: Sampled = to.wire(&(&of.all, of.source, &of.all)),
        /// The part of them that are large objects.
        large: Sampled = to.wire(&(&of.large, of.source, &of.all)),
        /// What the runtime's event tracing allocated, which gcwatch's session uses. It is in no other figure but
        /// `gcs[].sampled_allocations`.
        event_tracing: Sampled = to.wire(&(&of.event_tracing, of.source, &of.all)),
        /// By type, the most bytes first: at most 99, then `(others)`.
        types: Vec<AllocatedType> = rows(to, &of.types, of.source, &of.all),
        /// By method, the most bytes first: at most 99, then `(others)`.
        methods: Vec<AllocatingMethod> = rows(to, &of.methods, of.source, &of.all),
        /// Large objects by type and method, the most bytes first: at most 99, then `(others)`.
        large_objects: Vec<AllocatedBy> = rows(to, &of.large_objects, of.source, &of.large),
        /// What was allocated before collections, from the start of the one before each, by generation and reason.
        before: Vec<BeforeCollections> = of.before.iter().map(|before| to.wire(&(before, of.source))).collect(),
    }

    /// Samples, and what they stand for.
    Sampled(to, of: Of<'_>) {
        /// Objects that were seen.
        samples: Int = to.wire(&of.0.samples),
        /// What all objects take, estimated.
        bytes: Int = to.wire(&whole(of.0.bytes)),
        /// Of `bytes`; 0 for the sum of all ticks, which is not estimated.
        standard_error_bytes: Int = to.wire(&whole(of.0.standard_error(of.1, of.2))),
        /// Of all bytes.
        percent: f64 = percent(*of),
        /// Bytes of the objects that were seen.
        seen_bytes: Int = to.wire(&of.0.seen_bytes),
        /// How many objects there are, estimated; null with ticks, which do not tell it.
        objects: Option<Int> = match of.1 {
            Source::Sampled => Some(to.wire(&whole(of.0.objects))),
            Source::Ticks => None,
        },
    }

    /// A type.
    AllocatedType(to, of: RowOf<'_, TypeRow>) {
        /// As a C# programmer writes it. `_` stands for an argument in code that several types share. Before .NET 10 the
        /// runtime leaves out the outer type of a nested one.
        #[serde(rename = "type")]
        type_name: String = to.wire(&of.0.type_name),
        estimate: Sampled = to.wire(&(&of.0.estimate, of.1, of.2)),
    }

    /// A method.
    AllocatingMethod(to, of: RowOf<'_, MethodRow>) {
        /// The innermost method of the program's own code. `(unknown)`: it could not be made out; `(no frame of the program)`:
        /// a thread of the framework; `(dynamic method)`: made at run time.
        method: String = to.wire(&of.0.method),
        /// The method in which the objects were made: the same, or one of the framework that it called.
        innermost: String = to.wire(&of.0.innermost),
        estimate: Sampled = to.wire(&(&of.0.estimate, of.1, of.2)),
    }

    /// Objects of one type that one method allocated.
    AllocatedBy(to, of: RowOf<'_, Row>) {
        /// "small", "large" or "pinned".
        heap: &'static str = of.0.heap.name(),
        #[serde(rename = "type")]
        type_name: String = to.wire(&of.0.type_name),
        /// The innermost method of the program's own code, as in `methods[].method`.
        method: String = to.wire(&of.0.method),
        estimate: Sampled = to.wire(&(&of.0.estimate, of.1, of.2)),
    }

    /// What was allocated before collections of one generation that had one reason.
    BeforeCollections(to, of: (&BeforeRows, Source)) {
        generation: u8 = of.0.generation.0,
        reason: &'static str = Reason(of.0.reason).names().0,
        /// How many collections there were.
        gcs: Int = to.wire(&of.0.gcs),
        all: Sampled = to.wire(&(&of.0.all, of.1, &of.0.all)),
        large: Sampled = to.wire(&(&of.0.large, of.1, &of.0.all)),
        /// The most bytes first: at most 10, then `(others)`.
        rows: Vec<AllocatedBy> = rows(to, &of.0.rows, of.1, &of.0.all),
    }

    /// What was allocated since the collection before, from samples.
    SampledSince(to, of: SinceLast) {
        /// Objects that were seen.
        samples: Int = to.wire(&of.all.samples),
        /// What all objects take, estimated.
        bytes: Int = to.wire(&whole(of.all.bytes)),
        /// Large objects among them.
        large_bytes: Int = to.wire(&whole(of.large.bytes)),
        /// The types that took the most, at most 5. Methods have names only when the watch is over:
        /// `summary.allocations.before`.
        types: Vec<SampledType> = of.types.iter().map(|share| to.wire(share)).collect(),
    }

    /// Objects of one type.
    SampledType(to, of: TypeShare) {
        #[serde(rename = "type")]
        type_name: String,
        /// "small", "large" or "pinned".
        heap: &'static str = of.heap.name(),
        samples: Int = to.wire(&of.estimate.samples),
        /// Estimated.
        bytes: Int = to.wire(&whole(of.estimate.bytes)),
    }
}
