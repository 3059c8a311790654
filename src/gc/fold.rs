//! Events in, one [`Gc`] per collection out. Knows the order in which the runtime tells things, and
//! what belongs to which collection.

use std::collections::{HashMap, VecDeque};

use netcore_profiler::wire::{self, Record};

use super::bounds::{Bound, Bounds};
use super::events::{self, RuntimeEvent};
use super::identity::Identity;
use super::open::OpenGc;
use super::profiled::{self, Raw};
use super::record::{Gc, Incomplete, Kind, Pause, Phase, Reason};
use super::told::Told;

/// One event, free of the format it came in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Occurrence<'a> {
    pub(crate) provider: &'a str,
    pub(crate) id: u32,
    /// Bytes of a pointer in the target: 4 or 8.
    pub(crate) pointer_size: u32,
    /// The target's OS thread.
    pub(crate) thread: u64,
    /// Stream clock since the watch began; events from before it are at 0.
    pub(crate) at_ns: u64,
    pub(crate) payload: &'a [u8],
}

/// A stop of the program, from SuspendEEBegin to RestartEEEnd, on one thread.
#[derive(Debug, Clone, Copy)]
struct Suspension {
    reason: u32,
    begin_ns: u64,
    /// SuspendEEEnd.
    stopped_ns: Option<u64>,
    /// RestartEEBegin: from here on another thread's stop may follow.
    going_on_ns: Option<u64>,
    /// Another thread's stop has followed before RestartEEEnd was written: this one was over when that began.
    over_ns: Option<u64>,
    /// Where the collection in hand began to own it: `begin_ns`, or a later GCStart.
    owned_from_ns: u64,
    owner: Option<Owner>,
    walked: bool,
}

impl Suspension {
    /// Where it ends and one that began at `next_ns` begins: not before it lets the program go.
    fn border(&self, next_ns: u64) -> u64 {
        next_ns.max(self.going_on_ns.unwrap_or(0)).max(self.owned_from_ns)
    }

    /// It had to wait until then.
    fn begin_at_least(&mut self, at_ns: u64) {
        if self.owned_from_ns == self.begin_ns {
            self.owned_from_ns = self.owned_from_ns.max(at_ns);
        }
        self.begin_ns = self.begin_ns.max(at_ns);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Blocking,
    Background,
}

/// The fold. Finished records are taken with [`Fold::take`].
#[derive(Debug, Default)]
pub(crate) struct Fold {
    keep_blocks: bool,
    suspensions: HashMap<u64, Suspension>,
    blocking: Option<OpenGc>,
    background: Option<OpenGc>,
    /// A server GC's background record lacks its heap histories until after its end.
    history_of: Option<Owner>,
    last_ended: Option<Owner>,
    trigger: Option<u32>,
    bounds: Bounds,
    bounds_coming: Vec<Bound>,
    raw: Raw,
    identity: Identity,
    finished: VecDeque<Gc>,
    last_restart_ns: u64,
    seen_gc: bool,
    first_started: Option<u32>,
    next_seq: Option<u64>,
    /// Lost records of the profiler (whole collections' totals).
    pub(crate) lost_totals: u64,
    /// What the stream tells about the target and the watch.
    pub(crate) told: Told,
    /// Stops for other reasons: number and ns.
    pub(crate) other_suspensions: (u64, u64),
    /// Time of the last event of any kind.
    pub(crate) last_ns: u64,
}

impl Fold {
    /// `keep_blocks`: keep every range and root in the records.
    pub(crate) fn new(keep_blocks: bool) -> Fold {
        Fold { keep_blocks, ..Fold::default() }
    }

    /// The next record that will not change any more.
    pub(crate) fn take(&mut self) -> Option<Gc> {
        self.finished.pop_front()
    }

    /// Events were lost at this point of the stream: what is open can't be trusted any more.
    pub(crate) fn lost(&mut self, events: u64) {
        for gc in [&mut self.blocking, &mut self.background].into_iter().flatten() {
            gc.record.incomplete = Some(Incomplete::Lost);
            gc.record.missing.events += events;
        }
    }

    /// The stream has ended: what is still open is cut off.
    pub(crate) fn end(&mut self) {
        for owner in [Owner::Background, Owner::Blocking] {
            let Some(mut gc) = self.slot(owner).take() else { continue };
            let running = self.suspensions.values().any(|s| s.owner == Some(owner));
            if running || !gc.whole() {
                gc.record.incomplete.get_or_insert(Incomplete::EndedAfter);
            }
            self.emit(gc);
        }
    }

    /// Takes in one event.
    pub(crate) fn event(&mut self, e: Occurrence<'_>) {
        self.last_ns = self.last_ns.max(e.at_ns);
        match e.provider {
            // Of a runtime that starts; others tell it in the rundown.
            events::RUNTIME_PROVIDER if e.id == events::RUNTIME_INFORMATION => {
                self.told.runtime_information(e.payload);
            }
            events::RUNTIME_PROVIDER => {
                if let Some(event) = events::decode(e.id, e.payload, e.pointer_size) {
                    self.runtime(&e, event);
                }
            }
            wire::PROVIDER_NAME => match wire::decode(e.id, e.payload) {
                Ok(record) => self.profiler(record),
                Err(_) => self.lost_totals += 1,
            },
            events::EVENTPIPE_PROVIDER if e.id == 1 => self.told.process_info(e.payload),
            events::RUNDOWN_PROVIDER => self.told.rundown(e.id, e.payload),
            _ => {}
        }
    }

    fn slot(&mut self, owner: Owner) -> &mut Option<OpenGc> {
        match owner {
            Owner::Blocking => &mut self.blocking,
            Owner::Background => &mut self.background,
        }
    }

    fn open(&mut self, owner: Option<Owner>) -> Option<&mut OpenGc> {
        self.slot(owner?).as_mut()
    }

    /// The collection whose own work is going on: a blocking one hides the background one.
    fn current(&self) -> Option<Owner> {
        match (&self.blocking, &self.background) {
            (Some(gc), _) if !gc.ended => Some(Owner::Blocking),
            (_, Some(_)) => Some(Owner::Background),
            (Some(_), None) => Some(Owner::Blocking),
            (None, None) => None,
        }
    }

    /// The stop in force. There is one at a time; a thread that waits its turn has no SuspendEEEnd yet.
    fn stop_in_force(&mut self) -> Option<&mut Suspension> {
        self.suspensions.values_mut().max_by_key(|s| (s.stopped_ns.is_some(), s.begin_ns))
    }

    fn runtime(&mut self, e: &Occurrence<'_>, event: RuntimeEvent<'_>) {
        let new_bounds =
            !matches!(event, RuntimeEvent::GenerationRange { .. }) && !self.bounds_coming.is_empty();
        if new_bounds {
            self.bounds = Bounds::new(std::mem::take(&mut self.bounds_coming));
        }
        let current = self.current();
        match event {
            RuntimeEvent::Triggered { reason } => self.trigger = Some(reason),
            RuntimeEvent::SuspendBegin { reason } => self.suspend(e, reason),
            RuntimeEvent::SuspendEnd => self.stopped(e),
            RuntimeEvent::RestartBegin => {
                if let Some(s) = self.suspensions.get_mut(&e.thread) {
                    s.going_on_ns = Some(e.at_ns);
                }
            }
            RuntimeEvent::RestartEnd => self.restart(e),
            RuntimeEvent::GcStart { number, generation, reason, kind } => {
                self.start(e, number, generation, Reason(reason), kind);
            }
            RuntimeEvent::GcEnd { number } => self.gc_end(e, number, new_bounds),
            RuntimeEvent::HeapStats(stats) => {
                let owner = self.last_ended;
                if let Some(gc) = self.open(owner) {
                    gc.heap_stats(&stats);
                }
                self.background_done();
            }
            RuntimeEvent::Global(global) => {
                let owner = if global.concurrent() { Owner::Background } else { Owner::Blocking };
                if owner == Owner::Blocking && self.blocking.as_ref().is_none_or(|gc| gc.ended) {
                    self.turn_blocking();
                }
                self.history_of = Some(owner);
                self.told.heaps(global.heaps);
                if let Some(gc) = self.open(Some(owner)) {
                    gc.global_history(global);
                }
            }
            RuntimeEvent::PerHeap(heap) => {
                let owner = self.history_of;
                if let Some(gc) = self.open(owner) {
                    gc.per_heap(&heap);
                }
                self.background_done();
            }
            RuntimeEvent::MarkWithType { mark_type, bytes } => {
                if let Some(gc) = self.open(current) {
                    gc.mark(mark_type, bytes);
                }
            }
            RuntimeEvent::LohCompact => {
                if let Some(gc) = self.open(current) {
                    gc.loh_compact();
                }
            }
            RuntimeEvent::CommittedUsage { total_bytes } => {
                // The first one of a collection is from before; a background one has no second.
                if let Some(gc) = self.open(current).filter(|gc| !gc.background() && gc.heaps_due.is_some()) {
                    gc.record.committed_bytes = Some(total_bytes);
                }
            }
            RuntimeEvent::GenerationRange { generation, start, used_bytes } => {
                self.bounds_coming.push(Bound { start, bytes: used_bytes, generation });
                if let Some(gc) = self.open(current) {
                    gc.ranges_on = true;
                }
            }
            RuntimeEvent::Moved(ranges) => {
                let keep = self.keep_blocks;
                let owner = self.range_owner();
                let mut bounds = std::mem::take(&mut self.bounds);
                if let Some(gc) = self.open(owner) {
                    gc.moved_event(ranges, &mut bounds, keep);
                }
                self.bounds = bounds;
            }
            RuntimeEvent::Surviving(ranges) => {
                let keep = self.keep_blocks;
                let owner = self.range_owner();
                let mut bounds = std::mem::take(&mut self.bounds);
                if let Some(gc) = self.open(owner) {
                    gc.surviving_event(ranges, &mut bounds, keep);
                }
                self.bounds = bounds;
            }
        }
    }

    /// Survivors that are told in a stop for a background collection (reason 6) are that one's, even
    /// if a foreground one has run since.
    fn range_owner(&mut self) -> Option<Owner> {
        match self.stop_in_force() {
            Some(s) if s.reason == PREPARATION => {
                s.walked = true;
                Some(Owner::Background)
            }
            _ => self.current(),
        }
    }

    fn suspend(&mut self, e: &Occurrence<'_>, reason: u32) {
        // A thread that had to wait for another one's stop to end has stopped nothing until then.
        let begin_ns = e.at_ns.max(self.last_restart_ns);
        let s = Suspension {
            reason,
            begin_ns,
            stopped_ns: None,
            going_on_ns: None,
            over_ns: None,
            owned_from_ns: begin_ns,
            owner: None,
            walked: false,
        };
        self.suspensions.insert(e.thread, s);
    }

    /// The program stands still, and only for this thread: the stop before is over, whether its RestartEEEnd has been
    /// written or not.
    fn stopped(&mut self, e: &Occurrence<'_>) {
        let Some(mut s) = self.suspensions.remove(&e.thread) else { return };
        for before in self.suspensions.values_mut().filter(|b| b.stopped_ns.is_some()) {
            let border_ns = *before.over_ns.get_or_insert(before.border(s.begin_ns));
            s.begin_at_least(border_ns);
        }
        s.stopped_ns = Some(e.at_ns);
        self.suspensions.insert(e.thread, s);
    }

    fn start(&mut self, e: &Occurrence<'_>, number: u32, generation: u32, reason: Reason, kind: u32) {
        let owner = if kind == 1 { Owner::Background } else { Owner::Blocking };
        if let Some(mut unfinished) = self.slot(owner).take() {
            let whole = unfinished.whole();
            if !whole {
                unfinished.record.incomplete.get_or_insert(Incomplete::Lost);
            }
            self.emit(unfinished);
        }
        // The ephemeral collection in a background one's first stop calls itself blocking; so do we.
        let kind = match kind {
            1 => Kind::Background,
            2 => Kind::Foreground,
            _ => Kind::Blocking,
        };
        let mut gc = OpenGc::new(number, generation, reason, kind, e.at_ns);
        gc.record.trigger_reason = self.trigger.take();
        let mut split = None;
        match self.stop_in_force() {
            Some(s) => {
                if let Some(before) = s.owner {
                    split = Some((before, s.owned_from_ns, s.begin_ns, s.stopped_ns));
                    s.owned_from_ns = e.at_ns;
                }
                s.owner = Some(owner);
            }
            // Its stop began before the watch, or was lost.
            None => {
                gc.record.incomplete =
                    Some(if self.seen_gc { Incomplete::Lost } else { Incomplete::BeganBefore })
            }
        }
        if let Some((before, from, begin, stopped)) = split {
            let suspend = (from == begin).then(|| stopped.map(|t| t.saturating_sub(begin))).flatten();
            if let Some(gc) = self.open(Some(before)) {
                let phase = if before == Owner::Background { Phase::Initial } else { Phase::Whole };
                let ns = e.at_ns.saturating_sub(from);
                gc.pause(Pause { phase, at_ns: from, ns, suspend_ns: suspend, caused_by_watching: false });
            }
        }
        self.seen_gc = true;
        self.first_started.get_or_insert(number);
        *self.slot(owner) = Some(gc);
    }

    /// It was announced as a background collection, and then ran in its first stop: the runtime does that
    /// where it has no thread for it yet.
    fn turn_blocking(&mut self) {
        let Some(stop) = self.stop_in_force().filter(|s| s.owner == Some(Owner::Background)) else { return };
        stop.owner = Some(Owner::Blocking);
        if let Some(before) = self.blocking.take() {
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

    /// `end_bounds`: the bounds in hand are those at its end.
    fn gc_end(&mut self, e: &Occurrence<'_>, number: u32, end_bounds: bool) {
        let owner = [Owner::Blocking, Owner::Background]
            .into_iter()
            .find(|o| self.slot(*o).as_ref().is_some_and(|gc| gc.record.number == Some(number)));
        self.last_ended = owner;
        let mut bounds = std::mem::take(&mut self.bounds);
        match self.open(owner) {
            Some(gc) => {
                if end_bounds {
                    gc.end_bounds(&mut bounds);
                }
                gc.record.gc_ns = Some(e.at_ns.saturating_sub(gc.started_ns));
                gc.ended = true;
            }
            None => {
                let mut gc = Gc::unknown(self.told.level());
                gc.number = Some(number);
                // A background one may end after others that started in the watch, or ended in it.
                let before = self.first_started.is_none_or(|first| number < first);
                gc.incomplete = Some(if before { Incomplete::BeganBefore } else { Incomplete::Lost });
                self.identity.follow(&mut gc, None);
                self.finished.push_back(gc);
                self.seen_gc = true;
            }
        }
        self.bounds = bounds;
    }

    fn restart(&mut self, e: &Occurrence<'_>) {
        let Some(s) = self.suspensions.remove(&e.thread) else { return };
        let mut end_ns = s.over_ns.unwrap_or(e.at_ns);
        // Who waits for this stop to end follows at once: the two share no time.
        let waiting = |w: &&mut Suspension| w.stopped_ns.is_none() && w.begin_ns < e.at_ns;
        for next in self.suspensions.values_mut().filter(waiting) {
            end_ns = end_ns.min(s.border(next.begin_ns));
        }
        for next in self.suspensions.values_mut().filter(waiting) {
            next.begin_at_least(end_ns);
        }
        self.last_restart_ns = self.last_restart_ns.max(end_ns);
        let ns = end_ns.saturating_sub(s.owned_from_ns);
        let own = s.owned_from_ns == s.begin_ns;
        let suspend_ns = s.stopped_ns.filter(|_| own).map(|t| t.saturating_sub(s.begin_ns));
        let preparation = s.reason == PREPARATION && self.background.is_some();
        let owner = s.owner.or(preparation.then_some(Owner::Background));
        let Some(owner) = owner else {
            self.other_suspensions.0 += 1;
            self.other_suspensions.1 += ns;
            return;
        };
        let phase = match owner {
            Owner::Blocking => Phase::Whole,
            Owner::Background if s.owner.is_some() => Phase::Initial,
            // There is one final mark; what comes after it is the walk, whoever asked for it.
            Owner::Background if s.walked || self.background.as_ref().is_some_and(OpenGc::marked) => {
                Phase::SurvivorWalk
            }
            Owner::Background => Phase::FinalMark,
        };
        if let Some(gc) = self.open(Some(owner)) {
            gc.pause(Pause { phase, at_ns: s.owned_from_ns, ns, suspend_ns, caused_by_watching: s.walked });
        }
        // A blocking collection is over when the program goes on; so is one nested in a background
        // one's first stop. (It may be another stop's end that is written late.)
        let stopped = self.suspensions.values().any(|s| s.owner == Some(Owner::Blocking));
        if !stopped
            && self.blocking.as_ref().is_some_and(|gc| gc.ended)
            && let Some(mut gc) = self.blocking.take()
        {
            if !gc.whole() {
                gc.record.incomplete.get_or_insert(Incomplete::Lost);
            }
            self.emit(gc);
        }
        self.background_done();
    }

    /// A background collection ends while the program runs: its record is whole when its statistics
    /// are, in whichever order the two kinds of GC send them.
    fn background_done(&mut self) {
        let stopped = self.suspensions.values().any(|s| s.owner == Some(Owner::Background));
        if !stopped
            && self.background.as_ref().is_some_and(OpenGc::whole)
            && let Some(gc) = self.background.take()
        {
            self.emit(gc);
        }
    }

    fn emit(&mut self, mut gc: OpenGc) {
        let mut start_bounds = gc.start_bounds.take();
        let mut gc = gc.close(&mut self.bounds);
        self.identity.follow(&mut gc, start_bounds.as_mut());
        self.told.saw(gc.level);
        self.finished.push_back(gc);
    }

    fn profiler(&mut self, record: Record<'_>) {
        let keep = self.keep_blocks;
        match record {
            Record::Hello(hello) => {
                self.next_seq = None;
                self.told.hello(&hello);
            }
            Record::Note(note) => self.told.note(&note),
            Record::Bounds(b) if keep => self.raw.bounds(&b),
            Record::Moved(m) if keep => self.raw.moved(&m),
            Record::Surviving(s) if keep => self.raw.surviving(&s),
            Record::Roots(r) if keep => self.raw.roots(&r),
            Record::GcTotals(totals) => {
                if let Some(due) = self.next_seq {
                    self.lost_totals += totals.gc_seq.saturating_sub(due);
                }
                self.next_seq = Some(totals.gc_seq.saturating_add(1));
                let raw = std::mem::take(&mut self.raw);
                let number = Some(totals.gc_number).filter(|n| *n != 0);
                let fits = |gc: &&mut OpenGc| number.is_none() || gc.record.number == number;
                if let Some(gc) = self.blocking.as_mut().filter(fits) {
                    profiled::apply(gc, &totals, raw, keep);
                }
            }
            _ => {}
        }
    }
}

/// SUSPEND_FOR_GC_PREP: the stops of a background collection.
const PREPARATION: u32 = 6;
