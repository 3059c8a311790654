//! A small graph: orders in a list that a static field has, customers who know their order, a chain, garbage, and a type
//! whose name would clear the screen.

use std::io::Cursor;

use dotnet_heap_graph::format::{
    ClassName, ClassRecord, GraphWriter, Names, ObjectRecord, RangeRecord, Reader, Reference, RootRecord,
    StaticName,
};
use dotnet_heap_graph::{Dominators, Graph, Limits};

use crate::command::graph::browse::heap::Heap;
use crate::command::graph::browse::key::Key;
use crate::command::graph::browse::state::{Flow, State};

const START: u64 = 0x7000;
/// A type whose name a hostile file chose.
pub(super) const HOSTILE: &str = "Evil\u{1b}[2J\u{202e}";

/// A class: its name, its flags, and its fields.
type Row = (&'static str, u32, &'static [(u32, &'static str)]);

const CLASSES: [Row; 8] = [
    ("object[]", ClassRecord::ARRAY | ClassRecord::REFERENCES, &[]),
    ("List<Known.Order>", 0, &[(8, "_items")]),
    ("Known.Order[]", ClassRecord::ARRAY | ClassRecord::REFERENCES, &[]),
    ("Known.Order", 0, &[(8, "Customer"), (16, "Next")]),
    ("Known.Customer", 0, &[(8, "Last")]),
    ("Known.Node", 0, &[(8, "Next")]),
    (HOSTILE, 0, &[]),
    ("Known.Dead", 0, &[]),
];

#[derive(Default)]
struct Objects(Vec<(u32, u64, Vec<usize>)>);

impl Objects {
    /// An object of a class with a size in bytes, and its references from the first place on.
    fn push(&mut self, class: u32, size_bytes: u64, references: Vec<usize>) -> usize {
        self.0.push((class, size_bytes, references));
        self.0.len() - 1
    }
}

/// A graph with so many orders, and a chain of so many nodes.
pub(super) fn graph(orders: usize, nodes: usize) -> Graph {
    let mut objects = Objects::default();
    let statics = objects.push(0, 32, vec![1]);
    objects.push(1, 32, vec![2]);
    let first = 3;
    objects.push(2, 24 + 8 * orders as u64, (0..orders).map(|nth| first + 2 * nth).collect());
    for nth in 0..orders {
        let order = objects.push(3, 40, vec![first + 2 * nth + 1]);
        objects.push(4, 24, vec![order]);
    }
    let chain = objects.0.len();
    for nth in 0..nodes {
        objects.push(5, 24, if nth + 1 < nodes { vec![chain + nth + 1] } else { Vec::new() });
    }
    let hostile = objects.push(6, 16, Vec::new());
    objects.push(7, 64, Vec::new());

    let mut handles = vec![(statics, RootRecord::PINNED), (hostile, 0)];
    handles.extend((nodes > 0).then_some((chain, 0)));
    load(&objects.0, &handles, statics)
}

/// A graph with an object that so many others refer to.
pub(super) fn hub(nodes: usize) -> Graph {
    let mut objects = Objects::default();
    objects.push(0, 24 + 8 * nodes as u64, (1..=nodes).collect());
    for _ in 0..nodes {
        objects.push(5, 24, vec![nodes + 1]);
    }
    objects.push(6, 16, Vec::new());
    load(&objects.0, &[(0, 0)], 0)
}

/// A graph without objects.
pub(super) fn empty() -> Graph {
    let file = GraphWriter::new(Vec::new()).unwrap().finish().unwrap();
    Graph::load(Reader::new(Cursor::new(file)).unwrap(), Limits::default()).unwrap()
}

fn load(objects: &[(u32, u64, Vec<usize>)], handles: &[(usize, u8)], statics: usize) -> Graph {
    let mut next = START;
    let address = |(_, size_bytes, _): &(u32, u64, Vec<usize>)| {
        let address = next;
        next += size_bytes;
        address
    };
    let addresses: Vec<u64> = objects.iter().map(address).collect();
    let mut writer = GraphWriter::new(Vec::new()).unwrap();
    let mut names = Names::default();
    let records: Vec<ClassRecord> = (0..)
        .zip(CLASSES)
        .map(|(index, (name, flags, fields))| {
            let fields = fields.iter().map(|(offset, name)| (*offset, (*name).into())).collect();
            names.classes.push(ClassName {
                index,
                name: name.into(),
                module: Some("app.dll".into()),
                fields,
            });
            ClassRecord {
                index,
                id: 1 + u64::from(index),
                flags: flags | ClassRecord::VARIES,
                ..Default::default()
            }
        })
        .collect();
    records.iter().for_each(|class| writer.class(class).unwrap());
    for ((class, size_bytes, references), address) in objects.iter().zip(&addresses) {
        let record = &records[*class as usize];
        let first = if record.is_array() { 16 } else { 8 };
        let references: Vec<Reference> = (0..)
            .zip(references)
            .map(|(place, to)| Reference { offset_bytes: first + 8 * place, target: addresses[*to] })
            .collect();
        let object = ObjectRecord {
            address: *address,
            class: *class,
            size_units: size_bytes / 8,
            ..Default::default()
        };
        writer.object(record, &object, &references).unwrap();
    }
    for (object, flags) in handles {
        let root = RootRecord { address: addresses[*object], kind: RootRecord::HANDLE, flags: *flags, id: 1 };
        writer.root(&root).unwrap();
    }
    let range =
        RangeRecord { generation: 2, start: START, used_bytes: next - START, reserved_bytes: next - START };
    writer.range(&range).unwrap();
    let field =
        StaticName { slot: addresses[statics] + 16, name: "Known.Service._orders".into(), thread: false };
    names.statics.push(field);
    writer.names(&names).unwrap();
    Graph::load(Reader::new(Cursor::new(writer.finish().unwrap())).unwrap(), Limits::default()).unwrap()
}

/// Does something with the views of a graph, of whose lists 18 rows are seen.
pub(super) fn with<T>(graph: &Graph, work: impl FnOnce(&mut State<'_>) -> T) -> T {
    let dominators = Dominators::new(graph);
    let mut state = State::new(Heap::new(graph, &dominators).unwrap());
    state.resize(18);
    work(&mut state)
}

/// Presses keys that do not leave.
pub(super) fn press(state: &mut State<'_>, keys: &[Key]) {
    for key in keys {
        assert_eq!(state.press(*key), Flow::Stay, "{key:?}");
    }
}

/// Types text.
pub(super) fn write(state: &mut State<'_>, text: &str) {
    text.chars().for_each(|c| press(state, &[Key::Char(c)]));
}
