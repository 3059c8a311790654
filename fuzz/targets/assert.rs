//! Fuzzes the expressions of `--assert` and `--fail-on`.
#![no_main]

use gcwatch_fuzz::bounded;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bounded(text.len(), || gcwatch::fuzz::expression(text)));
