//! Stops of the program, by thread, in order.
//!
//! A thread requests a stop (SuspendEEBegin), has stopped the program (SuspendEEEnd), resumes it (RestartEEBegin) and
//! is done (RestartEEEnd). There is one stop at a time, but the events of two stops may overlap: a thread may request a
//! stop during that of another thread, and RestartEEEnd may come long after the program was resumed. The border between
//! the stops of two collections is where the second one began, or where the first one resumed the program if that was
//! later. A stop for another purpose (such as a sampling profiler) gets the time that the stops of collections leave.

use super::open::OpenGc;
use crate::gc::map::HashMap;

/// Which of the two collections that may be open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Blocking,
    Background,
}

/// SUSPEND_FOR_GC.
const FOR_GC: u32 = 1;
/// SUSPEND_FOR_GC_PREP: the later stops of a background collection, among others.
const FOR_GC_PREP: u32 = 6;

/// Stops that may be open at once. A runtime has a few: each thread waits for the one before it.
const MAX_OPEN: usize = 64;

/// One stop, from SuspendEEBegin to RestartEEEnd, on one thread.
#[derive(Debug, Default)]
pub(super) struct Stop {
    reason: u32,
    /// SuspendEEBegin, or the end of the stop before if that was later.
    pub(super) begin_ns: u64,
    /// SuspendEEEnd: from here on the program stands still.
    stopped_ns: Option<u64>,
    /// RestartEEBegin: from here on the stop of another thread may follow.
    resumed_ns: Option<u64>,
    /// The time at which another stop followed. RestartEEEnd may still come.
    over_ns: Option<u64>,
    /// From here on the stop belongs to its last collection: `begin_ns`, or a later GCStart.
    pub(super) owned_from_ns: u64,
    /// The collection that started in it last.
    pub(super) owner: Option<Owner>,
    /// It is one of a background collection that started in an earlier stop.
    pub(super) for_background: bool,
    /// Survivors of a background collection were reported in it.
    pub(super) walked: bool,
    /// Events were lost in it, perhaps the start of a collection: which part belongs to which collection is not known.
    pub(super) damaged: bool,
    /// A collection started in it after the watch had ended.
    pub(super) collected: bool,
    /// A collection that only waits for the end of this stop.
    pub(super) waiting: Option<Box<OpenGc>>,
}

impl Stop {
    fn in_force(&self) -> bool {
        self.stopped_ns.is_some() && self.resumed_ns.is_none() && self.over_ns.is_none()
    }

    /// Whether it was requested for a collection, and none started.
    pub(super) fn to_collect(&self) -> bool {
        self.reason == FOR_GC && !self.collected
    }

    fn for_gc(&self) -> bool {
        matches!(self.reason, FOR_GC | FOR_GC_PREP)
    }

    fn begin_at(&mut self, at_ns: u64) {
        if self.owned_from_ns == self.begin_ns {
            self.owned_from_ns = at_ns;
        }
        self.begin_ns = at_ns;
    }

    /// The time that belongs to its last collection, if it ends at `end_ns`.
    pub(super) fn owned_ns(&self, end_ns: u64) -> u64 {
        end_ns.saturating_sub(self.owned_from_ns)
    }

    /// SuspendEEBegin to SuspendEEEnd; `None` where that part belongs to an earlier collection.
    pub(super) fn suspend_ns(&self) -> Option<u64> {
        let own = self.owned_from_ns == self.begin_ns;
        self.stopped_ns.filter(|_| own).map(|at| at.saturating_sub(self.begin_ns))
    }

    /// Whether it is known that it stopped the program.
    pub(super) fn sure(&self) -> bool {
        self.stopped_ns.is_some()
    }
}

/// The stops that are not over, by thread.
#[derive(Debug, Default)]
pub(super) struct Stops {
    open: HashMap<u64, Stop>,
}

impl Stops {
    /// SuspendEEBegin. Returns a stop whose end never came: the thread's last one, or the oldest of too many.
    pub(super) fn begin(&mut self, thread: u64, at_ns: u64, reason: u32) -> Option<Stop> {
        let stop = Stop { reason, begin_ns: at_ns, owned_from_ns: at_ns, ..Stop::default() };
        if self.open.len() >= MAX_OPEN && !self.open.contains_key(&thread) {
            let oldest = self.open.iter().min_by_key(|(_, stop)| stop.begin_ns).map(|(thread, _)| *thread);
            let unfinished = oldest.and_then(|oldest| self.open.remove(&oldest));
            self.open.insert(thread, stop);
            return unfinished;
        }
        self.open.insert(thread, stop)
    }

    /// The thread that has stopped the program to collect.
    pub(super) fn collecting(&self) -> Option<u64> {
        self.open.iter().find(|(_, stop)| stop.in_force() && stop.reason == FOR_GC).map(|(thread, _)| *thread)
    }

    /// SuspendEEEnd: this thread has stopped the program, so any stop before is over. Returns that stop, if its end was
    /// not known until now.
    pub(super) fn stopped(&mut self, thread: u64, at_ns: u64, background_runs: bool) -> Option<&mut Stop> {
        let Some(mut stop) = self.open.remove(&thread) else {
            // Its SuspendEEBegin was lost, or came before the watch. Still it shows that the stop before is over.
            let resumed = |s: &&mut Stop| s.for_gc() && s.resumed_ns.is_some() && s.over_ns.is_none();
            return self.open.values_mut().find(resumed);
        };
        let mut last = None;
        let mut before_ns = None;
        let there = |s: &Stop| s.stopped_ns.is_some() && s.over_ns.is_none();
        if stop.for_gc() {
            for (&other, before) in self.open.iter_mut().filter(|(_, s)| s.for_gc() && there(s)) {
                let before_resumed_ns = before.resumed_ns.unwrap_or(stop.begin_ns);
                let border_ns = stop.begin_ns.max(before_resumed_ns).max(before.owned_from_ns);
                before.over_ns = Some(border_ns);
                before_ns = before.stopped_ns;
                stop.begin_at(border_ns);
                last = Some(other);
            }
            let asking = self.open.values().filter(|s| s.for_gc() && s.stopped_ns.is_none());
            let asked_ns = asking.map(|s| s.begin_ns).fold(stop.begin_ns, u64::min);
            for between in self.open.values_mut().filter(|s| !s.for_gc() && there(s)) {
                if before_ns.is_some() && between.stopped_ns > before_ns {
                    between.begin_at(between.begin_ns.max(stop.begin_ns));
                }
                between.over_ns = Some(asked_ns.max(between.begin_ns));
            }
        }
        stop.stopped_ns = Some(at_ns);
        stop.for_background = stop.reason == FOR_GC_PREP && background_runs;
        self.open.insert(thread, stop);
        self.open.get_mut(&last?)
    }

    /// RestartEEBegin.
    pub(super) fn resumed(&mut self, thread: u64, at_ns: u64) {
        if let Some(stop) = self.open.get_mut(&thread) {
            stop.resumed_ns = Some(at_ns);
        }
    }

    /// RestartEEEnd. Returns the stop and its end.
    pub(super) fn end(&mut self, thread: u64, at_ns: u64) -> Option<(Stop, u64)> {
        let stop = self.open.remove(&thread)?;
        let mut end_ns = stop.over_ns.unwrap_or(at_ns);
        for other in self.open.values_mut() {
            if other.for_gc() && !stop.for_gc() {
                // A stop of a collection after this one ends it; of one before, this stop gets no time.
                let border_ns = match other.stopped_ns {
                    Some(at) if Some(at) < stop.stopped_ns => other.over_ns.map_or(0, |_| u64::MAX),
                    _ => other.begin_ns,
                };
                end_ns = end_ns.min(border_ns.max(stop.begin_ns));
            } else if other.stopped_ns.is_none() || !other.for_gc() && other.over_ns.is_none() {
                // What asks has stopped nothing so far.
                other.begin_at(other.begin_ns.max(end_ns));
            }
        }
        Some((stop, end_ns))
    }

    /// The one in force.
    pub(super) fn in_force(&mut self) -> Option<&mut Stop> {
        self.open.values_mut().filter(|s| s.in_force()).max_by_key(|s| s.stopped_ns)
    }

    /// Whether the end of a stop of this collection has still to come.
    pub(super) fn holds(&self, owner: Owner) -> bool {
        let of = |s: &Stop| s.owner == Some(owner) || owner == Owner::Background && s.for_background;
        self.open.values().any(of)
    }

    /// Events were lost: of which of the stops is not known.
    pub(super) fn lost(&mut self) {
        self.open.values_mut().for_each(|stop| stop.damaged = true);
    }

    /// The collections that wait for the end of their stop.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = &mut OpenGc> {
        self.open.values_mut().filter_map(|s| s.waiting.as_deref_mut())
    }

    /// Takes them, in the order of their stops.
    pub(super) fn take_waiting(&mut self) -> Vec<OpenGc> {
        let waiting = |s: &mut Stop| Some((s.begin_ns, *s.waiting.take()?));
        let mut gcs: Vec<_> = self.open.values_mut().filter_map(waiting).collect();
        gcs.sort_by_key(|(at, _)| *at);
        gcs.into_iter().map(|(_, gc)| gc).collect()
    }
}
