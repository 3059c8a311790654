//! Moved and surviving ranges from a session that the runtime opens because of its environment variables: independent
//! of gcwatch's session and of its profiler.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::nettrace::Item;

use super::stream::{RUNTIME, each_event, each_item};

const GC_START: u32 = 1;
const RESTART_END: u32 = 3;
const RESTART_BEGIN: u32 = 7;
const SUSPEND_BEGIN: u32 = 9;
const SURVIVING_RANGES: u32 = 21;
const MOVED_RANGES: u32 = 22;
/// The offset of the ranges, after index, count and CLR instance.
const RANGES_AT: usize = 10;

/// Ranges of one collection.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub(crate) generation: u32,
    /// `(old, new, bytes)`.
    pub(crate) moved: Vec<(u64, u64, u64)>,
    /// `(start, bytes)`.
    pub(crate) surviving: Vec<(u64, u64)>,
}

impl Ranges {
    /// Sorted, because any of several threads may write a batch.
    pub(crate) fn sorted(mut self) -> Ranges {
        self.moved.sort_unstable();
        self.surviving.sort_unstable();
        self
    }
}

/// Variables that make a runtime write its GC events to a file.
pub(crate) fn environment(file: &str) -> [(&str, &str); 4] {
    [
        ("DOTNET_EnableEventPipe", "1"),
        ("DOTNET_EventPipeConfig", "Microsoft-Windows-DotNETRuntime:0x400001:4"),
        ("DOTNET_EventPipeOutputPath", file),
        ("DOTNET_EventPipeCircularMB", "256"),
    ]
}

/// The ranges in such a file by number of the collection. Only for programs without background collections: there a
/// range belongs to the collection that started last.
pub(crate) fn read_ranges(path: &Path) -> Result<BTreeMap<u64, Ranges>> {
    let mut all: BTreeMap<u64, Ranges> = BTreeMap::new();
    let mut current = None;
    each_event(path, |event| {
        let payload = event.payload;
        match event.metadata.event_id {
            GC_START => {
                let number = u64::from(u32_at(payload, 0)?);
                ensure!(!all.contains_key(&number), "the runtime started GC {number} twice");
                all.entry(number).or_default().generation = u32_at(payload, 4)?;
                current = Some(number);
            }
            id @ (SURVIVING_RANGES | MOVED_RANGES) => {
                let number = current.context("ranges before the first collection")?;
                let into = all.entry(number).or_default();
                let count = u32_at(payload, 4)? as usize;
                for n in 0..count {
                    if id == MOVED_RANGES {
                        let at = RANGES_AT + n * 24;
                        into.moved.push((
                            u64_at(payload, at)?,
                            u64_at(payload, at + 8)?,
                            u64_at(payload, at + 16)?,
                        ));
                    } else {
                        let at = RANGES_AT + n * 16;
                        into.surviving.push((u64_at(payload, at)?, u64_at(payload, at + 8)?));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(all.into_iter().map(|(number, ranges)| (number, ranges.sorted())).collect())
}

/// How long the program in a recording was stopped, in nanoseconds (the clock's unit on Linux).
///
/// A stop ends when its thread writes RestartEEEnd. But after RestartEEBegin another thread may stop the program again
/// before that event is written; then the first stop ends where the second begins.
pub(crate) fn stopped_ns(path: &Path) -> Result<u64> {
    // By thread: the time of SuspendEEBegin, and whether RestartEEBegin has come.
    let mut open: BTreeMap<u64, (i64, bool)> = BTreeMap::new();
    let mut stops = Vec::new();
    let mut tick_ns = 1;
    each_item(path, |item| {
        if let Item::Trace(trace) = &item {
            ensure!(1_000_000_000 % trace.frequency == 0, "a tick is no whole number of ns: {trace:?}");
            tick_ns = 1_000_000_000 / trace.frequency;
        }
        let Item::Event(event) = item else { return Ok(()) };
        if &*event.metadata.provider != RUNTIME {
            return Ok(());
        }
        let (thread, at) = (event.thread_id, event.timestamp * tick_ns);
        match event.metadata.event_id {
            SUSPEND_BEGIN => {
                stops.extend(open.values().filter(|(_, gone)| *gone).map(|(begin, _)| (*begin, at)));
                open.retain(|_, (_, gone)| !*gone);
                open.insert(thread, (at, false));
            }
            RESTART_BEGIN => {
                open.entry(thread).and_modify(|(_, gone)| *gone = true);
            }
            RESTART_END => stops.extend(open.remove(&thread).map(|(begin, _)| (begin, at))),
            _ => {}
        }
        Ok(())
    })?;
    stops.sort_unstable();
    let (mut total, mut until) = (0, i64::MIN);
    for (begin, end) in stops {
        total += (end - begin.max(until)).max(0);
        until = until.max(end);
    }
    Ok(total.try_into()?)
}

pub(super) fn u32_at(payload: &[u8], at: usize) -> Result<u32> {
    let bytes = payload.get(at..at + 4).context("a short payload")?;
    Ok(u32::from_le_bytes(bytes.try_into()?))
}

pub(super) fn u64_at(payload: &[u8], at: usize) -> Result<u64> {
    let bytes = payload.get(at..at + 8).context("a short payload")?;
    Ok(u64::from_le_bytes(bytes.try_into()?))
}

/// What the runtime did in one collection, by its own events.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mechanisms {
    pub(crate) compacting: bool,
    /// How many heaps give a reason for compacting: one is enough for all to compact.
    pub(crate) heaps_compacting: u32,
    pub(crate) loh_compacted: bool,
}

/// Reads them from such a file, by number of the collection. Only for programs without background collections.
pub(crate) fn read_mechanisms(path: &Path) -> Result<BTreeMap<u64, Mechanisms>> {
    const PER_HEAP: u32 = 204;
    const GLOBAL: u32 = 205;
    const LOH_COMPACT: u32 = 208;
    // After the CLR instance, six sizes, the heap's number of reductions and two sets of reasons.
    const COMPACT_REASON_AT: usize = 62;
    let mut all: BTreeMap<u64, Mechanisms> = BTreeMap::new();
    let mut current = 0;
    each_event(path, |event| {
        let payload = event.payload;
        if event.metadata.event_id == GC_START {
            current = u64::from(u32_at(payload, 0)?);
        }
        let of = all.entry(current).or_default();
        match event.metadata.event_id {
            GLOBAL => {
                of.compacting = u32_at(payload, 24)? & 2 != 0;
            }
            PER_HEAP => of.heaps_compacting += u32_at(payload, COMPACT_REASON_AT)? >> 31,
            LOH_COMPACT => of.loh_compacted = true,
            _ => {}
        }
        Ok(())
    })?;
    Ok(all)
}
