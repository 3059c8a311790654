//! The end of a collection: totals are added up, sent, and cleared.

use core::sync::atomic::{AtomicBool, Ordering};

use super::collection::Closed;
use super::events::{ROWS_BYTES, Sink};
use super::lease::ARM_ALWAYS;
use super::profiler::Profiler;
use super::slots::Collected;
use crate::build_options::EMPTY_ANSWER;
use crate::hresult::{HResult, S_OK};
use crate::info::Info;
use crate::sys;
use crate::wire::{
    BoundsPhase, BoundsRange, GcFlags, GcTotals, GraphPause, MAX_EVENT_BYTES, Naming, RootTotals, Row,
    event_id,
};

/// Whether a thread is in [`Profiler::gc_finished`].
static FINISHING: AtomicBool = AtomicBool::new(false);

impl Profiler {
    /// Whether the end of a collection is being processed.
    pub(super) fn is_finishing(&self) -> bool {
        FINISHING.load(Ordering::SeqCst)
    }

    /// `GarbageCollectionFinished`.
    pub(crate) fn gc_finished(&self) -> HResult {
        if let Some(info) = self.info() {
            self.finish_graph(info);
        }
        let entered_ns = sys::tick_ns();
        // The runtime never calls this on two threads at once. If it did, the second would find the memory in use.
        if FINISHING.swap(true, Ordering::SeqCst) {
            return S_OK;
        }
        if let Some(info) = self.info() {
            self.finish(info, entered_ns);
            self.mask.disarm(info);
        }
        FINISHING.store(false, Ordering::SeqCst);
        S_OK
    }

    fn finish(&self, info: Info, entered_ns: u64) {
        let mut closed = self.collection.close(&self.mask, entered_ns);
        if EMPTY_ANSWER.is_some() {
            return;
        }
        if self.bounds.are_known() {
            closed.flags = closed.flags.with(GcFlags::BOUNDS_KNOWN);
        }
        if closed.flags.has(GcFlags::ARMED) {
            self.window.add_armed();
        }
        let sink = Sink { info, events: &self.events, gc_seq: closed.seq };
        let Some(mut collected) = self.slots.collect(|accumulator| accumulator.send_rest(sink)) else {
            return;
        };
        if self.sends_blocks() {
            self.send_bounds(sink, BoundsPhase::STARTED);
        }
        let naming_began_ns = sys::tick_ns();
        if self.sends_blocks() || self.names.are_on() {
            self.bounds.read(info);
        }
        if self.sends_blocks() {
            self.send_bounds(sink, BoundsPhase::FINISHED);
        }
        // SAFETY: this is `GarbageCollectionFinished`, and `FINISHING` keeps other threads out.
        let naming = unsafe { self.send_named_roots(sink, naming_began_ns) };
        self.bounds.forget();
        if let Some(worked) = closed.late_arming_worked
            && self.mask.record(worked)
        {
            self.lease.request(ARM_ALWAYS);
        }
        let names_pending = self.names_are_pending();
        if names_pending {
            closed.flags = closed.flags.with(GcFlags::NAMES_PENDING);
        }
        let pause_ns = self.graph.take_pause_ns();
        if pause_ns != 0 {
            // It lies within what was taken for the runtime's walk.
            closed.walk_ns = closed.walk_ns.saturating_sub(pause_ns);
            let pause = GraphPause { gc_seq: closed.seq, gc_number: closed.number, pause_ns };
            self.events.send::<{ GraphPause::BYTES }>(info, &pause);
        }
        self.send_totals(sink, &closed, &collected, naming, entered_ns);
        if names_pending {
            self.request_names_done(closed.seq);
        }
        collected.total.clear();
    }

    fn send_bounds(&self, sink: Sink<'_>, phase: BoundsPhase) {
        const ROWS: usize = ROWS_BYTES / BoundsRange::BYTES;
        // SAFETY: only this thread finishes the collection; `send_totals` comes later.
        let buffer = unsafe { self.events.scratch() };
        for ranges in self.bounds.ranges().chunks(ROWS) {
            let (mut length, mut rows) = (0_usize, 0_u32);
            for range in ranges {
                let row = BoundsRange {
                    generation: u8::try_from(range.generation).unwrap_or(u8::MAX),
                    start: range.start as u64,
                    length: range.length as u64,
                    reserved: range.reserved as u64,
                };
                if let Ok(bytes) = row.encode(buffer.get_mut(length..).unwrap_or_default()) {
                    length = length.saturating_add(bytes);
                    rows = rows.saturating_add(1);
                }
            }
            let bytes = buffer.get(..length).unwrap_or_default();
            self.events.write_rows(sink, event_id::BOUNDS, phase.0, rows, bytes);
        }
    }

    fn send_totals(
        &self,
        sink: Sink<'_>,
        closed: &Closed,
        collected: &Collected<'_>,
        naming: Option<Naming>,
        entered_ns: u64,
    ) {
        let total = &*collected.total;
        let mut flags = closed.flags;
        if collected.incomplete {
            flags = flags.with(GcFlags::NO_SLOT);
        }
        let finished_ns = sys::tick_ns();
        let this_ns = finished_ns.saturating_sub(entered_ns);
        let totals = GcTotals {
            gc_seq: closed.seq,
            gc_number: closed.number,
            collected: closed.collected,
            reason: closed.reason,
            flags,
            started_ns: closed.started_ns,
            finished_ns: entered_ns,
            callback_ns: closed.callback_ns.saturating_add(total.callback_ns).saturating_add(this_ns),
            walk_ns: closed.walk_ns.saturating_add(total.walk_ns),
            toggle_failures: self.mask.failures(),
            moved: total.moved.totals(),
            stayed_blocks: total.stayed_blocks,
            stayed_bytes: total.stayed_bytes,
            distance: total.distance(),
            surviving: total.surviving.totals(),
            roots: RootTotals { nulls: total.null_roots, counts: total.root_counts() },
            dependent_pairs: closed.dependent_pairs,
            finalizable_queued: closed.finalizable_queued,
            missing_ranges: closed.missing_ranges,
            missing_range_bytes: closed.missing_range_bytes,
            missing_roots: closed.missing_roots,
            parts: self.events.take_parts(),
            bounds_ranges: closed.bounds_ranges,
            naming,
        };
        // SAFETY: only this thread finishes the collection; `send_bounds` is over.
        let buffer = unsafe { self.events.scratch() };
        debug_assert!(buffer.len() == MAX_EVENT_BYTES);
        self.events.send_from(buffer, sink.info, &totals);
    }
}
