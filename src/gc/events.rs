//! The runtime's GC events, decoded by id. The runtime's own providers send no field descriptions,
//! so the layouts are fixed here, from its manifest (ClrEtwAll.man). Longer payloads (newer
//! versions) are fine, shorter ones give `None`.

use super::generation::Generation;
use super::root_kind::MarkKind;

/// The provider of all of these.
pub(crate) const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// The provider of the two that tell how the runtime is set up, at the end of a stream.
pub(crate) const RUNDOWN_PROVIDER: &str = "Microsoft-Windows-DotNETRuntimeRundown";
/// The provider of the event that carries the command line.
pub(crate) const EVENTPIPE_PROVIDER: &str = "Microsoft-DotNETCore-EventPipe";

/// A bounded little-endian cursor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pointer_size: u32,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], pointer_size: u32) -> Cursor<'a> {
        Cursor { bytes, pointer_size }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*head)
    }
    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|b| b[0])
    }
    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
    fn pointer(&mut self) -> Option<u64> {
        if self.pointer_size == 4 { self.u32().map(u64::from) } else { self.u64() }
    }
    fn skip(&mut self, n: usize) -> Option<()> {
        self.bytes = self.bytes.get(n..)?;
        Some(())
    }
    /// UTF-16 up to a 16-bit NUL; a missing one ends at the payload's end (old writers).
    fn utf16(&mut self) -> String {
        let units: Vec<u16> = self
            .bytes
            .chunks_exact(2)
            .map(|c| u16::from_le_bytes([c[0], c[1]]))
            .take_while(|&u| u != 0)
            .collect();
        self.bytes = self.bytes.get(units.len() * 2 + 2..).unwrap_or_default();
        String::from_utf16_lossy(&units)
    }
}

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

/// A payload of ranges; see [`Ranges::moved`] and [`Ranges::surviving`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranges<'a> {
    cursor: Cursor<'a>,
    /// Running number of the event among those of one heap's walk, from 0.
    pub(crate) index: u32,
    count: u32,
}

/// Rows as the target's pointers make them.
pub(crate) enum Rows<Narrow, Wide> {
    /// 4 bytes.
    Narrow(Narrow),
    /// 8 bytes.
    Wide(Wide),
}

/// Rows of one payload, one after the other.
pub(crate) trait RowsOf<Row>: ExactSizeIterator<Item = Row> + Clone {}
impl<Row, Iter: ExactSizeIterator<Item = Row> + Clone> RowsOf<Row> for Iter {}

/// Old and new start, and bytes, of a range that was moved.
pub(crate) type MovedRow = (u64, u64, u64);
/// Start and bytes of a range that was not.
pub(crate) type SurvivingRow = (u64, u64);

impl<'a> Ranges<'a> {
    /// The rows of GCBulkMovedObjectRanges. Two kinds of iterators, so that a loop over either is compiled for it.
    pub(crate) fn moved(self) -> Rows<impl RowsOf<MovedRow> + use<'a>, impl RowsOf<MovedRow> + use<'a>> {
        match self.cursor.pointer_size {
            4 => Rows::Narrow(self.rows::<16>().map(|r| (half(r, 0), half(r, 4), whole(r, 8)))),
            _ => Rows::Wide(self.rows::<24>().map(|r| (whole(r, 0), whole(r, 8), whole(r, 16)))),
        }
    }

    /// The rows of GCBulkSurvivingObjectRanges.
    pub(crate) fn surviving(
        self,
    ) -> Rows<impl RowsOf<SurvivingRow> + use<'a>, impl RowsOf<SurvivingRow> + use<'a>> {
        match self.cursor.pointer_size {
            4 => Rows::Narrow(self.rows::<12>().map(|r| (half(r, 0), whole(r, 4)))),
            _ => Rows::Wide(self.rows::<16>().map(|r| (whole(r, 0), whole(r, 8)))),
        }
    }

    /// The rows that are there, of those that should be.
    fn rows<const N: usize>(self) -> impl RowsOf<&'a [u8; N]> + use<'a, N> {
        let (rows, _) = self.cursor.bytes.as_chunks::<N>();
        rows.get(..self.count as usize).unwrap_or(rows).iter()
    }
}

/// 8 bytes of a row. All places are known when this is compiled.
#[inline]
fn whole<const N: usize>(row: &[u8; N], at: usize) -> u64 {
    row[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[inline]
fn half<const N: usize>(row: &[u8; N], at: usize) -> u64 {
    row[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes).into())
}

/// What GC events tell. Times and threads stand beside it.
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

/// Whether it is an event of single blocks, which may be large.
pub(crate) fn tells_blocks(id: u32) -> bool {
    matches!(id, 21 | 22)
}

/// What comes in it before the blocks.
pub(crate) const BLOCKS_HEAD_BYTES: usize = 10;

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
            RuntimeEvent::Global(GlobalHeapHistory { heaps, condemned_generation, mechanisms: c.u32()? })
        }
        208 => RuntimeEvent::LohCompact,
        _ => return None,
    })
}

fn ranges(mut c: Cursor<'_>) -> Option<Ranges<'_>> {
    let index = c.u32()?;
    let count = c.u32()?;
    c.u16()?;
    Some(Ranges { cursor: c, index, count })
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
    /// No process has more memory than addresses.
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

/// ProcessInfo of [`EVENTPIPE_PROVIDER`]: (command line, OS, architecture); the last two since .NET 5.
pub(crate) fn process_info(payload: &[u8]) -> (String, Option<String>, Option<String>) {
    let mut c = Cursor::new(payload, 8);
    let command_line = c.utf16();
    let more = |s: String| (!s.is_empty()).then_some(s);
    (command_line, more(c.utf16()), more(c.utf16()))
}

/// What RuntimeInformation says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuntimeInformation {
    /// Of the file that is the runtime.
    file_version: [u16; 4],
    /// STARTUP_FLAGS of the hosting interface.
    startup_flags: u32,
}

impl RuntimeInformation {
    /// The runtime's version: since .NET 5 the third number of its file's is the patch times 100, and the year.
    pub(crate) fn version(self) -> Option<String> {
        let [major, minor, build, _] = self.file_version;
        (major >= 5).then(|| format!("{major}.{minor}.{}", build / 100))
    }

    /// How the garbage collector was to be. Without any flag nothing was said.
    pub(crate) fn startup_flags(self) -> Option<StartupFlags> {
        const CONCURRENT_GC: u32 = 0x1;
        const SERVER_GC: u32 = 0x1000;
        let has = |flag| self.startup_flags & flag != 0;
        (self.startup_flags != 0)
            .then(|| StartupFlags { concurrent: has(CONCURRENT_GC), server: has(SERVER_GC) })
    }
}

/// What a runtime was started with, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StartupFlags {
    pub(crate) concurrent: bool,
    pub(crate) server: bool,
}

/// RuntimeInformation, of either provider.
pub(crate) const RUNTIME_INFORMATION: u32 = 187;

/// Its payload: of what it says, what is of use.
pub(crate) fn runtime_information(payload: &[u8]) -> Option<RuntimeInformation> {
    let mut c = Cursor::new(payload, 8);
    c.skip(2 + 2 + 8)?;
    let file_version = [c.u16()?, c.u16()?, c.u16()?, c.u16()?];
    Some(RuntimeInformation { file_version, startup_flags: c.u32()? })
}

/// GCSettingsRundown (id 10) of [`RUNDOWN_PROVIDER`]: whether background GC is enabled.
pub(crate) fn gc_settings_concurrent(payload: &[u8]) -> Option<bool> {
    let mut c = Cursor::new(payload, 8);
    c.skip(44)?;
    Some(c.u32()? & 1 != 0)
}

/// The names of the bits of CondemnReasons1, bit 0 first (gcrecord.h).
const CONDEMN_CONDITIONS: [&str; 31] = [
    "induced_fullgc",
    "expand_fullgc",
    "high_mem",
    "very_high_mem",
    "low_ephemeral",
    "low_card",
    "eph_high_frag",
    "max_high_frag",
    "max_high_frag_e",
    "max_high_frag_m",
    "max_high_frag_vm",
    "max_gen1",
    "before_oom",
    "gen2_too_small",
    "induced_noforce",
    "before_bgc",
    "almost_max_alloc",
    "avoid_unproductive",
    "pm_induced_fullgc",
    "pm_alloc_loh",
    "gen1_in_pm",
    "limit_before_oom",
    "limit_loh_frag",
    "limit_loh_reclaim",
    "servo_initial",
    "servo_ngc",
    "servo_bgc",
    "servo_postpone",
    "stress_mix",
    "stress",
    "aggressive",
];

/// The condemned reasons of one heap for a collection of `generation`: what asked for that
/// generation (budget, time), then every condition that was met.
pub(crate) fn condemned_reasons(reasons: [u32; 2], generation: Generation) -> Vec<&'static str> {
    let level = |shift: u32| (reasons[0] >> shift) & 3;
    let mut names = Vec::new();
    if generation > Generation::GEN0 && level(4) == u32::from(generation.0) {
        names.push("alloc_budget");
    }
    if generation > Generation::GEN0 && level(6) == u32::from(generation.0) {
        names.push("time_tuning");
    }
    names.extend(
        CONDEMN_CONDITIONS
            .iter()
            .enumerate()
            .filter(|(bit, _)| reasons[1] & (1 << bit) != 0)
            .map(|(_, n)| *n),
    );
    names
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn reasons_by_bit() {
        assert_eq!(
            condemned_reasons([0b01_0000, 1 << 6], Generation::GEN1),
            ["alloc_budget", "eph_high_frag"]
        );
        assert!(condemned_reasons([0, 0], Generation::GEN0).is_empty());
    }
}
