//! What Microsoft's own classes say of a `.gcdump` file: the output of `tests/apps/peers/heapdump.cs`.
//!
//! `tests/data/holders-9.0.18.nettrace` is a recording of `tests/apps/holders.cs`; those classes made the `.gcdump` of it
//! and the text of the `.gcdump`.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use dotnet_heap_graph::exchange::gcdump::{self, Description};
use dotnet_heap_graph::exchange::{Counts, Result};
use dotnet_heap_graph::format::{GraphWriter, Reader};
use dotnet_heap_graph::{Graph, Limits, Place};

/// A file of `tests/data`.
pub(crate) fn data(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// dotnet-gcdump changes names; this makes those of the test's program right again.
fn csharp(name: &str) -> String {
    let name = name.replace('+', ".").replace(',', ", ").replace("<, >", "[,]");
    name.replace("[]c", "<>c")
}

/// A node that is an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) size_bytes: u64,
    pub(crate) class: String,
    pub(crate) module: String,
    /// Addresses, in order.
    pub(crate) references: Vec<u64>,
}

/// Everything that a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heap {
    /// By address.
    pub(crate) objects: BTreeMap<u64, Object>,
    /// The objects of each group of roots, sorted; of nested groups the innermost.
    pub(crate) roots: BTreeMap<String, Vec<u64>>,
}

impl Heap {
    /// The lines of the peer. Sizes are rounded up, as a `.gcgraph` file has them.
    pub(crate) fn parse(text: &str) -> Self {
        let mut nodes: HashMap<&str, Vec<&str>> = HashMap::new();
        for line in text.lines().filter(|line| line.starts_with("node\t")) {
            let columns: Vec<&str> = line.split('\t').collect();
            nodes.insert(columns[1], columns);
        }
        let address = |node: &[&str]| u64::from_str_radix(node[2], 16).unwrap();
        let mut heap = Self::default();
        for node in nodes.values() {
            let children = node[6..].iter().filter_map(|child| nodes.get(child));
            let children = children.map(|child| address(child)).filter(|address| *address != 0).collect();
            if address(node) == 0 {
                let name = if node[5].starts_with("[static") { csharp(node[5]) } else { node[5].to_owned() };
                let group: &mut Vec<u64> = heap.roots.entry(name).or_default();
                group.extend::<Vec<u64>>(children);
                group.sort_unstable();
                continue;
            }
            let object = Object {
                size_bytes: node[3].parse::<u64>().unwrap().next_multiple_of(8),
                class: csharp(node[5].split(" (Bytes > ").next().unwrap()),
                module: node[4].rsplit('/').next().unwrap().to_owned(),
                references: children,
            };
            heap.objects.insert(address(node), object);
        }
        heap.roots.retain(|_, objects| !objects.is_empty());
        heap
    }

    /// Says the first difference; all of them would be many pages.
    pub(crate) fn assert_same_objects(&self, expected: &Self) {
        for (address, object) in &self.objects {
            assert_eq!(Some(object), expected.objects.get(address), "at {address:x}");
        }
        assert_eq!(self.objects.len(), expected.objects.len());
    }

    /// The same of a graph, without its roots and dependent handles.
    pub(crate) fn of(graph: &Graph) -> Self {
        let mut heap = Self::default();
        for object in 0..graph.len() {
            let class = graph.class(graph.class_of(object)).unwrap();
            let (references, edges) = (graph.references(object), graph.edges_of(object));
            let references = &references[..references.len() - edges.len()];
            let references = references.iter().map(|target| graph.address(*target)).collect();
            let known = Object {
                size_bytes: graph.size_bytes(object),
                class: class.label().into_owned(),
                module: class.module.clone().unwrap_or_default(),
                references,
            };
            heap.objects.insert(graph.address(object), known);
        }
        heap
    }
}

/// The graph in a `.gcgraph` file.
pub(crate) fn load(file: Vec<u8>) -> Graph {
    let graph = Graph::load(Reader::new(Cursor::new(file)).unwrap(), Limits::default()).unwrap();
    assert!(graph.completeness().is_whole(), "{:?}", graph.completeness());
    graph
}

/// A `.gcgraph` file with what is in a `.gcdump` file.
pub(crate) fn import(gcdump: &[u8]) -> Result<(Vec<u8>, Description, Counts)> {
    let mut writer = GraphWriter::new(Vec::new())?;
    let (description, counts) = gcdump::read(Cursor::new(gcdump), &mut writer)?;
    Ok((writer.finish()?, description, counts))
}

/// No reference of the graph claims to be in a certain field or element. Static fields are known.
pub(crate) fn nothing_has_a_place(graph: &Graph) {
    for object in 0..graph.len() {
        for target in graph.references(object) {
            let place = graph.place(object, *target).unwrap().unwrap();
            let is_known = matches!(place, Place::Field { .. } | Place::Unnamed { .. })
                || matches!(place, Place::Element { index: Some(_), .. });
            assert!(!is_known, "{place:?}");
        }
    }
}
