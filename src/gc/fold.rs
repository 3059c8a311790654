//! Events in, one [`Gc`] per collection out. Knows the order in which the runtime tells things, and
//! what belongs to which collection.

mod profiler;

use netcore_profiler::wire;

use super::events::{self, RuntimeEvent};
use super::generation_bounds::{GenerationBounds, GenerationRange, IncomingBounds};
use super::identity::Identity;
use super::open::OpenGc;
use super::profiled::Raw;
use super::queue::{Naming, Queue};
use super::record::{Gc, Incomplete, Kind, Pause, Phase, Reason};
use super::root_stats::IncomingRootRows;
use super::stops::{Owner, Stop, Stops};
use super::stream_event::StreamEvent;
use super::stream_info::StreamInfo;
use crate::gc::map::{HashMap, HashSet};

/// Threads, or collections, of which something has still to come. A runtime has as many as threads that collect.
const MAX_OPEN_ENDS: usize = 4096;

/// Makes room for one more thread. What the others had still to tell is then missing from their collections' records,
/// which say so.
fn room(of: &mut HashMap<u64, u32>) {
    if of.len() >= MAX_OPEN_ENDS {
        of.clear();
    }
}

/// The fold. Finished records are taken with [`Fold::take`].
#[derive(Debug, Default)]
pub(crate) struct Fold {
    keep_blocks: bool,
    stops: Stops,
    blocking: Option<OpenGc>,
    background: Option<OpenGc>,
    /// Of which collection a thread tells the heap histories, and statistics after the end: those of two collections
    /// may come at the same time, each from its own thread.
    histories: HashMap<u64, u32>,
    ended: HashMap<u64, u32>,
    /// Records that were given up before their end.
    unfinished: HashSet<u32>,
    /// GCTriggered: its reason and its thread.
    trigger: Option<(u32, u64)>,
    bounds: GenerationBounds,
    bounds_coming: IncomingBounds,
    raw: Raw,
    identity: Identity,
    /// Events were lost.
    losses: bool,
    /// The stream tells of blocks (not that of NativeAOT).
    blocks_told: bool,
    queue: Queue,
    root_rows: IncomingRootRows,
    /// Reason and stack of the last request for a collection.
    induced_by: Option<(u32, Vec<u64>)>,
    first_started: Option<u32>,
    /// Stops for a collection in which none started, since the last one that did.
    stops_without_gc: u32,
    next_seq: Option<u64>,
    /// Records of the profiler that are lost (whole collections' totals), cannot be read, or were left out because there
    /// are more than are kept.
    pub(crate) lost_totals: u64,
    /// What the stream tells about the target and the watch.
    pub(crate) stream_info: StreamInfo,
    /// Stops for other reasons: number and ns.
    pub(crate) other_suspensions: (u64, u64),
    /// Time of the last event of the watch, of any kind.
    pub(crate) last_ns: u64,
    cut: bool,
    /// When the profiler found its lease given up: the watch ends there, and what starts later is beyond it.
    pub(crate) lease_lost_ns: Option<u64>,
    /// The profiler that was heard of last was there before this watch: another watch brought it.
    foreign_profiler: bool,
}

impl Fold {
    /// `keep_blocks`: keep every range and root in the records.
    pub(crate) fn new(keep_blocks: bool) -> Fold {
        Fold { keep_blocks, ..Fold::default() }
    }

    /// The next record that will not change any more.
    pub(crate) fn take(&mut self) -> Option<Gc> {
        let gc = self.queue.take(self.last_ns);
        self.lost_totals = self.lost_totals.saturating_add(self.queue.take_left_out());
        gc
    }

    /// A background collection is going on, as far as the stream has told.
    pub(crate) fn background_runs(&self) -> bool {
        self.background.as_ref().is_some_and(|gc| !gc.ended && gc.record.incomplete.is_none())
    }

    /// A collection runs.
    pub(crate) fn runs(&self) -> bool {
        self.blocking.is_some() || self.background_runs()
    }

    /// Events were lost at this point of the stream: what is open can't be trusted any more.
    pub(crate) fn lost(&mut self, events: u64) {
        let open = [&mut self.blocking, &mut self.background].into_iter().flatten();
        for gc in open.chain(self.stops.waiting()) {
            gc.lost();
            gc.record.missing.events = gc.record.missing.events.saturating_add(events);
        }
        self.stops.lost();
        self.trigger = None;
        self.losses = true;
    }

    /// From here on only some threads' events are there: a stop may have ended earlier than it seems, and blocks may
    /// be missing. What is not finished yet is cut off.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
    }

    /// The stream has ended: what is still open is cut off.
    pub(crate) fn end(&mut self) {
        let waiting = self.stops.take_waiting();
        for mut gc in waiting.into_iter().chain(self.background.take()).chain(self.blocking.take()) {
            gc.cut_off();
            self.emit(gc);
        }
        self.queue.over();
    }

    /// Takes in one event.
    pub(crate) fn event(&mut self, e: StreamEvent<'_>) {
        if self.lease_lost_ns.is_none() || self.blocking.is_some() || self.background.is_some() {
            self.last_ns = self.last_ns.max(e.at_ns);
        }
        match e.provider {
            // Of a runtime that starts; others tell it in the rundown.
            events::RUNTIME_PROVIDER if e.id == events::RUNTIME_INFORMATION => {
                self.stream_info.runtime_information(e.payload);
            }
            events::RUNTIME_PROVIDER => {
                if let Some(event) = events::decode(e.id, e.payload, e.pointer_size) {
                    self.runtime(&e, event);
                }
            }
            wire::PROVIDER_NAME => match wire::decode(e.id, e.payload) {
                Ok(record) => self.profiler(e.at_ns, record),
                Err(_) => self.lost_totals = self.lost_totals.saturating_add(1),
            },
            events::EVENTPIPE_PROVIDER if e.id == 1 => self.stream_info.process_info(e.payload),
            events::RUNDOWN_PROVIDER => self.stream_info.rundown(e.id, e.payload),
            _ => {}
        }
    }

    /// Takes in one event for [what the stream says](Fold::stream_info) besides collections. Of blocks that is only that they
    /// are told: no record that comes of it is true.
    pub(crate) fn event_without_blocks(&mut self, e: StreamEvent<'_>) {
        use wire::event_id::{GC_TOTALS, HELLO, NAMES_DONE, NOTE};
        let payload = match e.provider {
            events::RUNTIME_PROVIDER if events::tells_blocks(e.id) => {
                e.payload.get(..events::BLOCKS_HEAD_BYTES).unwrap_or(e.payload)
            }
            wire::PROVIDER_NAME if ![HELLO, GC_TOTALS, NAMES_DONE, NOTE].contains(&e.id) => return,
            _ => e.payload,
        };
        self.event(StreamEvent { payload, ..e });
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

    fn numbered(&mut self, number: Option<u32>) -> Option<&mut OpenGc> {
        let open = [&mut self.blocking, &mut self.background].into_iter().flatten();
        open.into_iter().find(|gc| number.is_some() && gc.record.number == number)
    }

    /// The collection whose own work is going on: the one that started last in the stop in force, or the background
    /// one that the stop is for, or that runs beside the program.
    fn current(&mut self) -> Option<Owner> {
        match self.stops.in_force() {
            Some(stop) => stop.owner.or(stop.for_background.then_some(Owner::Background)),
            // Its stop began before the watch.
            None if self.blocking.as_ref().is_some_and(|gc| !gc.ended) => Some(Owner::Blocking),
            None => Some(Owner::Background),
        }
    }

    fn runtime(&mut self, e: &StreamEvent<'_>, event: RuntimeEvent<'_>) {
        if let RuntimeEvent::GenerationRange { generation, start, used_bytes } = event {
            let follows =
                self.bounds_coming.add(e.thread, GenerationRange { start, bytes: used_bytes, generation });
            self.lost_totals = self.lost_totals.saturating_add(self.bounds_coming.take_left_out());
            // There are hundreds of them in a row, which say the same of the collection.
            let owner = if follows { None } else { self.current() };
            if let Some(gc) = self.open(owner) {
                gc.bounds_told();
            }
            return;
        }
        if let Some(bounds) = self.bounds_coming.interrupted(e.thread) {
            self.bounds = bounds;
        }
        let current = self.current();
        match event {
            RuntimeEvent::Triggered { reason } => self.trigger = Some((reason, e.thread)),
            RuntimeEvent::SuspendBegin { reason } => {
                if let Some(unfinished) = self.stops.begin(e.thread, e.at_ns, reason) {
                    self.stop_lost(unfinished);
                }
            }
            RuntimeEvent::SuspendEnd => self.stopped(e),
            RuntimeEvent::RestartBegin => self.stops.going_on(e.thread, e.at_ns),
            RuntimeEvent::RestartEnd => self.restart(e),
            RuntimeEvent::GcStart { .. } if self.lease_lost_ns.is_some() => {
                if let Some(stop) = self.stops.in_force() {
                    stop.collected = true;
                }
            }
            RuntimeEvent::GcStart { number, generation, reason, kind } => {
                self.start(e, number, generation, Reason(reason), kind);
            }
            RuntimeEvent::GcEnd { number } => self.gc_end(e, number),
            RuntimeEvent::HeapStats(stats) => {
                let number = self.ended.remove(&e.thread);
                if let Some(gc) = self.numbered(number) {
                    gc.heap_stats(&stats);
                }
                self.background_done();
            }
            RuntimeEvent::Global(global) => {
                let owner = if global.concurrent() { Owner::Background } else { Owner::Blocking };
                let full = global.condemned_generation == 2;
                if owner == Owner::Blocking && full && self.blocking.as_ref().is_none_or(|gc| gc.ended) {
                    self.turn_blocking();
                }
                self.stream_info.heaps(global.heaps);
                self.histories.remove(&e.thread);
                if let Some(gc) = self.slot(owner).as_mut().filter(|gc| gc.heaps_due.is_none()) {
                    gc.global_history(global);
                    let number = gc.record.number;
                    room(&mut self.histories);
                    self.histories.extend(number.map(|number| (e.thread, number)));
                }
            }
            RuntimeEvent::PerHeap(heap) => {
                let number = self.histories.get(&e.thread).copied();
                if let Some(gc) = self.numbered(number).filter(|gc| gc.heaps_due != Some(0)) {
                    gc.per_heap(&heap);
                }
                self.background_done();
            }
            RuntimeEvent::MarkWithType { kind, bytes } => {
                if let Some(gc) = self.open(current) {
                    gc.mark(kind, bytes);
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
            RuntimeEvent::GenerationRange { .. } => {}
            RuntimeEvent::Moved(ranges) => {
                self.blocks(current, |gc, bounds, keep| {
                    gc.ranges_event(e.thread, true, ranges, bounds, keep)
                });
            }
            RuntimeEvent::Surviving(ranges) => {
                self.blocks(current, |gc, bounds, keep| {
                    gc.ranges_event(e.thread, false, ranges, bounds, keep)
                });
            }
        }
    }

    /// Books blocks. A background collection tells of its own in a stop of its own.
    fn blocks(&mut self, owner: Option<Owner>, book: impl FnOnce(&mut OpenGc, &mut GenerationBounds, bool)) {
        self.blocks_told = true;
        if let Some(stop) = self.stops.in_force().filter(|stop| stop.for_background) {
            stop.walked = true;
        }
        let keep = self.keep_blocks;
        let mut bounds = std::mem::take(&mut self.bounds);
        if let Some(gc) = self.open(owner) {
            book(gc, &mut bounds, keep);
        }
        self.bounds = bounds;
    }

    /// What stopped the program before has let go, whether it has said so or not.
    fn stopped(&mut self, e: &StreamEvent<'_>) {
        let background_runs = self.background.as_ref().is_some_and(|gc| !gc.ended);
        if let Some(before) = self.stops.stopped(e.thread, e.at_ns, background_runs)
            && before.owner == Some(Owner::Blocking)
        {
            before.waiting = before.waiting.take().or(self.blocking.take().map(Box::new));
        }
    }

    /// Its end will not come any more.
    fn stop_lost(&mut self, mut stop: Stop) {
        if let Some(mut gc) = stop.waiting.take() {
            gc.lost();
            self.emit(*gc);
        }
        let owner = stop.owner.or(stop.for_background.then_some(Owner::Background));
        if let Some(gc) = self.open(owner) {
            gc.lost();
        }
    }

    fn start(&mut self, e: &StreamEvent<'_>, number: u32, generation: u32, reason: Reason, kind: u32) {
        let owner = if kind == 1 { Owner::Background } else { Owner::Blocking };
        // The ephemeral collection in a background one's first stop calls itself blocking; so do we.
        let kind = match kind {
            1 => Kind::Background,
            2 => Kind::Foreground,
            _ => Kind::Blocking,
        };
        let mut gc = OpenGc::new(number, generation, reason, kind, e.at_ns);
        gc.record.profiler_there = self.stream_info.starts(kind == Kind::Background);
        gc.record.stops_without_gc = std::mem::take(&mut self.stops_without_gc);
        let trigger = self.trigger.take();
        gc.record.trigger_reason = trigger.map(|(reason, _)| reason);
        if let (Some((_, by)), Some(thread)) = (trigger, self.stops.collecting()) {
            // With server GC the threads that ask are not those that collect.
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
            unfinished.left();
            self.emit(unfinished);
        }
        self.first_started.get_or_insert(number);
        *self.slot(owner) = Some(gc);
    }

    /// It was announced as a background collection, and then ran in its first stop: the runtime does that
    /// where it has no thread for it yet.
    fn turn_blocking(&mut self) {
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

    fn gc_end(&mut self, e: &StreamEvent<'_>, number: u32) {
        room(&mut self.ended);
        self.ended.insert(e.thread, number);
        let mut bounds = std::mem::take(&mut self.bounds);
        let given_up = self.unfinished.remove(&number) || self.lease_lost_ns.is_some();
        match self.numbered(Some(number)) {
            Some(gc) => {
                if gc.end_bounds_told {
                    gc.end_bounds(&mut bounds);
                }
                gc.record.gc_ns = Some(e.at_ns.saturating_sub(gc.started_ns));
                gc.ended = true;
            }
            // Its record had to go without.
            None if given_up => {}
            None => {
                let mut gc = Gc::unknown(self.stream_info.usual_level());
                gc.number = Some(number);
                // A background one may end after others that started in the watch, or ended in it.
                let before = self.first_started.is_none_or(|first| number < first);
                gc.incomplete = Some(match before {
                    true => Incomplete::BeganBefore,
                    false if self.cut => Incomplete::EndedAfter,
                    false => Incomplete::Lost,
                });
                self.identity.follow(&mut gc, None);
                self.queue.push(gc, Naming::default(), e.at_ns);
                // Else its start was lost, and with it how the stop is shared out.
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

    fn restart(&mut self, e: &StreamEvent<'_>) {
        let Some((mut stop, end_ns)) = self.stops.end(e.thread, e.at_ns) else {
            if !self.stops.holds(Owner::Blocking) {
                // The end of a stop whose begin is not known.
                self.blocking_done();
            }
            return;
        };
        let ns = stop.owned_ns(end_ns);
        if !stop.sure() {
            // It is not known when, or whether, it stopped the program.
            return;
        }
        let marked = self.background.as_ref().is_some_and(OpenGc::marked);
        let phase = match stop.owner {
            Some(Owner::Blocking) => Phase::Whole,
            Some(Owner::Background) => Phase::Initial,
            // There is one final mark; what comes after it is the walk, whoever asked for it.
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

    /// A blocking collection is over when the program goes on, or the next one starts in the same stop; so is one
    /// nested in a background one's first stop.
    fn blocking_done(&mut self) {
        if let Some(gc) = self.blocking.take_if(|gc| gc.ended) {
            self.blocking_over(gc);
        }
    }

    fn blocking_over(&mut self, mut gc: OpenGc) {
        if !gc.whole() {
            gc.left();
        }
        self.emit(gc);
    }

    /// A background collection ends while the program runs: its record is whole when its statistics
    /// are, in whichever order the two kinds of GC send them.
    fn background_done(&mut self) {
        if !self.stops.holds(Owner::Background)
            && let Some(gc) = self.background.take_if(|gc| gc.whole())
        {
            self.emit(gc);
        }
    }

    fn emit(&mut self, mut gc: OpenGc) {
        if !gc.ended {
            if self.unfinished.len() >= MAX_OPEN_ENDS {
                // An end that comes all the same is a record of its own, which says that it is not whole.
                self.unfinished.clear();
            }
            self.unfinished.extend(gc.record.number);
        }
        let mut start_bounds = gc.start_bounds.take();
        if self.cut {
            gc.cut_short();
        }
        let naming = std::mem::take(&mut gc.naming);
        let mut gc = gc.close(&mut self.bounds, self.blocks_told);
        self.identity.follow(&mut gc, start_bounds.as_mut());
        self.stream_info.saw(gc.level);
        self.queue.push(gc, naming, self.last_ns);
    }
}
