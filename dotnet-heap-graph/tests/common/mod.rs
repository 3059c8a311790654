//! Makes small graphs by hand.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::HashMap;
use std::io::Cursor;

use dotnet_heap_graph::format::{
    ClassName, ClassRecord, EdgeRecord, GraphWriter, IdentityRecord, Names, ObjectRecord, RangeRecord,
    Reader, Reference, RootRecord, StaticName,
};
use dotnet_heap_graph::{Graph, Limits};

/// The first object is here.
const START: u64 = 0x7f00_0001_0000;

/// An object of a graph that is being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewObject {
    pub(crate) class: u32,
    pub(crate) size_units: u64,
    pub(crate) length: u64,
    pub(crate) hash: u64,
    /// The place of each reference, counted in words from where the first can be, and its target.
    pub(crate) references: Vec<(u64, usize)>,
}

/// A graph that is being made. Objects have numbers in the order in which they come, and the graph numbers them the same.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    pub(crate) classes: Vec<ClassRecord>,
    pub(crate) names: Names,
    pub(crate) objects: Vec<NewObject>,
    pub(crate) roots: Vec<(usize, u8, u8, u64)>,
    pub(crate) dependent: Vec<(usize, usize)>,
    pub(crate) statics: Vec<(usize, u64, String)>,
    pub(crate) ranges: Vec<(u8, usize, usize)>,
    /// Objects that were in an earlier graph, with their addresses there.
    pub(crate) identity: Vec<(usize, u64)>,
    by_name: HashMap<String, u32>,
}

impl Heap {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The class of this name. It is made with its first object. `[]` at the end makes an array of references, and
    /// `System.String` is the class of strings.
    pub(crate) fn class(&mut self, name: &str) -> u32 {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let index = self.classes.len() as u32;
        let flags = match name {
            "System.String" => ClassRecord::STRING | ClassRecord::VARIES,
            _ if name.ends_with("[]") => ClassRecord::ARRAY | ClassRecord::VARIES | ClassRecord::REFERENCES,
            _ => ClassRecord::VARIES,
        };
        let record = ClassRecord { index, id: 0x1000 + u64::from(index), flags, ..Default::default() };
        self.classes.push(record);
        self.names.classes.push(ClassName { index, name: name.into(), ..Default::default() });
        self.by_name.insert(name.into(), index);
        index
    }

    /// Says what the base class of a class is.
    pub(crate) fn base(&mut self, class: &str, base: &str) {
        let (class, base) = (self.class(class), self.class(base));
        self.classes[class as usize].parent = Some(base);
    }

    /// Names the fields of a class.
    pub(crate) fn fields(&mut self, class: &str, fields: &[(u32, &str)]) {
        let class = self.class(class) as usize;
        self.names.classes[class].fields =
            fields.iter().map(|(offset, name)| (*offset, (*name).into())).collect();
    }

    /// An object of a class with a size in bytes, a multiple of 8, and references from its first place on.
    pub(crate) fn object(&mut self, class: &str, bytes: u64, references: &[usize]) -> usize {
        let class = self.class(class);
        let length = if self.classes[class as usize].is_array() { (bytes - 24) / 8 } else { 0 };
        self.objects.push(NewObject {
            class,
            size_units: bytes / 8,
            length,
            hash: 0,
            references: (0..).zip(references.iter().copied()).collect(),
        });
        self.objects.len() - 1
    }

    /// A string with a size in bytes. Equal hashes are equal contents.
    pub(crate) fn string(&mut self, bytes: u64, hash: u64) -> usize {
        let string = self.object("System.String", bytes, &[]);
        self.objects[string].hash = hash;
        self.objects[string].length = (bytes - 22) / 2;
        string
    }

    /// Appends a reference.
    pub(crate) fn link(&mut self, from: usize, to: usize) {
        let references = &mut self.objects[from].references;
        let place = references.last().map_or(0, |(place, _)| place + 1);
        references.push((place, to));
    }

    pub(crate) fn root(&mut self, object: usize, kind: u8, flags: u8) {
        self.roots.push((object, kind, flags, 0x5000 + self.roots.len() as u64));
    }

    pub(crate) fn handle(&mut self, object: usize) {
        self.root(object, RootRecord::HANDLE, 0);
    }

    /// Makes an object a static field: it comes to an array that a pinned handle has.
    pub(crate) fn static_field(&mut self, object: usize, name: &str) {
        let array = self.object("System.Object[]", 32, &[object]);
        self.root(array, RootRecord::HANDLE, RootRecord::PINNED);
        self.statics.push((array, 16, name.into()));
    }

    pub(crate) fn addresses(&self) -> Vec<u64> {
        let mut address = START;
        let each = self.objects.iter().map(|object| {
            let here = address;
            address += object.size_units * 8;
            here
        });
        each.collect()
    }

    pub(crate) fn file(&self) -> Vec<u8> {
        let addresses = self.addresses();
        let mut writer = GraphWriter::new(Vec::new()).unwrap();
        self.classes.iter().for_each(|class| writer.class(class).unwrap());
        for (object, address) in self.objects.iter().zip(&addresses) {
            let class = &self.classes[object.class as usize];
            let first = if class.is_array() { 16 } else { 8 };
            let references: Vec<_> = object
                .references
                .iter()
                .map(|(place, to)| Reference { offset_bytes: first + place * 8, target: addresses[*to] })
                .collect();
            let record = ObjectRecord {
                address: *address,
                class: object.class,
                size_units: object.size_units,
                length: object.length,
                hash: object.hash,
                references: 0,
            };
            writer.object(class, &record, &references).unwrap();
        }
        for &(object, kind, flags, id) in &self.roots {
            writer.root(&RootRecord { address: addresses[object], kind, flags, id }).unwrap();
        }
        for (id, &(from, to)) in (0x9000..).zip(&self.dependent) {
            let (from, to) = (addresses[from], addresses[to]);
            writer.edge(&EdgeRecord { from, to, kind: EdgeRecord::DEPENDENT, id }).unwrap();
        }
        for &(generation, first, last) in &self.ranges {
            let start = addresses[first];
            let used_bytes = addresses[last] - start + 8;
            writer.range(&RangeRecord { generation, start, used_bytes, reserved_bytes: 0 }).unwrap();
        }
        let identity = self.identity.iter();
        let identity =
            identity.map(|(object, before)| IdentityRecord { address: addresses[*object], before: *before });
        writer.identity(identity).unwrap();
        let statics = self.statics.iter().map(|(object, offset, name)| StaticName {
            slot: addresses[*object] + offset,
            name: name.clone(),
            thread: false,
        });
        writer.names(&Names { statics: statics.collect(), ..self.names.clone() }).unwrap();
        writer.finish().unwrap()
    }

    pub(crate) fn graph(&self) -> Graph {
        load(self.file()).unwrap()
    }
}

pub(crate) fn load(file: Vec<u8>) -> dotnet_heap_graph::Result<Graph> {
    Graph::load(Reader::new(Cursor::new(file))?, Limits::default())
}
