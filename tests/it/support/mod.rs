//! Code that the tests share.

mod account;
mod agree;
mod document;
mod gc_events;
mod gcstats;
mod gcwatch;
mod heap_dump;
mod heap_graph;
mod heap_info;
mod interleaved;
mod memory_group;
mod nobody;
mod own_events;
mod own_marks;
mod peer_events;
mod place;
mod process;
mod ranges;
pub(crate) mod repeated;
mod roots;
mod schema;
mod screen;
mod scripted;
mod small_disk;
mod stream;
mod tables;
mod terminal;
mod watched;

pub(crate) use account::{Account, Pause, Told, account};
pub(crate) use agree::{Clock, agree, all_stops_once, same_starts};
pub(crate) use document::{Document, Json, brief, lines};
pub(crate) use gc_events::{GcEvents, read_gcs};
pub(crate) use gcstats::{GCSTATS, gcstats};
pub(crate) use gcwatch::{Ended, Gcwatch, prepare_program, program, program_file, run_to_end};
pub(crate) use heap_dump::{HeapDump, MONITORING, write_gcdump};
pub(crate) use heap_graph::HeapGraph;
pub(crate) use heap_info::{HeapInfo, Object, RECORDING};
pub(crate) use interleaved::interleaved;
pub(crate) use memory_group::MemoryGroup;
pub(crate) use nobody::{NOBODY, Nobody, setpriv};
pub(crate) use own_events::{
    Ranges, environment as own_environment, read_mechanisms, read_ranges, stopped_ns,
};
pub(crate) use own_marks::{MARKS, read_marks};
pub(crate) use peer_events::{TRACE_EVENT, peer_events};
pub(crate) use place::{keep_places, places};
pub(crate) use process::{Footprint, Guard, diagnostics_socket, end_of, signal};
pub(crate) use ranges::{check_ranges, generation_of};
pub(crate) use roots::{NULL, PAIRS, Tally};
pub(crate) use schema::{GRAPHS, schema};
pub(crate) use screen::Screen;
pub(crate) use scripted::{By, Scripted};
pub(crate) use small_disk::on_small_disk;
pub(crate) use stream::{RUNTIME, each_item};
pub(crate) use tables::{exists, quoted, tables};
pub(crate) use terminal::Terminal;
pub(crate) use watched::{
    GcFacts, attach_json, check_counts, end_lines, line_of, no_estimate, start_attach, start_lines,
    wait_for_start,
};

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

pub(crate) use rustix::process::Signal;

/// A limit for steps that normally take a moment. It ends tests that hang; slow steps on an overloaded machine stay
/// well below it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// Waits until `done` returns true.
pub(crate) fn until(what: &str, deadline: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + deadline;
    while !done()? {
        if Instant::now() >= end {
            bail!("waited {deadline:?} for {what}");
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// The value of the last `key=value` among the words of a text.
pub(crate) fn fact<'t>(text: &'t str, key: &str) -> Result<&'t str> {
    let words = text.split_whitespace().rev().filter_map(|word| word.split_once('='));
    let found = words.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value);
    found.ok_or_else(|| anyhow::anyhow!("no {key}= in {text:?}"))
}

/// Like [`fact`], as a number.
pub(crate) fn number(text: &str, key: &str) -> Result<u64> {
    Ok(fact(text, key)?.parse()?)
}
