//! Makes a small recording from a large one: the first few events of each kind, without large ones. No fuzz target.
//!
//! `seed IN OUT [BYTES]`

use std::collections::HashMap;
use std::io::{self, Error};

use gcwatch_fuzz::Stream;

const MAX_EVENTS_PER_KIND: usize = 24;
const MAX_PAYLOAD_BYTES: usize = 1500;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, size @ ..] = words.as_slice() else { return Err(Error::other("seed IN OUT [BYTES]")) };
    let size = size.first().and_then(|size| size.parse().ok()).unwrap_or(48 << 10);
    let mut stream = Stream::read(&std::fs::read(from)?).ok_or_else(|| Error::other("it has no events"))?;
    let mut seen: HashMap<(String, u32), usize> = HashMap::new();
    stream.events.retain(|event| {
        let count = seen.entry(event.kind.clone()).or_default();
        *count += 1;
        *count <= MAX_EVENTS_PER_KIND && event.payload.len() <= MAX_PAYLOAD_BYTES
    });
    let out = stream.write(size);
    std::fs::write(to, &out)
}
