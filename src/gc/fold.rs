//! Turns events into one [`Gc`] per collection. Knows the order of the runtime's events, and which collection each
//! event belongs to.

mod lifetime;
mod profiler;
mod runtime;
mod stopped;

use netcore_profiler::wire;

use super::allocations::{self, Allocations};
use super::callers::{Callers, StackNumber};
use super::events;
use super::generation_bounds::{GenerationBounds, IncomingBounds};
use super::identity::Identity;
use super::open::OpenGc;
use super::profiled::Raw;
use super::queue::Queue;
use super::record::Gc;
use super::root_stats::IncomingRootRows;
use super::stops::{Owner, Stops};
use super::stream_event::StreamEvent;
use super::stream_info::StreamInfo;
use crate::gc::map::{HashMap, HashSet};

/// Threads, or collections, that have more events to send. A runtime has no more than it has GC threads.
const MAX_OPEN_ENDS: usize = 4096;

/// Makes room for one more thread. The other threads' later events are then missing in the records of their
/// collections, which are marked as incomplete.
fn make_room(of: &mut HashMap<u64, u32>) {
    if of.len() >= MAX_OPEN_ENDS {
        of.clear();
    }
}

/// The collections that are going on. [`Fold::take`] returns finished records.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    keep_blocks: bool,
    stops: Stops,
    blocking: Option<OpenGc>,
    background: Option<OpenGc>,
    /// The collection that a thread's heap histories belong to, and the one that its statistics after the end belong
    /// to. Those of two collections may come at the same time, each from its own thread.
    histories: HashMap<u64, u32>,
    ended: HashMap<u64, u32>,
    /// Collections whose records were finished before their end came.
    unfinished: HashSet<u32>,
    /// GCTriggered: its reason, its thread and its stack.
    trigger: Option<(u32, u64, Option<StackNumber>)>,
    /// The stacks of the runtime's events.
    pub(crate) callers: Callers,
    /// The samples of allocations.
    pub(crate) allocations: Allocations,
    bounds: GenerationBounds,
    bounds_coming: IncomingBounds,
    raw: Raw,
    identity: Identity,
    /// Events were lost.
    losses: bool,
    /// The stream has events of ranges. That of NativeAOT has none.
    ranges_seen: bool,
    queue: Queue,
    root_rows: IncomingRootRows,
    /// Reason and stack of the last call that induced a collection.
    induced_by: Option<(u32, Vec<u64>)>,
    first_started: Option<u32>,
    /// Stops for a collection in which none started, since the last stop in which one did.
    stops_without_gc: u32,
    next_seq: Option<u64>,
    /// Records of the profiler that are lost (totals of collections), that cannot be read, or that are more than are
    /// kept.
    pub(crate) lost_totals: u64,
    /// What the stream says about the target and the watch.
    pub(crate) stream_info: StreamInfo,
    /// Stops for other reasons: number and ns.
    pub(crate) other_suspensions: (u64, u64),
    /// Time of the last event of the watch, of any kind.
    pub(crate) last_ns: u64,
    cut: bool,
    /// When the profiler found that its lease was lost. The watch ends there, and later collections are not part of it.
    pub(crate) lease_lost_ns: Option<u64>,
    /// The last profiler that said hello was there before this watch: another watch loaded it.
    foreign_profiler: bool,
}

impl Fold {
    /// `keep_blocks`: keep every range and root in the records.
    pub(crate) fn new(keep_blocks: bool) -> Fold {
        Fold { keep_blocks, ..Fold::default() }
    }

    /// The next finished record.
    pub(crate) fn take(&mut self) -> Option<Gc> {
        let gc = self.queue.take(self.last_ns);
        self.lost_totals = self.lost_totals.saturating_add(self.queue.take_left_out());
        gc
    }

    /// Whether a background collection is going on, as far as is known.
    pub(crate) fn background_runs(&self) -> bool {
        self.background.as_ref().is_some_and(|gc| !gc.ended && gc.record.incomplete.is_none())
    }

    /// Whether a collection is going on.
    pub(crate) fn runs(&self) -> bool {
        self.blocking.is_some() || self.background_runs()
    }

    /// Events were lost at this point of the stream. They may belong to each collection that is open.
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

    /// From here on the stream has the events of some threads only: a stop may have ended earlier than it seems, and
    /// blocks may be missing. Collections that are not finished yet are truncated.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
    }

    /// The stream has ended. Collections that are still open are truncated.
    pub(crate) fn end(&mut self) {
        let waiting = self.stops.take_waiting();
        for mut gc in waiting.into_iter().chain(self.background.take()).chain(self.blocking.take()) {
            gc.cut_off();
            self.emit(gc);
        }
        self.queue.over();
        self.callers.end();
    }

    /// Applies one event.
    pub(crate) fn event(&mut self, e: StreamEvent<'_>) {
        if self.lease_lost_ns.is_none() || self.blocking.is_some() || self.background.is_some() {
            self.last_ns = self.last_ns.max(e.at_ns);
        }
        match e.provider {
            // Sent at the runtime's start. A runtime that is attached to sends it in the rundown.
            events::RUNTIME_PROVIDER if e.id == events::RUNTIME_INFORMATION => {
                self.stream_info.runtime_information(e.payload);
            }
            events::RUNTIME_PROVIDER if allocations::is_sample(e.id) => {
                let stack = self.callers.stack(e.stack, e.pointer_size);
                self.allocations.event(e.id, e.payload, e.pointer_size, stack);
            }
            events::RUNTIME_PROVIDER => {
                self.callers.runtime_event(e.id, e.payload, e.at_ns);
                if let Some(event) = events::decode(e.id, e.payload, e.pointer_size) {
                    self.runtime(&e, event);
                }
            }
            wire::PROVIDER_NAME => match wire::decode(e.id, e.payload) {
                Ok(record) => self.profiler(e.at_ns, record),
                Err(_) => self.lost_totals = self.lost_totals.saturating_add(1),
            },
            events::EVENTPIPE_PROVIDER if e.id == 1 => self.stream_info.process_info(e.payload),
            events::RUNDOWN_PROVIDER => {
                self.callers.rundown_event(e.id, e.payload, e.at_ns);
                self.stream_info.rundown(e.id, e.payload);
            }
            _ => {}
        }
    }

    /// Applies one event for the [stream info](Fold::stream_info) only. It leaves out the ranges of blocks, so the
    /// records that come of it are wrong.
    pub(crate) fn event_without_blocks(&mut self, e: StreamEvent<'_>) {
        use wire::event_id::{GC_TOTALS, GRAPH_PAUSE, HELLO, NAMES_DONE, NOTE};
        let payload = match e.provider {
            events::RUNTIME_PROVIDER if events::tells_blocks(e.id) => {
                e.payload.get(..events::BLOCKS_HEAD_BYTES).unwrap_or(e.payload)
            }
            events::RUNTIME_PROVIDER if allocations::is_sample(e.id) => return,
            wire::PROVIDER_NAME if ![HELLO, GC_TOTALS, GRAPH_PAUSE, NAMES_DONE, NOTE].contains(&e.id) => {
                return;
            }
            _ => e.payload,
        };
        self.event(StreamEvent { payload, stack: &[], ..e });
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

    /// The collection that works now: the one that started last in the current stop, or the background collection that
    /// the stop is for, or that runs beside the program.
    fn current(&mut self) -> Option<Owner> {
        match self.stops.in_force() {
            Some(stop) => stop.owner.or(stop.for_background.then_some(Owner::Background)),
            // Its stop began before the watch.
            None if self.blocking.as_ref().is_some_and(|gc| !gc.ended) => Some(Owner::Blocking),
            None => Some(Owner::Background),
        }
    }
}
