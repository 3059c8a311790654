//! Stops of the program: their begin and their end.

use super::Fold;
use crate::gc::open::OpenGc;
use crate::gc::record::{Pause, Phase};
use crate::gc::stops::{Owner, Stop};
use crate::gc::stream_event::StreamEvent;

impl Fold {
    /// SuspendEEEnd: the stop before has ended, even where its RestartEEEnd has not come yet.
    pub(super) fn stopped(&mut self, e: &StreamEvent<'_>) {
        let background_runs = self.background.as_ref().is_some_and(|gc| !gc.ended);
        if let Some(before) = self.stops.stopped(e.thread, e.at_ns, background_runs)
            && before.owner == Some(Owner::Blocking)
        {
            before.waiting = before.waiting.take().or(self.blocking.take().map(Box::new));
        }
    }

    /// The end of this stop was lost.
    pub(super) fn stop_lost(&mut self, mut stop: Stop) {
        if let Some(mut gc) = stop.waiting.take() {
            gc.lost();
            self.emit(*gc);
        }
        let owner = stop.owner.or(stop.for_background.then_some(Owner::Background));
        if let Some(gc) = self.open(owner) {
            gc.lost();
        }
    }

    pub(super) fn restart(&mut self, e: &StreamEvent<'_>) {
        let Some((mut stop, end_ns)) = self.stops.end(e.thread, e.at_ns) else {
            if !self.stops.holds(Owner::Blocking) {
                // The begin of this stop is not known.
                self.blocking_done();
            }
            return;
        };
        let ns = stop.owned_ns(end_ns);
        if !stop.sure() {
            // Its SuspendEEEnd is missing, so it is not known whether it stopped the program.
            return;
        }
        let marked = self.background.as_ref().is_some_and(OpenGc::marked);
        let phase = match stop.owner {
            Some(Owner::Blocking) => Phase::Whole,
            Some(Owner::Background) => Phase::Initial,
            // There is one final mark. A later stop is the walk of the survivors, even if another tool asked for it.
            None if stop.for_background && (stop.walked || marked) => Phase::SurvivorWalk,
            None if stop.for_background => Phase::FinalMark,
            None => {
                if stop.to_collect() {
                    self.stops_without_gc = self.stops_without_gc.saturating_add(1);
                }
                if self.lease_lost_ns.is_none_or(|at| stop.begin_ns < at) {
                    self.other_suspensions.0 += 1;
                    self.other_suspensions.1 = self.other_suspensions.1.saturating_add(ns);
                }
                return;
            }
        };
        let pause = Pause {
            phase,
            at_ns: stop.owned_from_ns,
            ns,
            suspend_ns: stop.suspend_ns(),
            caused_by_watching: phase == Phase::SurvivorWalk && stop.walked,
        };
        if let Some(mut gc) = stop.waiting.take() {
            gc.pause(pause);
            self.blocking_over(*gc);
        } else if stop.owner == Some(Owner::Blocking) {
            if let Some(mut gc) = self.blocking.take() {
                gc.pause(pause);
                self.blocking_over(gc);
            }
        } else {
            self.background.iter_mut().for_each(|gc| gc.pause(pause.clone()));
        }
        self.background_done();
    }
}
