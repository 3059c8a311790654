//! Fuzzes documents of `--format json`, which are read and compared.
#![no_main]

use gcwatch_fuzz::bounded;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The input is two documents with a NUL between them, or one document that is compared with itself.
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let before = parts.next().unwrap_or_default();
    bounded(bytes.len(), || gcwatch::fuzz::documents(before, parts.next().unwrap_or(before)));
});
