//! Answers about a graph, as plain data.
//!
//! Each answer is a function over a [`Graph`](crate::Graph) and its [`Dominators`](crate::Dominators). The dominators take
//! longest, and some answers need only a [`Reachability`], which [`Paths`] also are: with
//! [`Graph::both`](crate::Graph::both) these can be found at the same time. Classes are places in
//! [`Graph::classes`](crate::Graph::classes), and objects are their numbers.

mod accumulation;
mod arrays;
mod biggest;
mod boxed;
mod changes;
mod class_totals;
mod delegates;
mod difference;
mod earlier;
mod fold;
mod kept;
mod kin;
mod known;
mod paths;
mod pending;
mod reachability;
mod referrers;
mod retained_by;
mod root_totals;
mod statics;
mod strings;
mod suspects;
mod totals;

pub use self::{
    accumulation::{Accumulation, ClassShare, accumulation},
    arrays::{EmptyArrays, SparseArrays, WastedArrays, wasted_arrays},
    biggest::{Big, biggest},
    boxed::{BoxedValues, boxed_values},
    changes::{Changes, ClassChange, HolderChange, changes},
    class_totals::{ClassTotals, class_totals},
    delegates::{DelegateTargets, delegate_targets},
    difference::{ClassAmounts, ClassDifference, GraphDifference, HolderDifference, Snapshot},
    earlier::Earlier,
    fold::Step,
    kept::{Kept, kept_by_dependent_handles, kept_by_finalizers},
    paths::{Path, PathRoot, Paths},
    pending::{PendingKind, PendingWork, pending_work},
    reachability::Reachability,
    referrers::{Referrer, referrers_of_class, referrers_of_object},
    retained_by::retained_by,
    root_totals::{RootTotals, root_totals},
    statics::StaticArrays,
    strings::{DuplicateStrings, StringGroup, duplicate_strings},
    suspects::{Suspect, SuspectKind, suspects},
    totals::{GenerationTotals, Totals, totals},
};
