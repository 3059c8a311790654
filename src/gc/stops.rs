//! When the program stands still: the stops of all threads, told apart and put in order.
//!
//! A thread asks for a stop (SuspendEEBegin), has it (SuspendEEEnd), lets go (RestartEEBegin) and says so
//! (RestartEEEnd). There is one stop at a time, but its events may overlap another's: a thread may ask while another
//! one holds the program, and what lets go may be kept from saying so until long after. Between two collections the
//! border is where the second one began, or where the first one let go, if that was later. A stop for something else
//! (a sampling profiler) gets what is left by those of collections.

use super::open::OpenGc;
use crate::gc::map::HashMap;

/// Which of the collections that may be open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Blocking,
    Background,
}

/// SUSPEND_FOR_GC.
const FOR_GC: u32 = 1;
/// SUSPEND_FOR_GC_PREP: the later stops of a background collection, among others.
const FOR_GC_PREP: u32 = 6;

/// Stops that may be open at once. A runtime has a few: each thread that asks waits for the one before it.
const MAX_OPEN: usize = 64;

/// One stop, from SuspendEEBegin to RestartEEEnd, on one thread.
#[derive(Debug)]
pub(super) struct Stop {
    reason: u32,
    /// SuspendEEBegin, or the end of the stop before where that was later.
    pub(super) begin_ns: u64,
    /// SuspendEEEnd: from here on the program stands still.
    stopped_ns: Option<u64>,
    /// RestartEEBegin: from here on another thread's stop may follow.
    going_on_ns: Option<u64>,
    /// Another one has followed, so it was over here, though RestartEEEnd has still to come.
    over_ns: Option<u64>,
    /// Where the collection in hand began to own it: `begin_ns`, or a later GCStart.
    pub(super) owned_from_ns: u64,
    /// The collection that started in it last.
    pub(super) owner: Option<Owner>,
    /// It is one of a background collection that started in an earlier stop.
    pub(super) for_background: bool,
    /// Survivors of a background collection were told in it.
    pub(super) walked: bool,
    /// Events were lost in it, a collection's start perhaps: how it is shared out is not known.
    pub(super) damaged: bool,
    /// A collection started in it that is beyond the watch.
    pub(super) collected: bool,
    /// A collection that has all but this stop's end.
    pub(super) waiting: Option<Box<OpenGc>>,
}

impl Stop {
    fn in_force(&self) -> bool {
        self.stopped_ns.is_some() && self.going_on_ns.is_none() && self.over_ns.is_none()
    }

    /// A collection was to start in it, and none is known to have.
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

    /// What belongs to the collection in hand, if it ends there.
    pub(super) fn owned_ns(&self, end_ns: u64) -> u64 {
        end_ns.saturating_sub(self.owned_from_ns)
    }

    /// SuspendEEBegin to SuspendEEEnd, unless that part is the collection's before.
    pub(super) fn suspend_ns(&self) -> Option<u64> {
        let own = self.owned_from_ns == self.begin_ns;
        self.stopped_ns.filter(|_| own).map(|at| at.saturating_sub(self.begin_ns))
    }

    /// It is known that it stopped the program.
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
    /// SuspendEEBegin. Returns a stop whose end was never told: the thread's before, or the oldest of too many.
    pub(super) fn begin(&mut self, thread: u64, at_ns: u64, reason: u32) -> Option<Stop> {
        let stop = Stop {
            reason,
            begin_ns: at_ns,
            stopped_ns: None,
            going_on_ns: None,
            over_ns: None,
            owned_from_ns: at_ns,
            owner: None,
            for_background: false,
            walked: false,
            damaged: false,
            collected: false,
            waiting: None,
        };
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

    /// SuspendEEEnd: the program stands still, and only for this thread. Returns the stop that was there before, if it
    /// has just turned out to be over.
    pub(super) fn stopped(&mut self, thread: u64, at_ns: u64, background_runs: bool) -> Option<&mut Stop> {
        let Some(mut stop) = self.open.remove(&thread) else {
            // It was asked for before the watch, or that was lost; still it shows that the one before has let go.
            let let_go = |s: &&mut Stop| s.for_gc() && s.going_on_ns.is_some() && s.over_ns.is_none();
            return self.open.values_mut().find(let_go);
        };
        let mut last = None;
        let mut before_ns = None;
        let there = |s: &Stop| s.stopped_ns.is_some() && s.over_ns.is_none();
        if stop.for_gc() {
            for (&other, before) in self.open.iter_mut().filter(|(_, s)| s.for_gc() && there(s)) {
                let let_go_ns = before.going_on_ns.unwrap_or(stop.begin_ns);
                let border_ns = stop.begin_ns.max(let_go_ns).max(before.owned_from_ns);
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
    pub(super) fn going_on(&mut self, thread: u64, at_ns: u64) {
        if let Some(stop) = self.open.get_mut(&thread) {
            stop.going_on_ns = Some(at_ns);
        }
    }

    /// RestartEEEnd. Returns the stop and its end.
    pub(super) fn end(&mut self, thread: u64, at_ns: u64) -> Option<(Stop, u64)> {
        let stop = self.open.remove(&thread)?;
        let mut end_ns = stop.over_ns.unwrap_or(at_ns);
        for other in self.open.values_mut() {
            if other.for_gc() && !stop.for_gc() {
                // Of what came after it there is nothing left for it, of what comes before, all.
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
