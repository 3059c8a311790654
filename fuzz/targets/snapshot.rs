//! Fuzzes heap snapshots in recordings: they are read as graphs, which are reported. The mutator changes single events.
#![no_main]

use std::io::Cursor;

use dotnet_heap_graph::exchange::snapshot;
use dotnet_heap_graph::format::{GraphWriter, Reader};
use gcwatch_fuzz::{bounded, graph, mutate};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    let mut reader = None;
    bounded(bytes.len(), || {
        let Ok(mut writer) = GraphWriter::new(Vec::new()) else { return };
        if snapshot::read(bytes, 0, &snapshot::type_name, &mut writer).is_ok() {
            let file = writer.finish().expect("a list of bytes accepts every write");
            reader = Some(Reader::new(Cursor::new(file)).expect("what was written can be read"));
        }
    });
    reader.into_iter().for_each(graph);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(&mut data[..max_size], size, seed)
});
