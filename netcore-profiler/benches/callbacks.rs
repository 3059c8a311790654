//! The cost of a range or a root in the callbacks, compared with a copy of the same bytes. `cargo xtask bench` runs it.
//!
//! A line for each round and kind: `KIND ranges=N ns=X copy_ns=Y`, both per range or root. Without `--bench` (as
//! `cargo test` runs it) it runs one small round.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    dead_code,
    unused_imports,
    reason = "not part of the library"
)]

#[path = "../mock/mod.rs"]
mod mock;

use std::hint::black_box;
use std::time::Instant;

use mock::info::lock;
use mock::{Clr, Library, Random};
use netcore_profiler::info::GenerationRange;

/// Entries of a batch, as the runtime makes them.
const BATCH: usize = 512;
const REGION: usize = 4 << 20;
const HEAP: usize = 0x7f00_0000_0000;

/// A batch of arrays as the runtime passes them.
struct Batch {
    old: Vec<usize>,
    new: Vec<usize>,
    bytes: Vec<usize>,
    kinds: Vec<u32>,
    flags: Vec<u32>,
}

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (rounds, ranges) = if is_bench { (9, 2_000_000) } else { (1, 10_000) };
    let libraries = [("", "gcwatch=5"), (" --blocks", "gcwatch=5 blocks=1")].map(|(name, config)| {
        let (library, clr) = Library::attached(config);
        *lock(&clr.bounds) = regions(64);
        (name, library, clr)
    });
    let batches = batches(ranges);
    for _ in 0..rounds {
        for (name, library, clr) in &libraries {
            for kind in ["moved", "surviving", "root"] {
                let (mut ns, mut copy_ns) = (0, 0);
                begin(library);
                let mut written = 0;
                for batch in &batches {
                    // The runtime has just written the batch, so it is in the L1 cache.
                    copy(kind, batch);
                    let began = Instant::now();
                    report(library, kind, batch);
                    ns += began.elapsed().as_nanos();
                    let began = Instant::now();
                    copy(kind, batch);
                    copy_ns += began.elapsed().as_nanos();
                    // So that the mock runtime reuses its memory.
                    written += clr.take_written().len();
                }
                // SAFETY: no arguments.
                unsafe { (library.table().GarbageCollectionFinished)(library.callback()) };
                written += clr.take_written().len();
                assert!(written > 0);
                let each = |ns: u128| ns as f64 / (batches.len() * BATCH) as f64;
                println!(
                    "{kind}{name} ranges={} ns={:.3} copy_ns={:.3}",
                    batches.len() * BATCH,
                    each(ns),
                    each(copy_ns)
                );
            }
        }
    }
}

/// Regions of three generations, as a heap of 256 MiB has them.
fn regions(count: usize) -> Vec<GenerationRange> {
    let region = |index: usize| GenerationRange {
        generation: [0, 1, 2, 2][index % 4],
        start: HEAP + index * REGION,
        length: REGION,
        reserved: REGION,
    };
    (0..count).map(region).collect()
}

/// Ascending addresses with sizes of small objects and runs of them, compacted over the gaps between them.
fn batches(ranges: usize) -> Vec<Batch> {
    let mut random = Random(7);
    let (mut address, mut end) = (HEAP, HEAP);
    let mut batch = |_| {
        let (mut old, mut new, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kinds, mut flags) = (Vec::new(), Vec::new());
        for _ in 0..BATCH {
            let length = 24 + ((random.below(100) * random.below(20)) & !7) as usize;
            old.push(address);
            new.push(end);
            bytes.push(length);
            kinds.push(random.below(4) as u32);
            flags.push([0, 0, 0, 1, 2, 4][random.below(6) as usize]);
            address = HEAP + (address - HEAP + length + 64) % (64 * REGION);
            end = HEAP + (end - HEAP + length) % (64 * REGION);
        }
        Batch { old, new, bytes, kinds, flags }
    };
    (0..ranges / BATCH).map(&mut batch).collect()
}

fn begin(library: &Library) {
    let collected = [1_i32, 1, 0, 0, 0];
    // SAFETY: arguments as the interface documents them.
    unsafe { (library.table().GarbageCollectionStarted)(library.callback(), 5, collected.as_ptr(), 1) };
}

fn report(library: &Library, kind: &str, batch: &Batch) {
    let (table, this, count) = (library.table(), library.callback(), BATCH as u32);
    let (old, new, bytes) = (batch.old.as_ptr(), batch.new.as_ptr(), batch.bytes.as_ptr());
    // SAFETY: arguments as the interface documents them.
    unsafe {
        match kind {
            "moved" => (table.MovedReferences2)(this, count, old, new, bytes),
            "surviving" => (table.SurvivingReferences2)(this, count, old, bytes),
            _ => {
                let (kinds, flags) = (batch.kinds.as_ptr(), batch.flags.as_ptr());
                (table.RootReferences2)(this, count, old, kinds, flags, new)
            }
        };
    }
}

/// Copies the same bytes, the least that a profiler which keeps them must do.
fn copy(kind: &str, batch: &Batch) {
    let mut target = [[0_usize; BATCH]; 3];
    target[0].copy_from_slice(&batch.old);
    match kind {
        "moved" => {
            target[1].copy_from_slice(&batch.new);
            target[2].copy_from_slice(&batch.bytes);
        }
        "surviving" => target[2].copy_from_slice(&batch.bytes),
        _ => {
            let mut small = [[0_u32; BATCH]; 2];
            target[1].copy_from_slice(&batch.new);
            small[0].copy_from_slice(&batch.kinds);
            small[1].copy_from_slice(&batch.flags);
            black_box(&small);
        }
    }
    black_box(&target);
}
