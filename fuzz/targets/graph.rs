//! Fuzzes `.gcgraph` files: the reader, dominators, analyses and all reports. The mutator changes payloads of frames.
#![no_main]

use std::io::Cursor;

use dotnet_heap_graph::format::Reader;
use gcwatch_fuzz::{bounded, graph, mutate_frames};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    let mut reader = None;
    bounded(bytes.len(), || reader = Reader::new(Cursor::new(bytes.to_vec())).ok());
    reader.into_iter().for_each(graph);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_frames(&mut data[..max_size], size, seed)
});
