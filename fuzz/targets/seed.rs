//! Makes a small recording from a large one: the first few events of each kind, without large ones. No fuzz target.
//!
//! `seed IN OUT [BYTES [PAYLOAD_BYTES]]`: with the last number, large events are cut to that size. Heap snapshots consist of
//! such events, and a reader takes what there is.

use std::collections::HashMap;
use std::io::{self, Error};

use gcwatch_fuzz::Stream;

const MAX_EVENTS_PER_KIND: usize = 24;
const MAX_PAYLOAD_BYTES: usize = 1500;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let usage = || Error::other("seed IN OUT [BYTES [PAYLOAD_BYTES]]");
    let [from, to, numbers @ ..] = words.as_slice() else { return Err(usage()) };
    let numbers: Vec<usize> =
        numbers.iter().map(|number| number.parse().map_err(|_| usage())).collect::<io::Result<_>>()?;
    let size = numbers.first().copied().unwrap_or(48 << 10);
    let mut stream = Stream::read(&std::fs::read(from)?).ok_or_else(|| Error::other("it has no events"))?;
    if let Some(payload_bytes) = numbers.get(1) {
        stream.events.iter_mut().for_each(|event| event.payload.truncate(*payload_bytes));
    }
    let mut seen: HashMap<(String, u32), usize> = HashMap::new();
    let max_payload = numbers.get(1).copied().unwrap_or(MAX_PAYLOAD_BYTES);
    stream.events.retain(|event| {
        let count = seen.entry(event.kind.clone()).or_default();
        *count += 1;
        *count <= MAX_EVENTS_PER_KIND && event.payload.len() <= max_payload
    });
    let out = stream.write(size);
    std::fs::write(to, &out)
}
