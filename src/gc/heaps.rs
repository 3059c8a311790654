//! The heap histories of one collection (GCPerHeapHistory), added up by generation.

use super::events::{PerHeapHistory, condemned_reasons};
use super::generation::Generation;
use super::record::{Gc, GenerationStats, HeapStats, Kind};
use super::root_kind::MarkKind;

/// Heaps that are kept one by one. Runtimes have up to 1,024.
const MAX_HEAPS: usize = 4096;

/// Sums of one generation over the heaps, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    before: u64,
    free_before: u64,
    free_after: u64,
    survived: u64,
}

/// The histories that have come.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    /// In the order of their events, which is that of the heaps.
    heaps: Vec<HeapStats>,
    /// For each heap: no condemned reason is set.
    without_reasons: Vec<bool>,
    sums: Vec<Sums>,
}

impl Histories {
    /// Adds a heap of a collection of generation `condemned`.
    pub(crate) fn add(&mut self, heap: &PerHeapHistory, condemned: Generation) {
        let (mut before, mut after, mut promoted) = (0u64, 0u64, 0u64);
        self.sums.resize_with(self.sums.len().max(heap.generations.len()), Sums::default);
        for (index, (h, sums)) in heap.generations.iter().zip(&mut self.sums).enumerate() {
            let collected = condemned.condemns(Generation::COLLECTED[index]);
            let survived = if collected { h.pinned_survived.saturating_add(h.other_survived) } else { 0 };
            before = before.saturating_add(h.size_before);
            after = after.saturating_add(h.size_after);
            promoted = promoted.saturating_add(survived);
            sums.before = sums.before.saturating_add(h.size_before);
            sums.free_before = sums.free_before.saturating_add(h.free_before);
            sums.free_after =
                sums.free_after.saturating_add(h.free_list_after).saturating_add(h.free_objects_after);
            sums.survived = sums.survived.saturating_add(survived);
        }
        if self.heaps.len() >= MAX_HEAPS {
            return;
        }
        self.heaps.push(HeapStats {
            index: heap.heap_index,
            size_before_bytes: Some(before),
            size_after_bytes: Some(after),
            promoted_bytes: Some(promoted),
            condemned_reasons: Some(condemned_reasons(heap.condemn_reasons, condemned)),
        });
        self.without_reasons.push(heap.condemn_reasons == [0, 0]);
    }

    /// The number of heaps, and the bytes that survived in them.
    pub(crate) fn survived(&self) -> (usize, u64) {
        (self.heaps.len(), self.sums.iter().map(|s| s.survived).fold(0, u64::saturating_add))
    }

    /// Writes them to the record, which has the values of GCHeapStats; `all`: no heap is missing.
    pub(crate) fn close(mut self, gc: &mut Gc, all: bool) {
        let background = gc.kind == Some(Kind::Background);
        let headless = background && self.heaps.len() > 1 && self.forget_heads();
        self.heaps.sort_by_key(|h| h.index);
        if all && !self.heaps.is_empty() {
            let before = self.sums.iter().map(|s| s.before).fold(0, u64::saturating_add);
            gc.heap_before_bytes = (!headless).then_some(before);
            if gc.generations.is_empty() {
                gc.generations = vec![GenerationStats::default(); Generation::COLLECTED.len()];
            }
            let torn = background && self.torn(&gc.generations);
            for (index, (g, sums)) in gc.generations.iter_mut().zip(&self.sums).enumerate() {
                g.size_before_bytes = (!headless).then_some(sums.before);
                g.free_before_bytes = (!headless).then_some(sums.free_before);
                g.fragmentation_bytes = (!torn).then_some(sums.free_after);
                // GCHeapStats never counts the pinned-object heap, and gives a background collection what the one
                // before it promoted of gen0 and gen1.
                if !torn {
                    g.promoted_bytes = Some(sums.survived);
                } else if !matches!(index, 2 | 3) {
                    g.promoted_bytes = None;
                }
            }
            if torn {
                for heap in &mut self.heaps {
                    heap.size_after_bytes = None;
                    heap.promoted_bytes = None;
                }
            }
            gc.heaps = self.heaps;
        }
        // The value of GCHeapStats is 0 now and then, or too small where heaps were added, and that of an earlier
        // collection in a background collection. The bytes that the mark phase reported are right.
        let marked = gc.promoted_by[MarkKind::NEW_FINALIZABLE.index()];
        gc.finalization_bytes = if background { None } else { marked.or(gc.finalization_bytes) };
    }

    /// At the end of a background collection of server GC one thread sends all histories, and that of another heap may
    /// not be filled in yet. Where its beginning is missing, index, reasons and the sizes before are 0 (as with a new
    /// heap). Removes them, and returns whether there was one.
    fn forget_heads(&mut self) -> bool {
        let mut any = false;
        for (position, (heap, without)) in (0..).zip(self.heaps.iter_mut().zip(&self.without_reasons)) {
            if *without {
                heap.condemned_reasons = None;
            }
            if heap.size_before_bytes == Some(0) {
                heap.index = position;
                heap.size_before_bytes = None;
                any = true;
            }
        }
        any
    }

    /// Whether the end of a history is missing: then the survivors of gen2 and LOH differ from the values of
    /// GCHeapStats.
    fn torn(&self, stats: &[GenerationStats]) -> bool {
        let differs = |n: usize| {
            let promoted = stats.get(n).and_then(|g| g.promoted_bytes);
            promoted.is_some_and(|p| self.sums.get(n).is_some_and(|s| s.survived != p))
        };
        differs(2) || differs(3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::events::HeapGeneration;
    use crate::gc::record::Level;

    fn history(heap_index: u32, survived: [u64; 5], filled: bool) -> PerHeapHistory {
        let one = |bytes: u64| HeapGeneration {
            size_before: 1_000,
            size_after: if filled { 900 } else { 0 },
            free_before: 0,
            free_list_after: if filled { 7 } else { 0 },
            other_survived: if filled { bytes } else { 0 },
            ..HeapGeneration::default()
        };
        let generations = survived.into_iter().map(one).collect();
        PerHeapHistory { heap_index, condemn_reasons: [0, 0], compact_mechanisms: 0, generations }
    }

    #[test]
    fn a_history_without_its_beginning_is_placed_by_its_turn() {
        let mut gc = Gc::unknown(Level::Basic);
        gc.kind = Some(Kind::Background);
        let mut histories = Histories::default();
        histories.add(&history(0, [1; 5], true), Generation::GEN2);
        let mut headless = history(0, [1; 5], true);
        headless.generations.iter_mut().for_each(|g| g.size_before = 0);
        histories.add(&headless, Generation::GEN2);
        histories.close(&mut gc, true);
        assert_eq!(
            gc.heaps.iter().map(|h| (h.index, h.size_before_bytes)).collect::<Vec<_>>(),
            [(0, Some(5_000)), (1, None)]
        );
        assert_eq!((gc.heap_before_bytes, gc.generations[0].size_before_bytes), (None, None));
        assert_eq!(gc.generations[0].promoted_bytes, Some(2));
    }

    fn closed(kind: Kind, second_filled: bool) -> Gc {
        let mut gc = Gc::unknown(Level::Basic);
        gc.kind = Some(kind);
        gc.finalization_bytes = Some(24);
        gc.promoted_by[MarkKind::NEW_FINALIZABLE.index()] = Some(72);
        gc.generations = vec![GenerationStats::default(); 5];
        for (g, promoted) in gc.generations.iter_mut().zip([33, 44, 20, 40, 0]) {
            g.promoted_bytes = Some(promoted);
        }
        let mut histories = Histories::default();
        histories.add(&history(1, [0, 0, 10, 20, 30], second_filled), Generation::GEN2);
        histories.add(&history(0, [0, 0, 10, 20, 30], true), Generation::GEN2);
        histories.close(&mut gc, true);
        gc
    }

    fn promoted(gc: &Gc) -> Vec<Option<u64>> {
        gc.generations.iter().map(|g| g.promoted_bytes).collect()
    }

    #[test]
    fn a_background_collection_has_nothing_of_the_one_before() {
        let gc = closed(Kind::Background, true);
        assert_eq!(promoted(&gc), [0, 0, 20, 40, 60].map(Some));
        assert_eq!(gc.finalization_bytes, None);
        assert_eq!(gc.heap_before_bytes, Some(10_000));
        assert_eq!(gc.generations[3].fragmentation_bytes, Some(14));
        assert_eq!(
            gc.heaps.iter().map(|h| (h.index, h.promoted_bytes)).collect::<Vec<_>>(),
            [(0, Some(60)), (1, Some(60))]
        );
        assert_eq!(closed(Kind::Blocking, true).finalization_bytes, Some(72));
    }

    #[test]
    fn a_history_sent_too_early_is_not_believed() {
        let gc = closed(Kind::Background, false);
        assert_eq!(promoted(&gc), [None, None, Some(20), Some(40), None]);
        assert_eq!(gc.heap_before_bytes, Some(10_000));
        assert!(gc.generations.iter().all(|g| g.fragmentation_bytes.is_none()));
        assert!(gc.heaps.iter().all(|h| h.size_after_bytes.is_none() && h.promoted_bytes.is_none()));
    }
}
