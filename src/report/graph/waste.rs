//! Memory that may be wasted, and objects that are often forgotten: equal strings, nearly empty arrays, boxed values,
//! finalizers, event handlers, tasks.

use dotnet_heap_graph::analysis::{self, ClassTotals, PendingKind, Reachability, Referrer};
use dotnet_heap_graph::{Dominators, Graph, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::amounts::Amounts;
use super::steps::label;

/// How many holders of a group are named.
const HOLDERS: usize = 3;

/// Objects of a type, and what they retain.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) own: Amounts,
    pub(crate) retained: Amounts,
}

/// What a kind of root or handle alone keeps alive.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptBy {
    pub(crate) count: u64,
    pub(crate) kept: Amounts,
    pub(crate) types: Vec<KeptRow>,
}

/// Strings with one content.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StringRow {
    pub(crate) strings: u64,
    pub(crate) length: u64,
    pub(crate) wasted_bytes: u64,
    /// The content, if the file has it (`--strings`).
    pub(crate) text: Option<String>,
    /// Types whose objects refer to them.
    pub(crate) holders: Vec<String>,
}

/// All strings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strings {
    pub(crate) all: Amounts,
    pub(crate) contents: u64,
    /// What would be saved if each content were there once.
    pub(crate) wasted: Amounts,
    pub(crate) groups: Vec<StringRow>,
}

/// Arrays of a type that are mostly null.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SparseRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) arrays: u64,
    pub(crate) elements: u64,
    pub(crate) null_elements: u64,
    pub(crate) null_bytes: u64,
}

/// Objects of a type, and who refers to them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldByRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) own: Amounts,
    pub(crate) holders: Vec<String>,
}

/// Objects that only delegates keep alive.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelegateRow {
    pub(crate) delegate: String,
    pub(crate) target: String,
    pub(crate) targets: u64,
    pub(crate) retained: Amounts,
}

/// Pending work of a type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PendingRow {
    pub(crate) work: &'static str,
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) own: Amounts,
    pub(crate) retained: Amounts,
}

/// All of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waste {
    pub(crate) strings: Strings,
    pub(crate) sparse_arrays: Vec<SparseRow>,
    pub(crate) empty_arrays: Vec<HeldByRow>,
    pub(crate) boxed_values: Vec<HeldByRow>,
    /// Objects that wait for their finalizer.
    pub(crate) finalizer: KeptBy,
    /// `ConditionalWeakTable` and its kind.
    pub(crate) dependent_handles: KeptBy,
    pub(crate) delegates: Vec<DelegateRow>,
    pub(crate) pending: Vec<PendingRow>,
}

fn holders(graph: &Graph, referrers: &[Referrer]) -> Vec<String> {
    referrers.iter().take(HOLDERS).map(|referrer| label(graph, referrer.class)).collect()
}

fn kept_by(graph: &Graph, kept: &analysis::Kept, top: usize) -> KeptBy {
    let row = |share: &analysis::ClassShare| KeptRow {
        class: label(graph, share.class),
        own: share.own.into(),
        retained: share.retained.into(),
    };
    KeptBy {
        count: kept.count,
        kept: kept.kept.into(),
        types: kept.classes.iter().take(top).map(row).collect(),
    }
}

fn strings(graph: &Graph, reachable: &impl Reachability, top: usize) -> Result<Strings> {
    let found = analysis::duplicate_strings(graph, reachable, top)?;
    let examples: Vec<u32> = found.groups.iter().map(|group| group.example).collect();
    let texts = graph.texts(&examples)?;
    let row = |group: &analysis::StringGroup| StringRow {
        strings: group.strings.objects,
        length: group.length,
        wasted_bytes: group.wasted.bytes,
        text: texts.get(&group.example).cloned(),
        holders: holders(graph, &group.holders),
    };
    Ok(Strings {
        all: found.strings.into(),
        contents: found.contents,
        wasted: found.wasted.into(),
        groups: found.groups.iter().map(row).collect(),
    })
}

fn work(kind: PendingKind) -> &'static str {
    match kind {
        PendingKind::AsyncMethod => "async method",
        PendingKind::Task => "task",
        PendingKind::Timer => "timer",
        PendingKind::Cancellation => "cancellation",
        PendingKind::CancellationCallback => "cancellation callback",
    }
}

/// Objects that are there, and need not be: no matter what they retain.
#[derive(Debug)]
pub(super) struct Unneeded {
    strings: Strings,
    sparse_arrays: Vec<SparseRow>,
    empty_arrays: Vec<HeldByRow>,
    boxed_values: Vec<HeldByRow>,
}

impl Unneeded {
    /// Looks for them, at most `top` rows of each kind.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn new(graph: &Graph, reachable: &impl Reachability, top: usize) -> Result<Unneeded> {
        const NULL_BYTES: u64 = 8;
        let arrays = analysis::wasted_arrays(graph, reachable, top)?;
        let sparse = arrays.sparse.iter().map(|row| SparseRow {
            class: label(graph, row.class),
            arrays: row.arrays.objects,
            elements: row.elements,
            null_elements: row.null_elements,
            null_bytes: row.null_elements.saturating_mul(NULL_BYTES),
        });
        let empty = arrays.empty.iter().map(|row| HeldByRow {
            class: label(graph, row.class),
            own: row.arrays.into(),
            holders: holders(graph, &row.holders),
        });
        let boxed = analysis::boxed_values(graph, reachable, top);
        let boxed = boxed.iter().map(|row| HeldByRow {
            class: label(graph, row.class),
            own: row.values.into(),
            holders: holders(graph, &row.holders),
        });
        Ok(Unneeded {
            sparse_arrays: sparse.collect(),
            empty_arrays: empty.collect(),
            boxed_values: boxed.collect(),
            strings: strings(graph, reachable, top)?,
        })
    }
}

impl Waste {
    /// Looks for the rest of it, at most `top` rows of each kind.
    pub(super) fn new(
        graph: &Graph,
        dominators: &Dominators,
        classes: &[ClassTotals],
        unneeded: Unneeded,
        top: usize,
    ) -> Waste {
        let delegates = analysis::delegate_targets(graph, dominators, top);
        let delegates = delegates.iter().map(|row| DelegateRow {
            delegate: label(graph, row.delegate),
            target: label(graph, row.target),
            targets: row.targets.objects,
            retained: row.retained.into(),
        });
        let pending = analysis::pending_work(graph, classes);
        let pending = pending.iter().take(top).map(|row| PendingRow {
            work: work(row.kind),
            class: label(graph, row.class),
            own: row.objects.into(),
            retained: row.retained.into(),
        });
        let Unneeded { strings, sparse_arrays, empty_arrays, boxed_values } = unneeded;
        Waste {
            strings,
            sparse_arrays,
            empty_arrays,
            boxed_values,
            finalizer: kept_by(graph, &analysis::kept_by_finalizers(graph, dominators), top),
            dependent_handles: kept_by(graph, &analysis::kept_by_dependent_handles(graph, dominators), top),
            delegates: delegates.collect(),
            pending: pending.collect(),
        }
    }
}
