//! Fuzzes a recording through the reader, the model and every format of report. The mutator changes single events.
#![no_main]

use gcwatch_fuzz::{bounded, mutate};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| {
    // The length decides whether single blocks are kept, so that both happen for every kind of input.
    bounded(bytes.len(), || gcwatch::fuzz::recording(bytes, bytes.len() % 2 == 1));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(&mut data[..max_size], size, seed)
});
