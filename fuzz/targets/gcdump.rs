//! Fuzzes `.gcdump` files: they are read as graphs, which are reported.
#![no_main]

use std::io::Cursor;

use dotnet_heap_graph::exchange::gcdump;
use dotnet_heap_graph::format::{GraphWriter, Reader};
use gcwatch_fuzz::{bounded, graph};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = None;
    bounded(bytes.len(), || {
        let Ok(mut writer) = GraphWriter::new(Vec::new()) else { return };
        if gcdump::read(Cursor::new(bytes), &mut writer).is_ok() {
            let file = writer.finish().expect("a list of bytes accepts every write");
            reader = Some(Reader::new(Cursor::new(file)).expect("what was written can be read"));
        }
    });
    reader.into_iter().for_each(graph);
});
