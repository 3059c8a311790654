//! `.gcdump` files that are cut or changed: an error or some graph, never a panic, and no more memory or time than the file
//! is worth.

use dotnet_heap_graph::Generation;
use dotnet_heap_graph::exchange::Error;

use crate::gcdump_builder::GcDump;
use crate::oracle::{data, import, load};

#[test]
fn a_file_that_is_cut_is_refused() {
    let whole = data("holders-9.0.18.gcdump");
    // What comes after the graph can be missing without harm only behind the last field.
    for len in (0..whole.len() - 40).step_by(13) {
        match import(&whole[..len]) {
            Err(Error::Malformed { .. } | Error::NotGcDump) => {}
            other => panic!("{len}: {:?}", other.map(|(_, _, counts)| counts)),
        }
    }
}

#[test]
fn flipped_bytes_do_no_harm() {
    let whole = data("holders-9.0.18.gcdump");
    let mut random = fastrand::Rng::with_seed(1);
    for _round in 0..3000 {
        let mut file = whole.clone();
        for _flip in 0..random.usize(1..4) {
            let place = random.usize(..file.len());
            file[place] ^= 1 << random.u32(..8);
        }
        if let Ok((graph, ..)) = import(&file) {
            assert!(graph.len() < 10 * whole.len());
        }
    }
}

#[test]
fn a_graph_that_was_made_by_hand_is_read() {
    let (file, _, counts) = import(&GcDump::default().build()).unwrap();
    assert_eq!((counts.objects, counts.references, counts.roots), (2, 2, 1));
    assert_eq!(load(file).len(), 2);
}

#[test]
fn nodes_that_overlap_are_refused() {
    // Each node is the large one: the graph would be far larger than the file.
    let mut dump = GcDump::default();
    let large = dump.blob.len() as u32;
    dump.blob.extend([2 << 1, 0x86, 0x8d, 0x20]);
    dump.blob.extend([0; 100_000]);
    for node in 3..100_000_u64 {
        dump.places.push(large);
        dump.addresses.push(node * 64);
    }
    let started = std::time::Instant::now();
    assert!(matches!(import(&dump.build()), Err(Error::Malformed { why: "nodes overlap", .. })));
    assert!(started.elapsed().as_secs() < 10);
}

#[test]
fn groups_in_a_circle_end() {
    let mut dump = GcDump::default();
    // The node of the roots refers to itself, then to the first object.
    dump.blob.splice(3..5, [2, 0, 1]);
    dump.places = vec![2, 6, 9];
    let (_, _, counts) = import(&dump.build()).unwrap();
    assert_eq!(counts.roots, 1);
}

#[test]
fn objects_at_impossible_addresses_are_left_out_and_counted() {
    let mut dump = GcDump::default();
    dump.addresses[2] += 1;
    let (_, _, counts) = import(&dump.build()).unwrap();
    assert_eq!((counts.objects, counts.impossible, counts.references_to_nowhere), (1, 1, 1));
    dump.addresses[2] = dump.addresses[1];
    let (file, _, counts) = import(&dump.build()).unwrap();
    assert_eq!((counts.objects, counts.impossible, counts.references_to_nowhere), (1, 1, 1));
    assert_eq!(load(file).len(), 1);
}

#[test]
fn heaps_of_32_bit_processes_are_refused() {
    let dump = GcDump { is_64_bit: false, ..GcDump::default() };
    assert!(matches!(import(&dump.build()), Err(Error::Not64Bit)));
}

#[test]
fn other_versions_are_refused() {
    for version in [4, 8] {
        let dump = GcDump { version, ..GcDump::default() };
        assert!(matches!(import(&dump.build()), Err(Error::UnsupportedVersion { .. })));
    }
    let dump = GcDump { minimum_reader: 11, ..GcDump::default() };
    assert!(matches!(import(&dump.build()), Err(Error::UnsupportedVersion { .. })));
}

#[test]
fn segments_tell_the_generations() {
    // Generation 2 up to 0x1020, then generation 0.
    let dump = GcDump { segment: Some([0x1000, 0x1100, 0x1100, 0x1020, 0x1020, 0, 0]), ..GcDump::default() };
    let (file, ..) = import(&dump.build()).unwrap();
    let graph = load(file);
    assert_eq!(
        (0..2).map(|object| graph.generation_of(object)).collect::<Vec<_>>(),
        [Generation::Gen2, Generation::Gen0]
    );
}

#[test]
fn something_else_is_no_gcdump() {
    for other in [&b""[..], b"Nettrace", b"\x14\0\0\0!FastSerialization.2", &[0; 4096]] {
        assert!(matches!(import(other), Err(Error::NotGcDump)), "{other:?}");
    }
}
