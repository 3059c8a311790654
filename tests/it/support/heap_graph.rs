//! A heap graph in maps, read with the decoders of the format alone: slow and simple, to compare with.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dotnet_heap_graph::format::{
    ClassRecord, Decoder, EdgeRecord, EndRecord, FrameBuffer, FrameKind, MoreDecoder, ObjectsDecoder,
    RangeRecord, Reader, RootRecord, TextRecord,
};

/// An object: its class, its size, the hash of a string, and its references by offset.
#[derive(Debug, Clone, Default)]
pub(crate) struct GraphObject {
    pub(crate) class: u32,
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
    pub(crate) references: Vec<(u64, u64)>,
}

/// A graph.
#[derive(Debug, Default)]
pub(crate) struct HeapGraph {
    pub(crate) classes: Vec<ClassRecord>,
    pub(crate) names: HashMap<u32, String>,
    /// Names of the fields of each class, by offset.
    pub(crate) fields: HashMap<u32, BTreeMap<u32, String>>,
    /// Static fields: name and address of the reference.
    pub(crate) statics: BTreeMap<String, u64>,
    pub(crate) methods: BTreeMap<u64, String>,
    pub(crate) objects: BTreeMap<u64, GraphObject>,
    pub(crate) roots: Vec<RootRecord>,
    pub(crate) edges: Vec<EdgeRecord>,
    pub(crate) ranges: Vec<RangeRecord>,
    /// Contents of strings, by address.
    pub(crate) texts: HashMap<u64, String>,
    pub(crate) end: EndRecord,
    pub(crate) info: serde_json::Value,
}

impl HeapGraph {
    /// Reads a file, which must be whole.
    pub(crate) fn read(path: &Path) -> Result<HeapGraph> {
        let reader = Reader::open(path)?;
        ensure!(reader.truncated().is_none(), "{:?}", reader.truncated());
        let mut graph = HeapGraph { classes: reader.classes()?, ..HeapGraph::default() };
        graph.end = *reader.end().context("no end")?;
        graph.info = reader.info()?.context("no info")?;
        let mut buffer = FrameBuffer::default();
        for frame in reader.frames_of(FrameKind::OBJECTS) {
            let payload = reader.payload(frame, &mut buffer)?;
            let mut decoder = ObjectsDecoder::new(payload, &graph.classes)?;
            while let Some(record) = decoder.next_object() {
                let record = record?;
                let mut references = Vec::new();
                while let Some(reference) = decoder.next_reference() {
                    let reference = reference?;
                    references.push((reference.offset_bytes, reference.target));
                }
                let bytes = record.size_units * 8;
                let object = GraphObject { class: record.class, bytes, hash: record.hash, references };
                let before = graph.objects.insert(record.address, object);
                ensure!(before.is_none(), "two objects at {:x}", record.address);
            }
        }
        for frame in reader.frames_of(FrameKind::MORE) {
            let payload = reader.payload(frame, &mut buffer)?;
            let more = MoreDecoder::new(payload)?;
            let object = graph.objects.get_mut(&more.address()).context("more of no object")?;
            for reference in more {
                let reference = reference?;
                object.references.push((reference.offset_bytes, reference.target));
            }
        }
        reader.for_each_record(|root: RootRecord| graph.roots.push(root))?;
        reader.for_each_record(|edge: EdgeRecord| graph.edges.push(edge))?;
        reader.for_each_record(|range: RangeRecord| graph.ranges.push(range))?;
        for frame in reader.frames_of(FrameKind::TEXTS) {
            for text in Decoder::<TextRecord<'_>>::new(reader.payload(frame, &mut buffer)?) {
                let text = text?;
                graph.texts.insert(text.address, text.text.to_owned());
            }
        }
        reader.for_each_names(|names| {
            for class in names.classes {
                graph.fields.insert(class.index, class.fields.into_iter().collect());
                graph.names.insert(class.index, class.name);
            }
            graph.statics.extend(names.statics.into_iter().map(|field| (field.name, field.slot)));
            graph.methods.extend(names.methods.into_iter().map(|method| (method.id, method.name)));
        })?;
        Ok(graph)
    }

    /// The name of an object's class.
    pub(crate) fn class_of(&self, object: &GraphObject) -> &str {
        self.names.get(&object.class).map_or("", String::as_str)
    }

    /// Addresses of the objects of a class.
    pub(crate) fn objects_of(&self, class: &str) -> Vec<u64> {
        let of_it = self.objects.iter().filter(|(_, object)| self.class_of(object) == class);
        of_it.map(|(address, _)| *address).collect()
    }

    pub(crate) fn bytes(&self, objects: &[u64]) -> u64 {
        objects.iter().filter_map(|address| Some(self.objects.get(address)?.bytes)).sum()
    }

    /// What the roots hold, if the reference at `cut` did not exist.
    pub(crate) fn reachable(&self, cut: Option<u64>) -> HashSet<u64> {
        const WEAK: u8 = 2;
        const DEPENDENT: u8 = 1;
        let mut reached = HashSet::new();
        let mut dependent: HashMap<u64, Vec<u64>> = HashMap::new();
        for edge in &self.edges {
            ensure_kind(edge.kind == DEPENDENT || edge.kind == 2);
            dependent.entry(edge.from).or_default().push(edge.to);
        }
        let strong = self.roots.iter().filter(|root| root.flags & WEAK == 0);
        let mut next: Vec<u64> = strong.map(|root| root.address).collect();
        while let Some(address) = next.pop() {
            let Some(object) = self.objects.get(&address) else { continue };
            if reached.insert(address) {
                let kept = object.references.iter().filter(|(offset, _)| Some(address + offset) != cut);
                next.extend(kept.map(|(_, target)| *target));
                next.extend(dependent.get(&address).into_iter().flatten());
            }
        }
        reached
    }

    /// The names of the fields that the references of an object are in.
    pub(crate) fn field_names(&self, object: &GraphObject) -> BTreeSet<String> {
        let names = self.fields.get(&object.class);
        let name = |(offset, _): &(u64, u64)| names?.get(&u32::try_from(*offset).ok()?).cloned();
        object.references.iter().filter_map(name).collect()
    }
}

fn ensure_kind(known: bool) {
    assert!(known, "an edge of a kind that is not known");
}
