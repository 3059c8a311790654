//! Makes the record of a collection of which everything has arrived.

use super::OpenGc;
use crate::gc::block_totals::add;
use crate::gc::generation::Generation;
use crate::gc::generation_bounds::GenerationBounds;
use crate::gc::record::{BlockCount, Compacting, Gc, Incomplete, Kind, Level, Missing, Pause, Phase, Phases};

impl OpenGc {
    /// Finishes the record; `bounds` are the latest.
    pub(in crate::gc) fn close(mut self, bounds: &mut GenerationBounds, ranges_seen: bool) -> Gc {
        for (start, bytes) in std::mem::take(&mut self.unplaced) {
            let generation = bounds.generation(start);
            add(&mut self.surviving_by_generation[generation.unwrap_or(Generation::FROZEN).index()], bytes);
        }
        let ranges = self.record.surviving.as_mut().and_then(|s| s.ranges.as_mut());
        for r in ranges.into_iter().flatten().filter(|r| r.generation.is_none()) {
            r.generation = bounds.generation(r.start);
        }
        // NativeAOT sends generation ranges but no ranges of blocks. That does not mean that nothing moved.
        if self.ranges_on && ranges_seen && self.record.level == Level::Basic {
            self.record.level = Level::Moves;
            self.record.moved.get_or_insert_default();
            self.record.surviving.get_or_insert_default();
            let missing = match self.background() {
                true => !self.walked() || self.end_of_walk_missing(),
                false => self.blocks_missing(),
            };
            if missing && self.record.incomplete.is_none() {
                self.lost();
            }
        }
        // The stop of a collection, or the second stop of a background collection, was lost.
        if self.record.pauses.is_empty() || self.background() && !self.marked() {
            self.record.incomplete.get_or_insert(Incomplete::Lost);
        }
        self.unknown_sums();
        self.phases();
        // Single blocks are kept, and there was no event of the other kind.
        if let (Some(moved), Some(surviving)) = (&mut self.record.moved, &mut self.record.surviving)
            && moved.ranges.is_some() != surviving.ranges.is_some()
        {
            if moved.ranges.get_or_insert_default().is_empty() {
                moved.transitions.get_or_insert_default();
            }
            surviving.ranges.get_or_insert_default();
        }
        self.generations_of_ranges();
        std::mem::take(&mut self.histories).close(&mut self.record, self.heaps_due == Some(0));
        self.compacting();
        self.split_off_graph();
        let r = &mut self.record;
        if !r.pauses.is_empty() && r.incomplete.is_none() {
            r.pauses.sort_by_key(|p| p.at_ns);
            r.at_ns = r.pauses.first().map(|p| p.at_ns);
            let sum = |caused: bool| {
                let which = r.pauses.iter().filter(|p| p.caused_by_watching == caused);
                which.map(|p| p.ns).fold(0, u64::saturating_add)
            };
            let (own, caused) = (sum(false), sum(true));
            let suspended = r.pauses.iter().filter(|p| !p.caused_by_watching).filter_map(|p| p.suspend_ns);
            r.suspend_ns = Some(suspended.fold(0, u64::saturating_add));
            (r.pause_ns, r.caused_by_watching_ns) = (Some(own), Some(caused));
        }
        if r.missing != Missing::default() && r.incomplete.is_none() {
            r.incomplete = Some(Incomplete::Lost);
        }
        self.record
    }

    /// The time for a heap graph is no part of the program's own pause. It lies shortly before the end of the stop.
    fn split_off_graph(&mut self) {
        let pauses = &mut self.record.pauses;
        let Some(whole) = pauses.iter_mut().rfind(|pause| pause.phase == Phase::Whole) else { return };
        let ns = self.graph_pause_ns.min(whole.ns);
        if ns == 0 {
            return;
        }
        whole.ns = whole.ns.saturating_sub(ns);
        let at_ns = whole.at_ns.saturating_add(whole.ns);
        pauses.push(Pause { phase: Phase::HeapGraph, at_ns, ns, suspend_ns: None, caused_by_watching: true });
    }

    fn walked(&self) -> bool {
        self.record.pauses.iter().any(|p| p.phase == Phase::SurvivorWalk) && !self.walks.is_empty()
    }

    /// A sum over several events is unknown where an event may be missing. The profiler's sums come in one event.
    fn unknown_sums(&mut self) {
        if !self.damaged {
            return;
        }
        let r = &mut self.record;
        r.promoted_by = Default::default();
        if r.level != Level::Roots {
            (r.moved, r.surviving) = (None, None);
        }
        r.finalization_bytes = None;
        self.global = None;
    }

    /// A background collection marks while the program runs. Its marks tell nothing of its pauses.
    fn phases(&mut self) {
        let blocking = self.record.kind.is_some_and(|kind| kind != Kind::Background);
        let gc_ns =
            self.record.gc_ns.filter(|_| blocking && !self.damaged && self.record.incomplete.is_none());
        // A heap graph is taken before GCEnd, and its time is in no pause of the program.
        let own_ns = gc_ns.map(|gc_ns| gc_ns.saturating_sub(self.graph_pause_ns));
        self.record.phases = self
            .record
            .phases
            .zip(own_ns)
            .map(|(phases, own_ns)| Phases { rest_ns: own_ns.saturating_sub(phases.mark_ns), ..phases });
    }

    fn generations_of_ranges(&mut self) {
        if !self.bounds_known || self.record.moved.is_none() {
            return;
        }
        let (moved, surviving) = (self.moved_by_generation, self.surviving_by_generation);
        for index in 0..Generation::COLLECTED.len() {
            if let Some(g) = self.generation(index) {
                g.moved = Some(moved[index]);
                g.surviving = Some(surviving[index]);
            }
        }
    }

    fn compacting(&mut self) {
        let Some(global) = self.global else { return };
        let condemned = self.record.generation.unwrap_or(Generation::GEN2).index();
        let full = condemned == 2;
        let soh = global.compacting();
        let loh = self.loh_compacted;
        for index in 0..Generation::COLLECTED.len() {
            let compacted = match index {
                0..=2 if index <= condemned => Some(soh),
                3 if full => Some(loh),
                4 if full => Some(false),
                _ => None,
            };
            if let Some(g) = self.generation(index) {
                g.compacted = compacted;
            }
        }
        let loh_in_use = self.record.generations.get(3).and_then(|g| g.size_before_bytes).unwrap_or(0) > 0;
        // A compacting collection may still sweep some regions in its plan phase.
        let soh_kept = self.surviving_by_generation[..3].iter().any(|c| c.blocks > 0);
        self.record.compacting = Some(match (soh, full && loh_in_use) {
            (true, true) if !loh => Compacting::Mixed,
            (false, true) if loh => Compacting::Mixed,
            (true, _) if soh_kept => Compacting::Mixed,
            (true, _) => Compacting::Yes,
            (false, _) => Compacting::No,
        });
    }

    /// Whether the last events of a background collection's walk are missing: the last one that came is full, and the
    /// older generations have fewer bytes than were promoted. (The bytes alone may differ a little, because objects die
    /// between the marking and the walk.)
    fn end_of_walk_missing(&self) -> bool {
        let generations = self.record.generations.iter().skip(Generation::GEN2.index());
        let promoted = generations.filter_map(|g| g.promoted_bytes).fold(0, u64::saturating_add);
        let sent = self.surviving_by_generation.iter().skip(Generation::GEN2.index()).map(|c| c.bytes);
        self.walks.values().any(|walk| walk.full) && sent.fold(0, u64::saturating_add) < promoted
    }

    /// Whether bytes of blocks are missing: the heap histories of a blocking collection say how much survived. (With
    /// segments they count one smallest object too many for each LOH and POH.)
    fn blocks_missing(&self) -> bool {
        const SMALLEST_OBJECT_BYTES: u64 = 24;
        let bytes = |count: &BlockCount| count.bytes;
        let moved = self.record.moved.iter().map(|m| bytes(&m.count).saturating_add(bytes(&m.stayed)));
        let sent = moved.chain(self.record.surviving.iter().map(|s| bytes(&s.count)));
        let sent = sent.fold(0, u64::saturating_add);
        let (heaps, survived) = self.histories.survived();
        let full = self.record.generation == Some(Generation::GEN2);
        let extra = if full { 2 * SMALLEST_OBJECT_BYTES * heaps as u64 } else { 0 };
        sent.saturating_add(extra) < survived
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::Reason;

    #[test]
    fn a_heap_graph_is_in_no_pause_of_the_program() {
        for (graph_ns, own_ns) in [(300, 700), (0, 1000), (5000, 0)] {
            let mut gc = OpenGc::new(7, 0, Reason(0), Kind::Blocking, 60);
            gc.pause(Pause {
                phase: Phase::Whole,
                at_ns: 50,
                ns: 1000,
                suspend_ns: Some(10),
                caused_by_watching: false,
            });
            gc.graph_pause_ns = graph_ns;
            let gc = gc.close(&mut GenerationBounds::default(), false);
            let of_graph = 1000 - own_ns;
            assert_eq!((gc.pause_ns, gc.caused_by_watching_ns), (Some(own_ns), Some(of_graph)));
            assert_eq!((gc.at_ns, gc.suspend_ns), (Some(50), Some(10)));
            let own: Vec<_> = gc.pauses.iter().filter(|pause| pause.caused_by_watching).collect();
            let expected = (of_graph > 0).then_some((Phase::HeapGraph, 50 + own_ns, of_graph));
            let found: Vec<_> = own.iter().map(|pause| (pause.phase, pause.at_ns, pause.ns)).collect();
            assert_eq!(found, Vec::from_iter(expected));
        }
    }
}
