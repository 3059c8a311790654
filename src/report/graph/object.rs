//! The report on one object, or on the objects of one type.

use dotnet_heap_graph::analysis::{self, Paths, Referrer, StaticArrays};
use dotnet_heap_graph::{Dominators, Graph, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::amounts::Amounts;
use super::document::{TypeRow, type_row};
use super::steps::{self, PathDocument, StepDocument, address, class_of, label};
use crate::escape::{MAX_NAME_CHARS, cut};

/// How many objects of a type have their ways shown.
const EXAMPLES: usize = 3;

/// Objects of a type that refer to others.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferrerRow {
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) objects: u64,
    pub(crate) references: u64,
    /// One of them.
    pub(crate) example: String,
}

/// The report on an object.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphObject")]
pub(crate) struct ObjectDocument {
    pub(crate) kind: &'static str,
    pub(crate) schema_version: u32,
    pub(crate) address: String,
    #[serde(rename = "type")]
    pub(crate) class: String,
    pub(crate) own_bytes: u64,
    /// What would be garbage without it; `None`: it is garbage itself.
    pub(crate) retained: Option<Amounts>,
    /// The shortest way from a root to it.
    pub(crate) path: Option<PathDocument>,
    /// The objects that each keep it alive on their own.
    pub(crate) retained_by: Vec<StepDocument>,
    pub(crate) referrers: Vec<ReferrerRow>,
}

/// The report on a type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphType")]
pub(crate) struct TypeDocument {
    pub(crate) kind: &'static str,
    pub(crate) schema_version: u32,
    pub(crate) types: Vec<TypeRow>,
    pub(crate) referrers: Vec<ReferrerRow>,
    /// The objects that retain most.
    pub(crate) objects: Vec<ObjectDocument>,
}

fn rows(graph: &Graph, referrers: &[Referrer], top: usize) -> Vec<ReferrerRow> {
    let row = |referrer: &Referrer| ReferrerRow {
        class: label(graph, referrer.class),
        objects: referrer.objects,
        references: referrer.references,
        example: address(graph, referrer.example),
    };
    referrers.iter().take(top).map(row).collect()
}

/// The classes with this name, or whose name ends with it: two classes may have the same name.
pub(crate) fn classes_named(graph: &Graph, name: &str) -> Vec<u32> {
    let exact = |class: &str| class == name;
    let ends = |class: &str| class.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let find = |is: &dyn Fn(&str) -> bool| {
        let classes = graph.classes().iter().enumerate();
        let named = classes.filter(|(_, class)| class.name.as_deref().is_some_and(is));
        named.filter_map(|(index, _)| u32::try_from(index).ok()).collect::<Vec<_>>()
    };
    let found = find(&exact);
    if found.is_empty() { find(&ends) } else { found }
}

/// At most three names of classes that may have been meant: those that contain the text, the shortest first, in capital or
/// small letters; if there are none, those that are most like it.
pub(crate) fn classes_like(graph: &Graph, text: &str) -> Vec<String> {
    const MOST: usize = 3;
    /// Less like each other, names are others.
    const MIN_LIKENESS: f64 = 0.8;
    let text: String = text.to_lowercase().chars().take(MAX_NAME_CHARS).collect();
    let names = || graph.classes().iter().filter_map(|class| class.name.as_deref());
    let mut found: Vec<&str> = names().filter(|name| name.to_lowercase().contains(&text)).collect();
    found.sort_unstable_by_key(|name| (name.len(), *name));
    if found.is_empty() {
        let length = text.len();
        // Comparing takes time by both lengths, and a file may have long names.
        let close = names().filter(|name| name.len() >= length / 2 && name.len() <= length.saturating_mul(4));
        let mut like: Vec<(f64, &str)> = close.map(|name| (likeness(name, &text), name)).collect();
        like.retain(|(likeness, _)| *likeness >= MIN_LIKENESS);
        like.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        found = like.into_iter().map(|(_, name)| name).collect();
    }
    found.dedup();
    found.into_iter().take(MOST).map(|name| cut(name.to_owned(), MAX_NAME_CHARS)).collect()
}

/// How much a name, or its end behind the last dot, is like a text in small letters.
fn likeness(name: &str, text: &str) -> f64 {
    let name = name.to_lowercase();
    let end = name.rsplit('.').next().unwrap_or(&name);
    strsim::jaro_winkler(&name, text).max(strsim::jaro_winkler(end, text))
}

impl ObjectDocument {
    /// Reports on an object.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn new(graph: &Graph, object: u32, top: usize) -> Result<ObjectDocument> {
        let beside = || -> Result<_> {
            let paths = Paths::new(graph, &StaticArrays::new(graph))?;
            Ok((paths, analysis::referrers_of_object(graph, object)))
        };
        let (beside, dominators) = graph.both(beside, || Dominators::new(graph));
        let (paths, referrers) = beside?;
        ObjectDocument::with(graph, &dominators, &paths, object, rows(graph, &referrers, top))
    }

    fn with(
        graph: &Graph,
        dominators: &Dominators,
        paths: &Paths<'_>,
        object: u32,
        referrers: Vec<ReferrerRow>,
    ) -> Result<ObjectDocument> {
        let retained_by = analysis::retained_by(graph, dominators, object);
        Ok(ObjectDocument {
            kind: "gcwatch-graph-object",
            schema_version: 1,
            address: address(graph, object),
            class: class_of(graph, object),
            own_bytes: graph.size_bytes(object),
            retained: paths.is_reachable(object).then(|| dominators.retained(object).into()),
            path: paths.path(object)?.map(|path| steps::path(graph, &path)),
            retained_by: retained_by.map(|(_, way)| steps::steps(graph, &way)).unwrap_or_default(),
            referrers,
        })
    }
}

impl TypeDocument {
    /// Reports on the objects of classes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn new(graph: &Graph, classes: &[u32], top: usize) -> Result<TypeDocument> {
        let paths = || Paths::new(graph, &StaticArrays::new(graph));
        let (paths, dominators) = graph.both(paths, || Dominators::new(graph));
        let paths = paths?;
        let totals = analysis::class_totals(graph, &dominators);
        let mut objects: Vec<u32> =
            (0..graph.len()).filter(|object| classes.contains(&graph.class_of(*object))).collect();
        objects.sort_by_key(|object| std::cmp::Reverse(dominators.retained(*object).bytes));
        let examples = objects.into_iter().take(EXAMPLES.min(top));
        let examples =
            examples.map(|object| ObjectDocument::with(graph, &dominators, &paths, object, Vec::new()));
        let referrers = classes.iter().flat_map(|class| analysis::referrers_of_class(graph, *class));
        let mut referrers: Vec<Referrer> = referrers.collect();
        referrers.sort_by_key(|referrer| std::cmp::Reverse(referrer.objects));
        Ok(TypeDocument {
            kind: "gcwatch-graph-type",
            schema_version: 1,
            types: totals
                .iter()
                .filter(|row| classes.contains(&row.class))
                .map(|row| type_row(graph, row))
                .collect(),
            referrers: rows(graph, &referrers, top),
            objects: examples.collect::<Result<_>>()?,
        })
    }
}
