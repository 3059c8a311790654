//! Arrays that waste memory: empty ones, and those whose references are mostly null.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::reachability::Reachability;
use super::referrers::{Referrer, referrers_of_groups};
use crate::dominators::Amount;
use crate::error::Result;
use crate::format::ClassRecord;
use crate::graph::Graph;

/// An array with fewer elements is not called sparse.
const MIN_LENGTH: u64 = 16;
/// So many classes are told that refer to arrays of a class.
const MAX_HOLDERS: usize = 10;

/// Arrays of one class whose references are mostly null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparseArrays {
    /// The class: its place in [`Graph::classes`].
    pub class: u32,
    /// The arrays with at least 16 elements, more than half of them null.
    pub arrays: Amount,
    /// How many elements they have.
    pub elements: u64,
    /// How many of these are null. Each takes 8 bytes.
    pub null_elements: u64,
    /// The array with most elements that are null.
    pub worst: u32,
    /// How many elements of that are null.
    pub worst_null_elements: u64,
}

/// Size of an array without elements.
const EMPTY_UNITS: u64 = 3;

/// Arrays of one class without elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmptyArrays {
    /// The class: its place in [`Graph::classes`].
    pub class: u32,
    /// The arrays. One would do for all.
    pub arrays: Amount,
    /// The classes whose objects refer to them.
    pub holders: Vec<Referrer>,
}

/// Arrays that waste memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WastedArrays {
    /// Those whose references are mostly null, by class, most null elements first.
    pub sparse: Vec<SparseArrays>,
    /// Those without elements, where there are several of a class, most bytes first.
    pub empty: Vec<EmptyArrays>,
}

/// Finds arrays that waste memory among those that can be reached, of at most `count` classes each. This reads the file once.
///
/// # Errors
/// The file cannot be read, or has changed.
pub fn wasted_arrays(graph: &Graph, reachable: &impl Reachability, count: usize) -> Result<WastedArrays> {
    type Found = (HashMap<u32, SparseArrays>, HashMap<u32, Vec<u32>>);
    let parts = graph.for_each_record(Found::default, |(sparse, empty), object, record| {
        // Of a graph of another tool, lengths are unknown.
        let is_known = |record: &ClassRecord| record.is_array() && !record.is_unplaced();
        let Some(class) = graph.class(record.class).filter(|class| is_known(&class.record)) else { return };
        if !reachable.is_reachable(object) {
            return;
        }
        // What other tools tell is the size alone.
        if class.record.is_unplaced() && record.length == 0 && record.size_units > EMPTY_UNITS {
            return;
        }
        if record.length == 0 {
            empty.entry(record.class).or_default().push(object);
        } else if class.record.is_array_of_references() && record.length >= MIN_LENGTH {
            let used = (graph.references(object).len() - graph.edges_of(object).len()) as u64;
            let null_elements = record.length.saturating_sub(used);
            if null_elements > record.length / 2 {
                let found = SparseArrays {
                    class: record.class,
                    arrays: Amount::one(record.size_units.saturating_mul(8)),
                    elements: record.length,
                    null_elements,
                    worst: object,
                    worst_null_elements: null_elements,
                };
                add(sparse, found);
            }
        }
    })?;
    let (mut sparse, mut empty) = Found::default();
    for (part, arrays) in parts {
        part.into_values().for_each(|found| add(&mut sparse, found));
        arrays.into_iter().for_each(|(class, arrays)| empty.entry(class).or_default().extend(arrays));
    }
    let mut sparse: Vec<SparseArrays> = sparse.into_values().collect();
    sparse.sort_by_key(|found| (Reverse(found.null_elements), found.class));
    sparse.truncate(count);
    Ok(WastedArrays { sparse, empty: holders(graph, reachable, empty, count) })
}

fn add(sparse: &mut HashMap<u32, SparseArrays>, found: SparseArrays) {
    let sums = sparse.entry(found.class).or_insert(SparseArrays { class: found.class, ..Default::default() });
    sums.arrays += found.arrays;
    sums.elements = sums.elements.saturating_add(found.elements);
    sums.null_elements = sums.null_elements.saturating_add(found.null_elements);
    let key = |of: &SparseArrays| (of.worst_null_elements, Reverse(of.worst));
    if key(&found) > key(sums) {
        (sums.worst, sums.worst_null_elements) = (found.worst, found.worst_null_elements);
    }
}

fn holders(
    graph: &Graph,
    reachable: &impl Reachability,
    empty: HashMap<u32, Vec<u32>>,
    count: usize,
) -> Vec<EmptyArrays> {
    let several = empty.into_iter().filter(|(_, arrays)| arrays.len() > 1);
    let mut classes: Vec<(Amount, u32, Vec<u32>)> = several
        .map(|(class, arrays)| {
            (arrays.iter().map(|a| Amount::one(graph.size_bytes(*a))).sum(), class, arrays)
        })
        .collect();
    classes.sort_by_key(|(amount, class, _)| (Reverse(amount.bytes), *class));
    classes.truncate(count);
    let mut members: Vec<u32> = classes.iter().flat_map(|(_, _, arrays)| arrays).copied().collect();
    members.sort_unstable();
    let from = (0..graph.len()).filter(|object| reachable.is_reachable(*object) && !members.is_empty());
    let mut found = referrers_of_groups(graph, from, |object| {
        let class = graph.class_of(object);
        let is_wanted = classes.iter().any(|(_, wanted, _)| *wanted == class);
        (is_wanted && members.binary_search(&object).is_ok()).then_some(class)
    });
    let of_class = classes.into_iter().map(|(arrays, class, _)| {
        let mut holders = found.remove(&class).unwrap_or_default();
        holders.truncate(MAX_HOLDERS);
        EmptyArrays { class, arrays, holders }
    });
    of_class.collect()
}
