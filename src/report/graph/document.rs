//! The report as data, which is also the JSON document.

use dotnet_heap_graph::analysis::{self, Paths, StaticArrays};
use dotnet_heap_graph::{Dominators, Generation, Graph, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::amounts::Amounts;
use super::steps::{self, PathDocument, address, class_of, label};
use super::suspects::{self, SuspectRow};
use super::waste::{KeptRow, Unneeded, Waste};

/// How many classes are told of what an object holds.
const HELD: usize = 5;

/// Objects of a generation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerationRow {
    pub(crate) generation: &'static str,
    pub(crate) all: Amounts,
    pub(crate) reachable: Amounts,
}

/// Roots of a kind.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RootRow {
    pub(crate) kind: &'static str,
    /// Roots that keep their object alive, and those that do not.
    pub(crate) strong: u64,
    pub(crate) weak: u64,
    /// What would be garbage without all roots of this kind.
    pub(crate) alone: Amounts,
}

/// Objects of a type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypeRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) module: Option<String>,
    pub(crate) all: Amounts,
    pub(crate) reachable: Amounts,
    /// What would be garbage without these objects.
    pub(crate) retained: Amounts,
}

/// An object that retains much.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HolderRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) address: String,
    pub(crate) own_bytes: u64,
    pub(crate) retained: Amounts,
    /// The way from a root to it.
    pub(crate) path: Option<PathDocument>,
    /// Down from it, the object where what it retains is spread over many.
    pub(crate) accumulated_in: String,
    /// What that object dominates, by type.
    pub(crate) holds: Vec<KeptRow>,
}

/// What is missing in the graph.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphMissing")]
pub(crate) struct Missing {
    /// Whether nothing is.
    pub(crate) nothing: bool,
    /// Where the file is cut or damaged.
    pub(crate) cut: Option<String>,
    /// References and roots that lead to no object of the graph.
    pub(crate) references: u64,
    pub(crate) roots: u64,
    /// Roots that did not fit into memory while the graph was taken.
    pub(crate) lost_roots: u64,
    /// The process did not answer all questions about names when the graph was taken.
    pub(crate) names: bool,
    /// Counts that differ between what was written and what was read.
    pub(crate) differences: Vec<String>,
    /// Objects of which the runtime told different references in two ways.
    pub(crate) doubtful_objects: u64,
}

/// The report on a graph.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphDocument {
    pub(crate) kind: &'static str,
    pub(crate) schema_version: u32,
    /// What was taken of which process, as the file says.
    pub(crate) taken: Option<Value>,
    pub(crate) missing: Missing,
    pub(crate) all: Amounts,
    pub(crate) reachable: Amounts,
    pub(crate) references: u64,
    pub(crate) generations: Vec<GenerationRow>,
    pub(crate) roots: Vec<RootRow>,
    pub(crate) types: Vec<TypeRow>,
    pub(crate) types_in_all: u64,
    pub(crate) holders: Vec<HolderRow>,
    /// What may be a leak.
    pub(crate) suspects: Vec<SuspectRow>,
    pub(crate) waste: Waste,
}

/// What a part of the heap is called.
pub(crate) fn generation(of: Generation) -> &'static str {
    match of {
        Generation::Gen0 => "gen0",
        Generation::Gen1 => "gen1",
        Generation::Gen2 => "gen2",
        Generation::Large => "loh",
        Generation::Pinned => "poh",
        Generation::Frozen => "frozen",
        Generation::Unknown => "unknown",
    }
}

pub(super) fn missing(graph: &Graph, taken: Option<&Value>) -> Missing {
    let told = graph.completeness();
    let names = taken.and_then(|taken| taken.get("names_missing")?.as_bool()).unwrap_or(false);
    let written = told.written.unwrap_or_default();
    Missing {
        nothing: told.is_whole() && !names,
        names,
        differences: told
            .differences()
            .iter()
            .map(|row| format!("{} {} of {}", row.read, row.what, row.written))
            .collect(),
        cut: told.truncated.as_ref().map(ToString::to_string),
        references: told.missing_targets,
        roots: told.missing_roots,
        lost_roots: written.lost_roots,
        doubtful_objects: written.objects_of_two_minds.saturating_add(written.objects_of_another_size),
    }
}

impl GraphDocument {
    /// Reports on a graph: the first `top` types, and the first `top` objects.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn new(graph: &Graph, top: usize) -> Result<GraphDocument> {
        let taken = graph.reader().info::<Value>()?;
        let statics = StaticArrays::new(graph);
        // What does not need the dominators, which take longest.
        let beside = || -> Result<_> {
            let paths = Paths::new(graph, &statics)?;
            let totals = analysis::totals(graph, &paths);
            let unneeded = Unneeded::new(graph, &paths, top)?;
            Ok((paths, totals, unneeded))
        };
        let (beside, dominators) = graph.both(beside, || Dominators::new(graph));
        let ((paths, totals, unneeded), dominators) = (beside?, &dominators);
        let sums = || {
            let classes = analysis::class_totals(graph, dominators);
            let waste = Waste::new(graph, dominators, &classes, unneeded, top);
            (classes, waste)
        };
        let ways = || -> Result<_> {
            let biggest = analysis::biggest(graph, dominators, &statics, top);
            let holders = biggest.iter().map(|big| holder_row(graph, &paths, big));
            let holders = holders.collect::<Result<Vec<_>>>()?;
            Ok((holders, suspects::suspects(graph, dominators, &statics, &paths)?))
        };
        let (sums, ways) = graph.both(sums, ways);
        let ((classes, waste), (holders, suspects)) = (sums, ways?);
        Ok(GraphDocument {
            kind: "gcwatch-graph",
            schema_version: 1,
            missing: missing(graph, taken.as_ref()),
            taken,
            all: totals.all.into(),
            reachable: totals.reachable.into(),
            references: graph.reference_count(),
            generations: totals
                .generations
                .iter()
                .map(|row| GenerationRow {
                    generation: generation(row.generation),
                    all: row.all.into(),
                    reachable: row.reachable.into(),
                })
                .collect(),
            roots: analysis::root_totals(graph, dominators)
                .iter()
                .map(|row| RootRow {
                    kind: steps::kind(row.kind),
                    strong: row.strong,
                    weak: row.weak,
                    alone: row.alone.into(),
                })
                .collect(),
            types_in_all: classes.len() as u64,
            types: classes.iter().take(top).map(|row| type_row(graph, row)).collect(),
            holders,
            suspects,
            waste,
        })
    }
}

fn holder_row(graph: &Graph, paths: &Paths<'_>, big: &analysis::Big) -> Result<HolderRow> {
    let inner = &big.accumulation;
    let held = |child: &analysis::ClassShare| KeptRow {
        class: label(graph, child.class),
        own: child.own.into(),
        retained: child.retained.into(),
    };
    Ok(HolderRow {
        class: label(graph, big.class),
        address: address(graph, big.object),
        own_bytes: big.own_bytes,
        retained: big.retained.into(),
        path: paths.path(inner.object)?.map(|path| steps::path(graph, &path)),
        accumulated_in: class_of(graph, inner.object),
        holds: inner.children.iter().take(HELD).map(held).collect(),
    })
}

pub(super) fn type_row(graph: &Graph, row: &analysis::ClassTotals) -> TypeRow {
    TypeRow {
        class: label(graph, row.class),
        module: graph.class(row.class).and_then(|class| class.module.as_deref()).map(steps::name),
        all: row.all.into(),
        reachable: row.reachable.into(),
        retained: row.retained.into(),
    }
}
