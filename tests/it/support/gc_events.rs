//! Statistics of each collection from the runtime's own file. The decoder is independent of gcwatch's: it takes the
//! layouts from the runtime's manifest, and the bits of the reasons from its gcrecord.h.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::stream::each_event;

/// What the runtime wrote about one collection.
#[derive(Debug, Default, Clone)]
pub(crate) struct GcEvents {
    pub(crate) generation: u32,
    /// Type of GCStart: 1 is background.
    pub(crate) kind: u32,
    /// NumHeaps of GCGlobalHeapHistory.
    pub(crate) heaps: u32,
    /// GlobalMechanisms: bit 0 concurrent, bit 1 compacting.
    pub(crate) mechanisms: u32,
    pub(crate) per_heap: Vec<HeapEvent>,
    pub(crate) loh_compacted: bool,
    /// Bytes in use plus bytes free, of the last CommittedUsage.
    pub(crate) committed: Option<u64>,
    /// GCHeapStats: (size, promoted) of gen0, gen1, gen2, LOH, POH.
    pub(crate) sizes: [(u64, u64); 5],
    pub(crate) finalization: (u64, u64),
    pub(crate) pinned: u32,
    pub(crate) handles: u32,
    /// Bytes that GCMarkWithType gives for objects that became ready for finalization.
    pub(crate) marked_for_finalization: u64,
    /// GCGlobalHeapHistory has come.
    global: bool,
    ended: bool,
}

/// GCPerHeapHistory.
#[derive(Debug, Clone)]
pub(crate) struct HeapEvent {
    pub(crate) index: u32,
    /// CondemnReasons0 and 1.
    pub(crate) condemned: [u32; 2],
    /// Before: size, free list, free objects; after: the same three; in; survived pinned; survived unpinned; budget.
    pub(crate) generations: Vec<[u64; 10]>,
}

impl GcEvents {
    /// The sum of some fields of a generation over all heaps.
    pub(crate) fn of(&self, generation: usize, fields: &[usize]) -> u64 {
        self.per_heap.iter().map(|h| fields.iter().map(|f| h.generations[generation][*f]).sum::<u64>()).sum()
    }

    /// Whether a heap history of this background collection lacks its first fields.
    pub(crate) fn headless(&self) -> bool {
        self.mechanisms & 1 == 1 && self.heaps > 1 && self.per_heap.iter().any(HeapEvent::headless)
    }

    /// Whether this background collection sent a heap history before the heap had filled it in: the histories have
    /// fewer survivors than GCHeapStats.
    pub(crate) fn torn(&self) -> bool {
        self.mechanisms & 1 == 1 && [2, 3].iter().any(|n| self.of(*n, &[7, 8]) != self.sizes[*n].1)
    }
}

impl HeapEvent {
    /// Whether its first fields are missing: index, reasons and sizes before are all 0.
    pub(crate) fn headless(&self) -> bool {
        self.sum(&[0]) == 0
    }

    pub(crate) fn sum(&self, fields: &[usize]) -> u64 {
        self.generations.iter().map(|g| fields.iter().map(|f| g[*f]).sum::<u64>()).sum()
    }

    /// The names of the reasons for condemning a generation, bit 0 first.
    pub(crate) fn reasons(&self, generation: u32) -> Vec<&'static str> {
        let [levels, bits] = self.condemned;
        let asked = |place: u32| levels >> (2 * place) & 3;
        let mut names = Vec::new();
        // The four places: initial, final, by allocation budget, by time.
        names.extend((generation > 0 && asked(2) == generation).then_some("alloc_budget"));
        names.extend((generation > 0 && asked(3) == generation).then_some("time_tuning"));
        names.extend(REASONS.into_iter().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| name));
        names
    }
}

const REASONS: [(u32, &str); 31] = [
    (0x00, "induced_fullgc"),
    (0x01, "expand_fullgc"),
    (0x02, "high_mem"),
    (0x03, "very_high_mem"),
    (0x04, "low_ephemeral"),
    (0x05, "low_card"),
    (0x06, "eph_high_frag"),
    (0x07, "max_high_frag"),
    (0x08, "max_high_frag_e"),
    (0x09, "max_high_frag_m"),
    (0x0a, "max_high_frag_vm"),
    (0x0b, "max_gen1"),
    (0x0c, "before_oom"),
    (0x0d, "gen2_too_small"),
    (0x0e, "induced_noforce"),
    (0x0f, "before_bgc"),
    (0x10, "almost_max_alloc"),
    (0x11, "avoid_unproductive"),
    (0x12, "pm_induced_fullgc"),
    (0x13, "pm_alloc_loh"),
    (0x14, "gen1_in_pm"),
    (0x15, "limit_before_oom"),
    (0x16, "limit_loh_frag"),
    (0x17, "limit_loh_reclaim"),
    (0x18, "servo_initial"),
    (0x19, "servo_ngc"),
    (0x1a, "servo_bgc"),
    (0x1b, "servo_postpone"),
    (0x1c, "stress_mix"),
    (0x1d, "stress"),
    (0x1e, "aggressive"),
];

/// The collections in a file by number, without those whose statistics are incomplete.
pub(crate) fn read_gcs(path: &Path) -> Result<BTreeMap<u64, GcEvents>> {
    let mut gcs = BTreeMap::new();
    // Per-heap histories follow the global one on the same thread, GCHeapStats follows GCEnd.
    let (mut global_by, mut ended_by) = (BTreeMap::new(), BTreeMap::new());
    each_event(path, |e| {
        let fields = Fields(e.payload);
        event(&mut gcs, &mut global_by, &mut ended_by, e.thread_id, e.metadata.event_id, fields)
            .with_context(|| format!("event {}", e.metadata.event_id))
    })?;
    gcs.retain(|_, gc| gc.ended && gc.global && gc.per_heap.len() == gc.heaps as usize);
    Ok(gcs)
}

fn event(
    gcs: &mut BTreeMap<u64, GcEvents>,
    global_by: &mut BTreeMap<u64, u64>,
    ended_by: &mut BTreeMap<u64, u64>,
    thread: u64,
    id: u32,
    f: Fields<'_>,
) -> Result<()> {
    // The collection that runs: the youngest that has not ended.
    let at_work = gcs.iter().rev().find(|(_, gc)| !gc.ended).map(|(number, _)| *number);
    match id {
        1 => {
            let gc = GcEvents { generation: f.u32(4)?, kind: f.u32(12)?, ..GcEvents::default() };
            gcs.insert(f.u32(0)?.into(), gc);
        }
        2 => {
            let number = f.u32(0)?.into();
            ended_by.insert(thread, number);
            gcs.entry(number).and_modify(|gc| gc.ended = true);
        }
        4 => {
            let Some(gc) = ended_by.get(&thread).and_then(|n| gcs.get_mut(n)) else { return Ok(()) };
            for (n, at) in [0, 16, 32, 48, 94].into_iter().enumerate() {
                gc.sizes[n] = (f.u64(at)?, f.u64(at + 8)?);
            }
            gc.finalization = (f.u64(64)?, f.u64(72)?);
            (gc.pinned, gc.handles) = (f.u32(80)?, f.u32(88)?);
        }
        39 if f.0.starts_with(&COMMITTED_USAGE) => {
            let Some(gc) = at_work.and_then(|n| gcs.get_mut(&n)).filter(|gc| gc.global) else {
                return Ok(());
            };
            let values = COMMITTED_USAGE.len() + 4 + 2;
            gc.committed = Some(f.u64(values)? + f.u64(values + 16)?);
        }
        202 if f.u32(6)? == 7 => {
            let Some(gc) = at_work.and_then(|n| gcs.get_mut(&n)) else { return Ok(()) };
            gc.marked_for_finalization += f.u64(10)?;
        }
        204 => {
            let Some(gc) = global_by.get(&thread).and_then(|n| gcs.get_mut(n)) else { return Ok(()) };
            let mut generations = Vec::new();
            for g in 0..f.u32(82)? as usize {
                let mut values = [0; 10];
                for (n, value) in values.iter_mut().enumerate() {
                    *value = f.u64(86 + g * 80 + n * 8)?;
                }
                generations.push(values);
            }
            gc.per_heap.push(HeapEvent {
                index: f.u32(70)?,
                condemned: [f.u32(54)?, f.u32(58)?],
                generations,
            });
        }
        205 => {
            let mechanisms = f.u32(24)?;
            let fits = |gc: &GcEvents| !gc.global && (mechanisms & 1 == 0 || gc.kind == 1);
            let Some((number, gc)) = gcs.iter_mut().rev().find(|(_, gc)| fits(gc)) else { return Ok(()) };
            (gc.global, gc.heaps, gc.mechanisms) = (true, f.u32(8)?, mechanisms);
            global_by.insert(thread, *number);
        }
        208 => {
            if let Some(gc) = at_work.and_then(|n| gcs.get_mut(&n)) {
                gc.loh_compacted = true;
            }
        }
        _ => {}
    }
    Ok(())
}

/// "CommittedUsage" in UTF-16, with its end.
const COMMITTED_USAGE: [u8; 30] = *b"C\0o\0m\0m\0i\0t\0t\0e\0d\0U\0s\0a\0g\0e\0\0\0";

#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(self, at: usize) -> Result<u32> {
        let bytes = self.0.get(at..at + 4).context("a short payload")?;
        Ok(u32::from_le_bytes(bytes.try_into()?))
    }

    fn u64(self, at: usize) -> Result<u64> {
        let bytes = self.0.get(at..at + 8).context("a short payload")?;
        Ok(u64::from_le_bytes(bytes.try_into()?))
    }
}
