//! GC events decoded by id. The runtime's providers send no descriptions of fields, so the layouts are those of its
//! manifest (ClrEtwAll.man). Longer payloads, which newer versions send, are fine; shorter ones give `None`.

use super::cursor::Cursor;
use super::ranges::{Ranges, ranges};
use crate::gc::generation::Generation;
use crate::gc::root_kind::MarkKind;

/// The provider of GC events.
pub(crate) const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";

/// GCHeapStats: sizes after the collection, free space included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeapStatsEvent {
    /// (size, promoted) in bytes: gen0, gen1, gen2, LOH, POH (there is none before .NET 5).
    pub(crate) generations: [Option<(u64, u64)>; 5],
    /// Not known where a heap was put to use again: the runtime adds in the pattern (0xbaadbaad...) that marks what
    /// it has yet to fill (.NET 10, server GC, background collections).
    pub(crate) finalization_bytes: Option<u64>,
    pub(crate) finalization_objects: u64,
    pub(crate) pinned_objects: u32,
    pub(crate) handles: u32,
}

/// One generation of one heap in GCPerHeapHistory, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HeapGeneration {
    pub(crate) size_before: u64,
    pub(crate) size_after: u64,
    /// Free list and free objects.
    pub(crate) free_before: u64,
    pub(crate) free_list_after: u64,
    pub(crate) free_objects_after: u64,
    pub(crate) pinned_survived: u64,
    pub(crate) other_survived: u64,
}

/// GCPerHeapHistory v3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PerHeapHistory {
    pub(crate) heap_index: u32,
    pub(crate) condemn_reasons: [u32; 2],
    pub(crate) compact_mechanisms: u32,
    /// gen0, gen1, gen2, LOH, POH; the last is missing before .NET 5.
    pub(crate) generations: Vec<HeapGeneration>,
}

/// GCGlobalHeapHistory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GlobalHeapHistory {
    pub(crate) heaps: u32,
    pub(crate) condemned_generation: u32,
    pub(crate) mechanisms: u32,
    /// Memory in use when the collection began, in percent of what the process may use; `None` before version 2.
    pub(crate) memory_load_percent: Option<u32>,
}

impl GlobalHeapHistory {
    /// It describes a background collection.
    pub(crate) fn concurrent(self) -> bool {
        self.mechanisms & 1 != 0
    }
    /// The small-object generations were compacted.
    pub(crate) fn compacting(self) -> bool {
        self.mechanisms & 2 != 0
    }
}

/// The content of a GC event. Time and thread are in its [`StreamEvent`](crate::gc::stream_event::StreamEvent).
#[derive(Debug, Clone)]
pub(crate) enum RuntimeEvent<'a> {
    GcStart { number: u32, generation: u32, reason: u32, kind: u32 },
    GcEnd { number: u32 },
    RestartBegin,
    RestartEnd,
    SuspendBegin { reason: u32 },
    SuspendEnd,
    HeapStats(HeapStatsEvent),
    Triggered { reason: u32 },
    Surviving(Ranges<'a>),
    Moved(Ranges<'a>),
    GenerationRange { generation: Generation, start: u64, used_bytes: u64 },
    CommittedUsage { total_bytes: u64 },
    MarkWithType { kind: MarkKind, bytes: u64 },
    PerHeap(PerHeapHistory),
    Global(GlobalHeapHistory),
    LohCompact,
}

/// Decodes one event of [`RUNTIME_PROVIDER`]; `None` for others and for payloads that are too short.
pub(crate) fn decode(id: u32, payload: &[u8], pointer_size: u32) -> Option<RuntimeEvent<'_>> {
    let mut c = Cursor::new(payload, pointer_size);
    Some(match id {
        1 => {
            RuntimeEvent::GcStart { number: c.u32()?, generation: c.u32()?, reason: c.u32()?, kind: c.u32()? }
        }
        2 => RuntimeEvent::GcEnd { number: c.u32()? },
        3 => RuntimeEvent::RestartEnd,
        4 => RuntimeEvent::HeapStats(heap_stats(&mut c)?),
        7 => RuntimeEvent::RestartBegin,
        8 => RuntimeEvent::SuspendEnd,
        9 => RuntimeEvent::SuspendBegin { reason: c.u32()? },
        21 => RuntimeEvent::Surviving(ranges(c)?),
        22 => RuntimeEvent::Moved(ranges(c)?),
        23 => RuntimeEvent::GenerationRange {
            generation: Generation(c.u8()?),
            start: c.pointer()?,
            used_bytes: c.u64()?,
        },
        35 => RuntimeEvent::Triggered { reason: c.u32()? },
        39 => committed_usage(&mut c)?,
        202 => {
            c.skip(6)?;
            RuntimeEvent::MarkWithType { kind: MarkKind(c.u32()?), bytes: c.u64()? }
        }
        204 => RuntimeEvent::PerHeap(per_heap(&mut c)?),
        205 => {
            c.skip(8)?;
            let heaps = c.u32()?;
            let condemned_generation = c.u32()?;
            c.skip(8)?;
            let mechanisms = c.u32()?;
            let memory_load_percent = memory_load(&mut c).filter(|percent| *percent <= 100);
            RuntimeEvent::Global(GlobalHeapHistory {
                heaps,
                condemned_generation,
                mechanisms,
                memory_load_percent,
            })
        }
        208 => RuntimeEvent::LohCompact,
        _ => return None,
    })
}

/// `MemoryPressure` of GCGlobalHeapHistory since version 2: after ClrInstanceID and PauseMode.
fn memory_load(c: &mut Cursor<'_>) -> Option<u32> {
    c.u16()?;
    c.u32()?;
    c.u32()
}

fn heap_stats(c: &mut Cursor<'_>) -> Option<HeapStatsEvent> {
    let mut generations = [None; 5];
    for g in generations.iter_mut().take(4) {
        *g = Some((c.u64()?, c.u64()?));
    }
    let (finalization_bytes, finalization_objects) = (c.u64()?, c.u64()?);
    let (pinned_objects, _sink_blocks, handles) = (c.u32()?, c.u32()?, c.u32()?);
    c.u16()?;
    generations[4] = c.u64().zip(c.u64());
    /// No process can have more memory than it has addresses.
    const ADDRESSES: u64 = 1 << 47;
    let finalization_bytes = Some(finalization_bytes).filter(|bytes| *bytes < ADDRESSES);
    Some(HeapStatsEvent { generations, finalization_bytes, finalization_objects, pinned_objects, handles })
}

fn per_heap(c: &mut Cursor<'_>) -> Option<PerHeapHistory> {
    c.u16()?;
    for _ in 0..6 {
        c.pointer()?;
    }
    c.u32()?;
    let condemn_reasons = [c.u32()?, c.u32()?];
    let compact_mechanisms = c.u32()?;
    c.u32()?;
    let heap_index = c.u32()?;
    c.pointer()?;
    let count = c.u32()?.min(5);
    let mut generations = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let mut v = [0; 10];
        for x in &mut v {
            *x = c.pointer()?;
        }
        generations.push(HeapGeneration {
            size_before: v[0],
            size_after: v[3],
            free_before: v[1].saturating_add(v[2]),
            free_list_after: v[4],
            free_objects_after: v[5],
            pinned_survived: v[7],
            other_survived: v[8],
        });
    }
    Some(PerHeapHistory { heap_index, condemn_reasons, compact_mechanisms, generations })
}

/// The one GCDynamicEvent that matters here. Its parts are in use, in lists to decommit, free, free
/// for all heaps, bookkeeping. The first and the third are what the program itself reads as
/// `GCMemoryInfo.TotalCommittedBytes` (compared on .NET 8, 9, 10).
fn committed_usage<'a>(c: &mut Cursor<'a>) -> Option<RuntimeEvent<'a>> {
    if c.utf16() != "CommittedUsage" {
        return None;
    }
    c.u32()?;
    c.u16()?;
    let (in_use, _decommit, free) = (c.u64()?, c.u64()?, c.u64()?);
    Some(RuntimeEvent::CommittedUsage { total_bytes: in_use.saturating_add(free) })
}

#[cfg(test)]
mod tests {
    use super::super::process::{gc_settings_concurrent, process_info, runtime_information};
    use super::super::ranges::{BLOCKS_HEAD_BYTES, Rows};
    use super::*;

    #[test]
    fn short_payloads_are_none_and_never_panic() {
        for id in 0..=255 {
            for len in 0..140 {
                let bytes = vec![0xFF; len];
                for pointer_size in [4, 8] {
                    let decoded = decode(id, &bytes, pointer_size);
                    if let Some(RuntimeEvent::Moved(r) | RuntimeEvent::Surviving(r)) = decoded {
                        let moved = match r.moved() {
                            Rows::Narrow(rows) => rows.count(),
                            Rows::Wide(rows) => rows.count(),
                        };
                        let surviving = match r.surviving() {
                            Rows::Narrow(rows) => rows.count(),
                            Rows::Wide(rows) => rows.count(),
                        };
                        let pointer_size = pointer_size as usize;
                        assert_eq!(moved, (len - BLOCKS_HEAD_BYTES) / (2 * pointer_size + 8));
                        assert_eq!(surviving, (len - BLOCKS_HEAD_BYTES) / (pointer_size + 8));
                    }
                }
                process_info(&bytes);
                runtime_information(&bytes);
                gc_settings_concurrent(&bytes);
            }
        }
        assert!(decode(1, &[0; 15], 8).is_none());
        assert!(matches!(decode(1, &[0; 16], 8), Some(RuntimeEvent::GcStart { .. })));
    }

    #[test]
    fn a_pattern_for_not_yet_is_no_size() {
        let mut payload = [0_u8; 110];
        for (value, known) in [(0_u64, Some(0)), (96, Some(96)), (0xbaad_baad_baad_baad, None)] {
            payload[64..72].copy_from_slice(&value.to_le_bytes());
            let Some(RuntimeEvent::HeapStats(stats)) = decode(4, &payload, 8) else {
                panic!("no statistics")
            };
            assert_eq!(stats.finalization_bytes, known);
        }
        // Two of them wrap around.
        payload[64..72].copy_from_slice(&0xbaad_baad_baad_baad_u64.wrapping_mul(2).to_le_bytes());
        assert!(
            matches!(decode(4, &payload, 8), Some(RuntimeEvent::HeapStats(s)) if s.finalization_bytes.is_none())
        );
    }
}
