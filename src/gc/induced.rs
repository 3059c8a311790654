//! Which methods induced collections, and in which methods those were due that the runtime decided.

use std::cmp::Reverse;
use std::hash::Hash;

use super::callers::{Caller, Callers, StackNumber, UNKNOWN};
use super::map::{HashMap, bounded_entry};
use super::names::Name;
use super::record::{Gc, Reason};

/// The collections that one method induced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InducedBy {
    pub(crate) method: Name,
    pub(crate) count: u64,
    pub(crate) pause_ns: u64,
}

/// The collections with one reason that were due while one method allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueIn {
    pub(crate) reason: Reason,
    pub(crate) method: Name,
    pub(crate) count: u64,
    pub(crate) pause_ns: u64,
}

/// A number of collections, and their pauses in ns.
type Sum = (u64, u64);

/// Collections by the method that induced them or in which they were due.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct InducedTotals {
    named: HashMap<Name, Sum>,
    due: HashMap<(Reason, Name), Sum>,
    /// By a stack whose names have yet to come.
    unnamed: HashMap<(Reason, StackNumber), Sum>,
}

/// The method in a stack that called the class `GC`: the innermost frame outside that class.
pub(super) fn inducing_method(frames: &[Name]) -> Option<&Name> {
    frames.iter().find(|name| !name.starts_with("GC."))
}

fn add<K: Eq + Hash>(to: &mut HashMap<K, Sum>, key: K, (more, more_ns): Sum) {
    if let Some((count, ns)) = bounded_entry(to, key, || (0, 0)) {
        *count += more;
        *ns = ns.saturating_add(more_ns);
    }
}

impl InducedTotals {
    pub(crate) fn add(&mut self, gc: &Gc) {
        let one = (1, gc.pause_ns.unwrap_or(0));
        if let Some(inducing_method) = gc.induced_by.as_deref().and_then(inducing_method) {
            add(&mut self.named, inducing_method.clone(), one);
        } else if let (Some(reason), Some(stack)) = (gc.reason, gc.trigger_stack) {
            add(&mut self.unnamed, (reason, stack), one);
        }
    }

    /// The names of the stacks have come. Without the runtime's list of methods there are none.
    pub(crate) fn resolve(&mut self, callers: &Callers) {
        let unnamed = std::mem::take(&mut self.unnamed);
        if !callers.listed() {
            return;
        }
        for ((reason, stack), sum) in unnamed {
            if reason.induced() {
                let method = match callers.outside_gc(stack) {
                    Caller::Method(name) => name,
                    Caller::Unknown | Caller::Framework => UNKNOWN.into(),
                };
                add(&mut self.named, method, sum);
            } else {
                add(&mut self.due, (reason, callers.own(stack).text()), sum);
            }
        }
    }

    /// The most frequent first; `None` where no method is known.
    pub(crate) fn rows(&self) -> Option<Vec<InducedBy>> {
        let row = |(method, (count, pause_ns)): (&Name, &Sum)| InducedBy {
            method: method.clone(),
            count: *count,
            pause_ns: *pause_ns,
        };
        let mut rows: Vec<InducedBy> = self.named.iter().map(row).collect();
        rows.sort_by_cached_key(|row| (Reverse(row.count), Reverse(row.pause_ns), row.method.clone()));
        (!rows.is_empty()).then_some(rows)
    }

    /// The collections that the program did not ask for, the most frequent first; `None` where no method is known.
    pub(crate) fn due_rows(&self) -> Option<Vec<DueIn>> {
        let row = |((reason, method), (count, pause_ns)): (&(Reason, Name), &Sum)| DueIn {
            reason: *reason,
            method: method.clone(),
            count: *count,
            pause_ns: *pause_ns,
        };
        let mut rows: Vec<DueIn> = self.due.iter().map(row).collect();
        rows.sort_by_cached_key(|row| {
            (Reverse(row.count), Reverse(row.pause_ns), row.reason, row.method.clone())
        });
        (!rows.is_empty()).then_some(rows)
    }
}
