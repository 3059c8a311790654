//! Graphs of several shapes. Each object's class and references follow from its number, so none has to be in memory.

use std::fs::File;
use std::io::BufWriter;

use dotnet_heap_graph::Result;
use dotnet_heap_graph::format::{
    ClassName, ClassRecord, GraphWriter, Names, ObjectRecord, RangeRecord, Reference, RootRecord,
};
use fastrand::Rng;

const START: u64 = 0x7f00_0000_0000;
/// Sizes of four consecutive objects in units of 8 bytes.
const SIZES: [u64; 4] = [5, 4, 6, 5];
const GROUP: u64 = 20;
const STRING: u32 = 30;
const CLASSES: u32 = 31;

/// Gives the class of an object and the objects that it refers to.
pub(crate) type Shape = fn(u64, u64, &mut Rng, &mut Vec<u64>) -> u32;

/// All shapes by their names.
pub(crate) const SHAPES: [(&str, Shape); 6] = [
    ("list", list),
    ("tree", tree),
    ("random", random),
    ("hubs", hubs),
    ("strings", strings),
    ("local", local),
];

/// A doubly linked list.
fn list(i: u64, objects: u64, _: &mut Rng, references: &mut Vec<u64>) -> u32 {
    references.extend([i.saturating_sub(1), (i + 1) % objects, i]);
    0
}

/// A tree in which each object knows its parent.
fn tree(i: u64, objects: u64, _: &mut Rng, references: &mut Vec<u64>) -> u32 {
    references.extend([2 * i + 1, 2 * i + 2].into_iter().filter(|child| *child < objects));
    references.push(i.saturating_sub(1) / 2);
    (i % 3) as u32
}

/// Any object refers to any.
fn random(i: u64, objects: u64, rng: &mut Rng, references: &mut Vec<u64>) -> u32 {
    references.extend([rng.u64(..objects), rng.u64(..objects), (i + 1) % objects]);
    (i % 30) as u32
}

/// A thousand objects that many refer to, and that refer to many.
fn hubs(i: u64, objects: u64, rng: &mut Rng, references: &mut Vec<u64>) -> u32 {
    let step = (objects / 1000).max(2);
    if i.is_multiple_of(step) {
        references.extend(i + 1..(i + step + 1).min(objects));
        return 29;
    }
    references.extend([rng.u64(..objects) / step * step, i / step * step]);
    (i % 29) as u32
}

/// Half of the objects are strings, which others refer to.
fn strings(i: u64, objects: u64, rng: &mut Rng, references: &mut Vec<u64>) -> u32 {
    if i % 2 == 1 {
        return STRING;
    }
    let any_string = (rng.u64(..objects) | 1).min(objects - 1);
    references.extend([i + 1, any_string, (i + 2) % objects, (i + 40) % objects]);
    references.retain(|to| *to < objects);
    (i % 30) as u32
}

/// Like most programs: mostly near objects, some far, some that all know.
fn local(i: u64, objects: u64, rng: &mut Rng, references: &mut Vec<u64>) -> u32 {
    for _ in 0..rng.u8(1..6) {
        references.push(match rng.u8(..10) {
            0 => rng.u64(..objects),
            1 => rng.u64(..100.min(objects)),
            _ => (i + rng.u64(1..200)) % objects,
        });
    }
    if i % 5 == 4 { STRING } else { (rng.f64().powi(3) * 30.0) as u32 }
}

fn address(i: u64) -> u64 {
    let before = SIZES.iter().take((i % 4) as usize).sum::<u64>();
    START + (i / 4 * GROUP + before) * 8
}

/// Writes a graph, and returns how many references it has.
pub(crate) fn write(file: &File, shape: Shape, objects: u64) -> Result<u64> {
    let mut writer = GraphWriter::new(BufWriter::new(file))?;
    let mut names = Names::default();
    let classes: Vec<ClassRecord> = (0..CLASSES)
        .map(|index| ClassRecord {
            index,
            id: 0x1000 + u64::from(index),
            flags: ClassRecord::VARIES | if index == STRING { ClassRecord::STRING } else { 0 },
            ..Default::default()
        })
        .collect();
    for class in &classes {
        writer.class(class)?;
        let name =
            if class.index == STRING { "System.String".into() } else { format!("App.Class{}", class.index) };
        names.classes.push(ClassName { index: class.index, name, ..Default::default() });
    }
    writer.names(&names)?;
    let mut rng = Rng::with_seed(7);
    let (mut numbers, mut references, mut count) = (Vec::new(), Vec::new(), 0);
    for i in 0..objects {
        numbers.clear();
        let class = shape(i, objects, &mut rng, &mut numbers);
        let object = ObjectRecord {
            address: address(i),
            class,
            size_units: *SIZES.get((i % 4) as usize).unwrap_or(&3),
            length: 8 + i % 4,
            hash: if class == STRING { rng.u64(..objects).wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { 0 },
            references: 0,
        };
        references.clear();
        if class != STRING {
            let offsets = (8..).step_by(8);
            references.extend(
                offsets
                    .zip(&numbers)
                    .map(|(offset_bytes, to)| Reference { offset_bytes, target: address(*to) }),
            );
        }
        count += references.len() as u64;
        if let Some(class) = classes.get(class as usize) {
            writer.object(class, &object, &references)?;
        }
    }
    for (id, i) in (1..).zip([0, objects / 3, objects / 2]) {
        writer.root(&RootRecord { address: address(i), kind: RootRecord::HANDLE, flags: 0, id })?;
    }
    for id in 0..100.min(objects) {
        writer.root(&RootRecord {
            address: address(id * 7 % objects),
            kind: RootRecord::STACK,
            flags: 0,
            id,
        })?;
    }
    let used_bytes = address(objects) - START;
    writer.range(&RangeRecord { generation: 2, start: START, used_bytes, reserved_bytes: used_bytes })?;
    writer.finish()?;
    Ok(count)
}
