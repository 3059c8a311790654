//! Makes a graph out of a file.

use std::path::Path;

use super::addresses::Addresses;
use super::completeness::Completeness;
use super::extra::Extra;
use super::fill::Source;
use super::generation::{Generation, Generations};
use super::heap::Graph;
use super::limits::Limits;
use super::names::AllNames;
use super::root::{Root, RootKind};
use super::runs::Runs;
use super::survey::survey;
use crate::error::{Error, Result};
use crate::format::{EndRecord, RangeRecord, Reader, RootRecord};

impl Graph {
    /// Loads a file, as [`load`](Self::load) does.
    ///
    /// # Errors
    /// As [`load`](Self::load), or the file cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::load(Reader::open(path)?, Limits::default())
    }

    /// Loads a file. Of a file that is cut or damaged it loads what is whole; [`completeness`](Self::completeness) says
    /// what is missing.
    ///
    /// # Errors
    /// The file cannot be read, its writer was wrong, or it has more objects than the limits permit.
    pub fn load(reader: Reader, limits: Limits) -> Result<Self> {
        load(reader, limits)
    }
}

fn load(reader: Reader, limits: Limits) -> Result<Graph> {
    let classes = reader.classes()?;
    let mut survey = survey(&reader, &classes, &limits)?.map_err(|address| Error::Twice { address })?;
    let too_large = Error::TooLarge { objects: survey.objects, references: survey.references };
    if !limits.permit(survey.objects, survey.references) {
        return Err(too_large);
    }
    let Some(addresses) = Addresses::new(std::mem::take(&mut survey.marks)) else { return Err(too_large) };
    let extra = Extra::read(&reader, &addresses, &limits)?;
    let references = survey.references.saturating_add(extra.references);
    if !limits.permit(survey.objects, references.saturating_add(extra.edge_count)) {
        return Err(too_large);
    }
    let source = Source {
        reader: &reader,
        classes: &classes,
        addresses: &addresses,
        survey: &survey,
        extra: &extra,
        limits: &limits,
    };
    let columns = source.fill()?;

    let mut ranges = Vec::new();
    reader.for_each_record(|range: RangeRecord| ranges.push(range))?;
    let mut graph = Graph {
        generations: Generations::new(&ranges, &addresses),
        ranges,
        names: AllNames::read(&reader, &classes)?,
        completeness: Completeness {
            truncated: reader.truncated().copied(),
            written: reader.end().copied(),
            read: EndRecord {
                objects: survey.objects,
                object_bytes: survey.object_bytes,
                references,
                classes: classes.len() as u64,
                edges: extra.edge_count,
                strings: survey.strings,
                ..EndRecord::default()
            },
            missing_targets: columns.missing,
            missing_edges: extra.missing,
            missing_roots: 0,
        },
        runs: Runs::new(survey.runs, survey.order),
        class_records: classes,
        addresses,
        columns,
        edges: extra.edges,
        more: extra.more,
        roots: Vec::new(),
        limits,
        reader,
    };
    add_roots(&mut graph)?;
    Ok(graph)
}

fn add_roots(graph: &mut Graph) -> Result<()> {
    let (mut roots, mut read, mut missing) = (Vec::new(), 0, 0);
    graph.reader.for_each_record(|root: RootRecord| {
        read += 1;
        let object = match graph.object_at(root.address) {
            None if root.flags & RootRecord::INTERIOR != 0 => graph.object_around(root.address),
            object => object,
        };
        match object {
            Some(object) => roots.push(Root {
                object,
                kind: RootKind::of(&root),
                is_weak: root.flags & RootRecord::WEAK != 0,
                id: root.id,
            }),
            None => missing += 1,
        }
    })?;
    // The collector never frees these, whether anything refers to them or not.
    let parts = graph.generations.parts(graph.len());
    for (frozen, _) in parts.filter(|(_, generation)| *generation == Generation::Frozen) {
        roots.extend(frozen.map(|object| Root { object, kind: RootKind::Frozen, is_weak: false, id: 0 }));
    }
    graph.completeness.read.roots = read;
    graph.completeness.missing_roots = missing;
    graph.roots = roots;
    Ok(())
}
