//! Checks what a graph costs.

use dotnet_heap_graph::format::Reader;

use super::bounded;

/// A larger graph only takes time: a file can be 250 times as large as it is stored.
const MAX_PAYLOAD_BYTES: usize = 1 << 20;

/// Reports on a graph, in memory and work in proportion to the payloads of its frames.
pub fn graph(reader: Reader) {
    let bytes = reader.frames().iter().map(|frame| frame.payload_bytes() as usize).sum();
    if bytes <= MAX_PAYLOAD_BYTES {
        bounded(bytes, || gcwatch::fuzz::graph(reader));
    }
}
