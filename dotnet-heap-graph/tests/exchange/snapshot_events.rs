//! Snapshots of events that are written here: missing blocks, several snapshots, and payloads that make no sense.

use std::io::Cursor;

use dotnet_heap_graph::exchange::snapshot::{Event, Provider, Snapshot, Taken};
use dotnet_heap_graph::exchange::{Counts, Error, Result};
use dotnet_heap_graph::format::{GraphWriter, Reader};
use dotnet_heap_graph::{Graph, Limits};

use crate::oracle::data;
use crate::snapshot_read::import;

/// A payload.
#[derive(Clone, Default)]
struct Out(Vec<u8>);

impl Out {
    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// The start of a block: its number, how many values it has, and the number of the runtime.
    fn block(index: u32, count: usize) -> Self {
        let mut out = Self::default().u32(index).u32(count as u32);
        out.0.extend([0; 2]);
        out
    }
}

fn send(snapshot: &mut Snapshot, id: u32, out: Out) {
    snapshot.event(Event { provider: Provider::Runtime, id, version: 2, payload: &out.0 });
}

fn start(snapshot: &mut Snapshot, number: u32) {
    send(snapshot, 1, Out::default().u32(number).u32(2).u32(1).u32(0));
}

fn end(snapshot: &mut Snapshot, number: u32) {
    send(snapshot, 2, Out::default().u32(number).u32(2));
}

/// Objects of 32 bytes: address and number of references.
fn nodes(snapshot: &mut Snapshot, index: u32, objects: &[(u64, u64)]) {
    let block = objects.iter().fold(Out::block(index, objects.len()), |out, (address, references)| {
        out.u64(*address).u64(32).u64(7).u64(*references)
    });
    send(snapshot, 18, block);
}

fn edges(snapshot: &mut Snapshot, index: u32, targets: &[u64]) {
    let block = targets.iter().fold(Out::block(index, targets.len()), |out, target| out.u64(*target).u32(0));
    send(snapshot, 19, block);
}

fn finish(snapshot: Snapshot) -> Result<(Graph, Taken, Counts)> {
    let mut writer = GraphWriter::new(Vec::new())?;
    let (taken, counts) = snapshot.write(&mut writer)?;
    let graph = Graph::load(Reader::new(Cursor::new(writer.finish()?))?, Limits::default())?;
    Ok((graph, taken, counts))
}

/// The references of all objects, as addresses.
fn references(graph: &Graph) -> Vec<Vec<u64>> {
    let of = |object| graph.references(object).iter().map(|target| graph.address(*target)).collect();
    (0..graph.len()).map(of).collect()
}

#[test]
fn blocks_come_in_any_order() {
    let expected = vec![vec![0x1020, 0x1040], vec![], vec![0x1000], vec![]];
    let objects = [(0x1000, 2), (0x1020, 0), (0x1040, 1), (0x1060, 0)];
    for edges_first in [false, true] {
        let mut snapshot = Snapshot::new(0);
        start(&mut snapshot, 5);
        if edges_first {
            edges(&mut snapshot, 0, &[0x1020]);
            edges(&mut snapshot, 1, &[0x1040, 0x1000]);
        }
        nodes(&mut snapshot, 0, &objects[..3]);
        nodes(&mut snapshot, 1, &objects[3..]);
        if !edges_first {
            edges(&mut snapshot, 0, &[0x1020]);
            edges(&mut snapshot, 1, &[0x1040, 0x1000]);
        }
        end(&mut snapshot, 5);
        let (graph, taken, _) = finish(snapshot).unwrap();
        assert_eq!(references(&graph), expected);
        assert_eq!((taken.missing_blocks, taken.objects_without_references), (0, 0));
        assert_eq!((taken.gc_number, taken.is_complete, taken.classes_without_name), (Some(5), true, 1));
    }
}

#[test]
fn behind_a_missing_block_of_references_none_is_assigned() {
    let mut snapshot = Snapshot::new(0);
    start(&mut snapshot, 5);
    nodes(&mut snapshot, 0, &[(0x1000, 1), (0x1020, 2), (0x1040, 0), (0x1060, 1)]);
    edges(&mut snapshot, 0, &[0x1020]);
    edges(&mut snapshot, 2, &[0x1000]);
    end(&mut snapshot, 5);
    snapshot.lost(3);
    let (graph, taken, _) = finish(snapshot).unwrap();
    assert_eq!(references(&graph), [vec![0x1020], vec![], vec![], vec![]]);
    assert_eq!((taken.missing_blocks, taken.objects_without_references, taken.lost_events), (1, 2, 3));
    assert!(!taken.is_whole());
}

#[test]
fn behind_a_missing_block_of_objects_none_has_references() {
    let mut snapshot = Snapshot::new(0);
    start(&mut snapshot, 5);
    nodes(&mut snapshot, 0, &[(0x1000, 1), (0x1020, 1)]);
    nodes(&mut snapshot, 3, &[(0x1040, 1), (0x1060, 0)]);
    edges(&mut snapshot, 0, &[0x1020, 0x1040, 0x9990, 0x1000]);
    end(&mut snapshot, 5);
    let (graph, taken, _) = finish(snapshot).unwrap();
    assert_eq!(references(&graph), [vec![0x1020], vec![0x1040], vec![], vec![]]);
    assert_eq!((taken.missing_blocks, taken.objects_without_references), (2, 1));
}

#[test]
fn a_missing_last_block_shows() {
    let mut snapshot = Snapshot::new(0);
    start(&mut snapshot, 5);
    nodes(&mut snapshot, 0, &[(0x1000, 1)]);
    // The second reference is of an object that does not come.
    edges(&mut snapshot, 0, &[0x1000, 0x1000]);
    end(&mut snapshot, 5);
    assert_eq!(finish(snapshot).unwrap().1.missing_blocks, 1);

    let mut snapshot = Snapshot::new(0);
    start(&mut snapshot, 5);
    nodes(&mut snapshot, 0, &[(0x1000, 3), (0x1020, 0)]);
    edges(&mut snapshot, 0, &[0x1020]);
    let (graph, taken, _) = finish(snapshot).unwrap();
    assert_eq!(references(&graph), [vec![0x1020], vec![]]);
    assert_eq!((taken.objects_without_references, taken.is_complete, taken.snapshots), (1, false, 1));
}

#[test]
fn the_snapshot_that_is_wanted_is_taken() {
    let all = |wanted| {
        let mut snapshot = Snapshot::new(wanted);
        // A collection without objects is no snapshot.
        start(&mut snapshot, 1);
        end(&mut snapshot, 1);
        for (number, address) in [(2, 0x1000), (3, 0x2000)] {
            start(&mut snapshot, number);
            nodes(&mut snapshot, 0, &[(address, 1)]);
            edges(&mut snapshot, 0, &[address]);
            end(&mut snapshot, number);
        }
        finish(snapshot)
    };
    for (wanted, number, address) in [(0, 2, 0x1000), (1, 3, 0x2000)] {
        let (graph, taken, counts) = all(wanted).unwrap();
        assert_eq!((graph.len(), graph.address(0), counts.objects), (1, address, 1));
        assert_eq!((taken.gc_number, taken.snapshots, taken.is_complete), (Some(number), 2, true));
    }
    assert!(matches!(all(2), Err(Error::NoSnapshot { found: 2 })));
}

#[test]
fn a_snapshot_whose_end_was_lost_ends_where_the_next_collection_starts() {
    let mut snapshot = Snapshot::new(0);
    for (number, address) in [(2, 0x1000), (3, 0x2000)] {
        start(&mut snapshot, number);
        nodes(&mut snapshot, 0, &[(address, 0)]);
    }
    let (graph, taken, _) = finish(snapshot).unwrap();
    assert_eq!((graph.len(), graph.address(0)), (1, 0x1000));
    assert_eq!((taken.gc_number, taken.snapshots, taken.is_complete), (Some(2), 2, false));
}

#[test]
fn payloads_that_make_no_sense_are_counted() {
    let mut snapshot = Snapshot::new(0);
    start(&mut snapshot, 5);
    let huge = Out::block(0, usize::MAX).u64(0x1000).u64(u64::MAX).u64(7).u64(u64::MAX);
    send(&mut snapshot, 18, huge);
    nodes(&mut snapshot, 1, &[(0x1001, 1), (0x1040, 1)]);
    edges(&mut snapshot, 0, &[1, 0x1040]);
    for id in [1, 2, 15, 16, 17, 18, 19, 23, 38, 152] {
        send(&mut snapshot, id, Out::default());
    }
    let (graph, taken, counts) = finish(snapshot).unwrap();
    assert_eq!(taken.damaged, 11);
    assert!(graph.len() <= 2, "{counts:?}");
    assert!(counts.impossible >= 2, "{counts:?}");
}

#[test]
fn recordings_that_are_cut_or_changed_do_no_harm() {
    let whole = data("holders-9.0.18.nettrace");
    let mut random = fastrand::Rng::with_seed(2);
    for round in 0..200 {
        let mut file = whole.clone();
        if round % 2 == 0 {
            file.truncate(random.usize(..whole.len()));
        } else {
            for _flip in 0..random.usize(1..20) {
                let place = random.usize(..file.len());
                file[place] ^= 1 << random.u32(..8);
            }
        }
        match import(&file, 0) {
            Ok((graph, ..)) => assert!(graph.len() < 2 * whole.len()),
            Err(Error::NoSnapshot { .. } | Error::Not64Bit) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
