//! A collection's start and end.

use super::{Fold, MAX_OPEN_ENDS, make_room};
use crate::gc::generation::Generation;
use crate::gc::open::OpenGc;
use crate::gc::queue::Naming;
use crate::gc::record::{Gc, Incomplete, Kind, Pause, Phase, Reason};
use crate::gc::stops::Owner;
use crate::gc::stream_event::StreamEvent;

impl Fold {
    pub(super) fn start(
        &mut self,
        e: &StreamEvent<'_>,
        number: u32,
        generation: u32,
        reason: Reason,
        kind: u32,
    ) {
        let owner = if kind == 1 { Owner::Background } else { Owner::Blocking };
        // The ephemeral collection in the first stop of a background collection has the type of a blocking one.
        let kind = match kind {
            1 => Kind::Background,
            2 => Kind::Foreground,
            _ => Kind::Blocking,
        };
        let mut gc = OpenGc::new(number, generation, reason, kind, e.at_ns);
        gc.record.profiler_there = self.stream_info.starts(kind == Kind::Background);
        gc.record.stops_without_gc = std::mem::take(&mut self.stops_without_gc);
        let trigger = self.trigger.take();
        gc.record.trigger_reason = trigger.map(|(reason, ..)| reason);
        gc.record.trigger_stack = trigger.and_then(|(.., stack)| stack);
        gc.record.sampled = self.allocations.collection(Generation(generation.min(2) as u8), reason.0);
        if let (Some((_, by, _)), Some(thread)) = (trigger, self.stops.collecting()) {
            // With server GC, the threads that trigger a collection are not those that collect.
            self.stream_info.server(by != thread);
        }
        let induced_by = self.induced_by.take().filter(|(code, _)| gc.record.trigger_reason == Some(*code));
        gc.naming.induced_by = induced_by.filter(|_| reason.induced()).map(|(_, frames)| frames);
        let mut before = None;
        match self.stops.in_force() {
            Some(stop) => {
                let pause = Pause {
                    phase: Phase::Whole,
                    at_ns: stop.owned_from_ns,
                    ns: stop.owned_ns(e.at_ns),
                    suspend_ns: stop.suspend_ns(),
                    caused_by_watching: false,
                };
                if stop.damaged {
                    gc.lost();
                }
                before = stop.owner.replace(owner).map(|owner| (owner, pause));
                if before.is_some() {
                    stop.owned_from_ns = e.at_ns;
                }
            }
            // Its stop was lost, or began before the watch.
            None if self.losses => gc.lost(),
            None => gc.record.incomplete = Some(Incomplete::BeganBefore),
        }
        match before {
            Some((Owner::Background, pause)) => {
                let initial = Pause { phase: Phase::Initial, ..pause };
                self.background.iter_mut().for_each(|gc| gc.pause(initial.clone()));
            }
            Some((Owner::Blocking, pause)) => {
                self.blocking.iter_mut().for_each(|gc| gc.pause(pause.clone()));
                self.blocking_done();
            }
            None => {}
        }
        if let Some(mut unfinished) = self.slot(owner).take() {
            unfinished.resumed_without_end();
            self.emit(unfinished);
        }
        self.first_started.get_or_insert(number);
        *self.slot(owner) = Some(gc);
    }

    /// GCStart announced a background collection, which then ran as a blocking one in its first stop. The runtime does
    /// that where it has no background GC thread yet.
    pub(super) fn turn_blocking(&mut self) {
        match self.stops.in_force() {
            Some(stop) if stop.owner == Some(Owner::Background) => stop.owner = Some(Owner::Blocking),
            // Its stop began before the watch.
            None if self.background.as_ref().is_some_and(|gc| gc.record.pauses.is_empty()) => {}
            _ => return,
        }
        if let Some(mut before) = self.blocking.take() {
            before.lost();
            self.emit(before);
        }
        self.blocking = self.background.take().map(|mut gc| {
            gc.record.kind = Some(Kind::Blocking);
            for pause in &mut gc.record.pauses {
                pause.phase = Phase::Whole;
            }
            gc
        });
    }

    pub(super) fn gc_end(&mut self, e: &StreamEvent<'_>, number: u32) {
        make_room(&mut self.ended);
        self.ended.insert(e.thread, number);
        let mut bounds = std::mem::take(&mut self.bounds);
        let given_up = self.unfinished.remove(&number) || self.lease_lost_ns.is_some();
        match self.numbered(Some(number)) {
            Some(gc) => {
                if gc.end_bounds_seen {
                    gc.end_bounds(&mut bounds);
                }
                gc.record.gc_ns = Some(e.at_ns.saturating_sub(gc.started_ns));
                gc.ended = true;
            }
            // Its record was finished before.
            None if given_up => {}
            None => {
                let mut gc = Gc::unknown(self.stream_info.usual_level());
                gc.number = Some(number);
                // A background collection may end after others that started or ended in the watch.
                let before = self.first_started.is_none_or(|first| number < first);
                gc.incomplete = Some(match before {
                    true => Incomplete::BeganBefore,
                    false if self.cut => Incomplete::EndedAfter,
                    false => Incomplete::Lost,
                });
                self.identity.follow(&mut gc);
                self.queue.push(gc, Naming::default(), e.at_ns);
                // Otherwise its start was lost, and with it the times of the collections in this stop.
                let stop = self.stops.in_force().filter(|_| !before);
                let owner = stop.and_then(|stop| {
                    stop.damaged = true;
                    stop.owner.filter(|owner| *owner == Owner::Blocking)
                });
                self.open(owner).into_iter().for_each(OpenGc::lost);
            }
        }
        self.bounds = bounds;
    }

    /// A blocking collection is over when the program resumes, or when the next collection starts in the same stop.
    /// That also holds for one in the first stop of a background collection.
    pub(super) fn blocking_done(&mut self) {
        if let Some(gc) = self.blocking.take_if(|gc| gc.ended) {
            self.blocking_over(gc);
        }
    }

    pub(super) fn blocking_over(&mut self, mut gc: OpenGc) {
        if !gc.whole() {
            gc.resumed_without_end();
        }
        self.emit(gc);
    }

    /// A background collection ends while the program runs. Its record is complete when all its statistics have come;
    /// workstation and server GC send them in different orders.
    pub(super) fn background_done(&mut self) {
        if !self.stops.holds(Owner::Background)
            && let Some(gc) = self.background.take_if(|gc| gc.whole())
        {
            self.emit(gc);
        }
    }

    pub(super) fn emit(&mut self, mut gc: OpenGc) {
        if !gc.ended {
            if self.unfinished.len() >= MAX_OPEN_ENDS {
                // If an end still comes, it gets an incomplete record of its own.
                self.unfinished.clear();
            }
            self.unfinished.extend(gc.record.number);
        }
        let start_bounds = gc.start_bounds.take();
        if self.cut {
            gc.cut_short();
        }
        let naming = std::mem::take(&mut gc.naming);
        let mut gc = gc.close(&mut self.bounds, self.ranges_seen);
        gc.start_bounds = start_bounds;
        self.identity.follow(&mut gc);
        self.stream_info.saw(gc.level);
        self.queue.push(gc, naming, self.last_ns);
    }
}
