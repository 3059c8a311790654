//! The samples of a watch when it is over: rows with names, the most first.

use super::estimate::{Estimate, Source};
use super::sample::Heap;
use super::totals::{Allocations, Key, OTHERS, OTHERS_NAME, Rows};
use crate::gc::callers::{Caller, Callers, UNKNOWN};
use crate::gc::generation::Generation;
use crate::gc::map::HashMap;
use crate::gc::names::Name;

/// Rows of each list. The rest is in a row of its own.
const MAX_ROWS: usize = 99;
/// Rows of what was allocated before collections of one kind.
const MAX_BEFORE: usize = 10;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypeRow {
    pub(crate) type_name: Name,
    pub(crate) estimate: Estimate,
}

/// A method of the program, and the method in which the objects were made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MethodRow {
    pub(crate) method: Name,
    /// The innermost frame, the same or one that it called.
    pub(crate) innermost: Name,
    pub(crate) estimate: Estimate,
}

/// A type that a method of the program allocated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) heap: Heap,
    pub(crate) type_name: Name,
    pub(crate) method: Name,
    pub(crate) estimate: Estimate,
}

/// What was allocated before collections of one generation that had one reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BeforeRows {
    pub(crate) generation: Generation,
    /// The runtime's code.
    pub(crate) reason: u32,
    pub(crate) gcs: u64,
    pub(crate) all: Estimate,
    pub(crate) large: Estimate,
    pub(crate) rows: Vec<Row>,
}

/// What allocates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AllocationSummary {
    pub(crate) source: Source,
    /// The runtime listed its methods, so that they have names.
    pub(crate) named: bool,
    pub(crate) all: Estimate,
    /// Large objects.
    pub(crate) large: Estimate,
    /// What the runtime's event tracing allocated, which gcwatch uses. It is in no other sum.
    pub(crate) event_tracing: Estimate,
    pub(crate) types: Vec<TypeRow>,
    pub(crate) methods: Vec<MethodRow>,
    pub(crate) large_objects: Vec<Row>,
    pub(crate) before: Vec<BeforeRows>,
}

/// Adds rows up by another key, the most first. What is beyond the first `max` is one row, the last.
fn grouped<K: Ord + std::hash::Hash + Clone>(
    rows: &Rows,
    max: usize,
    others: &K,
    mut key: impl FnMut(&Key) -> Option<K>,
) -> Vec<(K, Estimate)> {
    let mut groups: HashMap<K, Estimate> = HashMap::default();
    // The sums of floating-point numbers depend on their order.
    let mut sorted: Vec<(&Key, &Estimate)> = rows.0.iter().collect();
    sorted.sort_by_key(|(key, _)| **key);
    for (of, estimate) in sorted {
        if let Some(group) = key(of) {
            groups.entry(group).or_default().add(estimate);
        }
    }
    let rest = groups.remove(others);
    let mut groups: Vec<(K, Estimate)> = groups.into_iter().collect();
    groups.sort_by(|(a, x), (b, y)| y.bytes.total_cmp(&x.bytes).then_with(|| a.cmp(b)));
    let mut left = rest.unwrap_or_default();
    groups.drain(max.min(groups.len())..).for_each(|(_, estimate)| left.add(&estimate));
    if left.samples > 0 {
        groups.push((others.clone(), left));
    }
    groups
}

fn total(rows: &Rows, which: impl Fn(&Key) -> bool) -> Estimate {
    grouped(rows, 1, &false, |key| which(key).then_some(true))
        .pop()
        .map_or_else(Estimate::default, |(_, e)| e)
}

impl Allocations {
    /// The samples with names; `None`: there are none.
    pub(crate) fn summary(&self, callers: &Callers) -> Option<AllocationSummary> {
        let source = self.source?;
        let tracing = |key: &Key| key.stack.is_some_and(|stack| callers.is_event_tracing(stack));
        let event_tracing = total(&self.rows, tracing);
        let programs = |rows: &Rows| {
            Rows(rows.0.iter().filter(|(key, _)| !tracing(key)).map(|(k, e)| (*k, *e)).collect())
        };
        let all_rows = programs(&self.rows);
        let others: Name = OTHERS_NAME.into();
        // The others' row of the types has no stack.
        let is_rest = |key: &Key| key.stack.is_none() && key.type_number == OTHERS;
        let own = |key: &Key| match key.stack {
            Some(stack) => callers.own(stack).text(),
            None if is_rest(key) => others.clone(),
            None => UNKNOWN.into(),
        };
        let innermost =
            |key: &Key| key.stack.map_or(Caller::Unknown, |stack| callers.innermost(stack)).text();
        let by = |rows: &Rows, max, heap: Option<Heap>| -> Vec<Row> {
            let rest = (Heap::Large, others.clone(), others.clone());
            grouped(rows, max, &rest, |key| {
                let wanted = heap.is_none_or(|heap| heap == key.heap);
                wanted.then(|| match is_rest(key) {
                    true => rest.clone(),
                    false => (key.heap, self.type_of(key.type_number), own(key)),
                })
            })
            .into_iter()
            .map(|((heap, type_name, method), estimate)| Row { heap, type_name, method, estimate })
            .collect()
        };
        let types = grouped(&all_rows, MAX_ROWS, &others, |key| Some(self.type_of(key.type_number)));
        let nobody = (others.clone(), others.clone());
        let methods = grouped(&all_rows, MAX_ROWS, &nobody, |key| {
            Some(if is_rest(key) { nobody.clone() } else { (own(key), innermost(key)) })
        });
        let before = self.before.iter().map(|((generation, reason), before)| {
            let rows = programs(&before.rows);
            BeforeRows {
                generation: *generation,
                reason: *reason,
                gcs: before.gcs,
                all: total(&rows, |_| true),
                large: total(&rows, |key| key.heap == Heap::Large),
                rows: by(&rows, MAX_BEFORE, None),
            }
        });
        Some(AllocationSummary {
            source,
            named: callers.listed(),
            all: total(&all_rows, |_| true),
            large: total(&all_rows, |key| key.heap == Heap::Large),
            event_tracing,
            types: types.into_iter().map(|(type_name, estimate)| TypeRow { type_name, estimate }).collect(),
            methods: methods
                .into_iter()
                .map(|((method, innermost), estimate)| MethodRow { method, innermost, estimate })
                .collect(),
            large_objects: by(&all_rows, MAX_ROWS, Some(Heap::Large)),
            before: before.collect(),
        })
    }
}
