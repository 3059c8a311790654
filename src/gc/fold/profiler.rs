//! Applies the profiler's records to the collection that is open.

use netcore_profiler::wire::{self, GcFlags, Record};

use super::Fold;
use crate::gc::open::OpenGc;
use crate::gc::profiled::{self, Raw};
use crate::gc::root_stats::IncomingRootRows;

impl Fold {
    pub(super) fn profiler(&mut self, at_ns: u64, record: Record<'_>) {
        let keep = self.keep_blocks;
        match record {
            Record::Hello(hello) => {
                self.next_seq = None;
                self.lease_lost_ns = None;
                self.foreign_profiler = hello.age_ns > at_ns;
                if self.stream_info.hello(at_ns, &hello) {
                    // The ids that another profiler sent, and its numbers of collections, are void.
                    self.queue.profiler_arrived();
                    self.root_rows = IncomingRootRows::default();
                    self.raw = Raw::default();
                    self.induced_by = None;
                }
            }
            Record::Note(note) => {
                // The watch ends here, unless the profiler was there for a window, cost too much or is another watch's.
                let own = !self.stream_info.outlasts_profiler() && !self.foreign_profiler;
                if note.code == wire::NoteCode::LEASE_LOST && own {
                    self.lease_lost_ns = Some(at_ns);
                }
                if note.code == wire::NoteCode::GOODBYE {
                    self.queue.over();
                }
                self.stream_info.note(&note);
            }
            Record::TypedRoots(part) => self.root_rows.roots(&part),
            Record::Statics(part) => self.root_rows.statics(&part),
            Record::Forget => self.queue.forget(),
            Record::NamesDone(done) => self.queue.named(done.gc_seq),
            Record::Trigger(t) => self.induced_by = Some((t.reason, t.frames.iter().collect())),
            Record::Bounds(b) if keep => self.raw.bounds(&b),
            Record::GcTotals(totals) if !profiled::possible(&totals) => {
                self.lost_totals = self.lost_totals.saturating_add(1);
            }
            Record::Moved(m) if keep => self.raw.moved(&m),
            Record::Surviving(s) if keep => self.raw.surviving(&s),
            Record::Roots(r) if keep => self.raw.roots(&r),
            Record::GraphPause(graph) => {
                let number = Some(graph.gc_number).filter(|n| *n != 0);
                if let Some(gc) =
                    self.blocking.as_mut().filter(|gc| number.is_none() || gc.record.number == number)
                {
                    gc.graph_pause_ns = graph.pause_ns;
                }
            }
            Record::GcTotals(totals) => {
                if let Some(due) = self.next_seq {
                    let gap = totals.gc_seq.saturating_sub(due);
                    self.lost_totals = self.lost_totals.saturating_add(gap);
                }
                self.next_seq = Some(totals.gc_seq.saturating_add(1));
                self.queue.counted(totals.gc_seq);
                let root_rows = totals.naming.map(|naming| self.root_rows.take(totals.gc_seq, &naming));
                let raw = std::mem::take(&mut self.raw);
                let sampled = self.stream_info.sampled();
                let number = Some(totals.gc_number).filter(|n| *n != 0);
                let fits = |gc: &&mut OpenGc| number.is_none() || gc.record.number == number;
                if self.stream_info.is_for_graph() {
                    // The level of the watch is another one, and names were not asked for.
                    self.blocking
                        .as_mut()
                        .filter(fits)
                        .into_iter()
                        .for_each(|gc| profiled::apply_cost(gc, &totals));
                    return;
                }
                if let Some(gc) = self.blocking.as_mut().filter(fits) {
                    profiled::apply(gc, &totals, raw, keep, sampled);
                    if let Some((root_rows, missing)) = root_rows {
                        let events = &mut gc.record.missing.events;
                        *events = events.saturating_add(missing);
                        gc.naming.root_rows = Some(root_rows);
                    }
                    gc.naming.due = totals.flags.has(GcFlags::NAMES_PENDING).then_some(totals.gc_seq);
                }
            }
            record => self.queue.apply(&record),
        }
        self.lost_totals = self.lost_totals.saturating_add(self.queue.take_left_out());
    }
}
