//! Documents of `--format json`, read again and compared.
#![no_main]

use gcwatch_fuzz::bounded;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Two documents with a NUL between them, or one with itself.
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let before = parts.next().unwrap_or_default();
    bounded(bytes.len(), || gcwatch::fuzz::documents(before, parts.next().unwrap_or(before)));
});
