//! Names: what holds the heap, by identifiers and facts inside the pause, in words outside of it.
//!
//! While the world stands still, objects and frames are there, so their classes and methods are, too:
//! only then are facts read. They are structure alone. What a token is called is read by a thread of
//! our own. A module may be unloaded meanwhile: that is noted, so that what was seen of it before is not touched any
//! more, and then its unloading waits at a gate for the one definition that is being read.

mod budget;
mod creators;
mod facts;
mod handles;
mod holders;
mod known;
mod modules;
mod pace;
mod queue;
mod resolver;
mod stack;
mod statics;
mod survey;
mod trigger;

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use super::{Phase, Profiler, profiler};
use crate::hresult::{HResult, S_OK};
use crate::info::Info;
use crate::sys;
use crate::wire::event_id;

/// How long the runtime's end is held up for a definition that is being read.
const END_WAITS_MS: u32 = 1000;
/// How long leaving waits for our thread.
const THREAD_ENDS_MS: u32 = 10_000;

#[derive(Debug)]
pub(super) struct Names {
    on: AtomicBool,
    /// Frozen objects can be told (`ICorProfilerInfo14`).
    knows_frozen: AtomicBool,
    known: known::Known,
    definitions: known::Definitions,
    queue: queue::Queue,
    modules: modules::Modules,
    gate: modules::Gate,
    creators: creators::Creators,
    handles: handles::Handles,
    budget: budget::Budget,
    fields: statics::Fields,
    /// Classes whose static fields are all known.
    looked: known::Definitions,
    schedule: survey::Schedule,
    pub(super) roots: holders::Roots,
    /// The last collection that waits for names.
    wanted: AtomicU64,
    /// The last collection whose names were said to be complete.
    told: AtomicU64,
    /// Requests that have been dealt with, of [`queue::Queue::count`].
    done: AtomicU64,
    /// Our thread waits for it to change.
    bell: AtomicU32,
    /// Identifiers told so far may be used anew, which nobody has been told yet.
    void: AtomicBool,
    /// Definitions are to be told again.
    again: AtomicBool,
    /// A name was not asked for, since there was no room.
    missed: AtomicBool,
    thread_runs: AtomicBool,
}

impl Names {
    pub(super) const fn new() -> Self {
        Self {
            on: AtomicBool::new(false),
            knows_frozen: AtomicBool::new(false),
            known: known::Known::new(),
            definitions: known::Definitions::new(),
            queue: queue::Queue::new(),
            modules: modules::Modules::new(),
            gate: modules::Gate::new(),
            creators: creators::Creators::new(),
            handles: handles::Handles::new(),
            budget: budget::Budget::new(),
            fields: statics::Fields::new(),
            looked: known::Definitions::new(),
            schedule: survey::Schedule::new(),
            roots: holders::Roots::new(),
            wanted: AtomicU64::new(0),
            told: AtomicU64::new(0),
            done: AtomicU64::new(0),
            bell: AtomicU32::new(0),
            void: AtomicBool::new(false),
            again: AtomicBool::new(false),
            missed: AtomicBool::new(false),
            thread_runs: AtomicBool::new(false),
        }
    }

    /// Makes everything ready for a stay with or without names. The thread does not run.
    pub(super) fn prepare(&self, info: Info, on: bool, knows_frozen: bool) -> bool {
        self.on.store(on, SeqCst);
        self.knows_frozen.store(knows_frozen, SeqCst);
        if !on {
            return true;
        }
        stack::prepare(info);
        let ready = self.known.prepare()
            && self.definitions.prepare()
            && self.queue.prepare()
            && self.modules.prepare()
            && self.creators.prepare()
            && self.handles.prepare()
            && self.fields.prepare()
            && self.looked.prepare()
            && self.roots.prepare();
        self.budget.reset(sys::tick_ns());
        self.schedule.reset(self.modules.now());
        self.wanted.store(0, SeqCst);
        self.told.store(0, SeqCst);
        self.done.store(self.queue.count(), SeqCst);
        self.missed.store(false, SeqCst);
        ready
    }

    pub(super) fn are_on(&self) -> bool {
        self.on.load(SeqCst)
    }

    /// Some names that were asked for have not been sent.
    fn are_pending(&self) -> bool {
        self.queue.count() != self.done.load(SeqCst)
    }

    /// Wakes our thread.
    fn ring(&self) {
        self.bell.fetch_add(1, SeqCst);
        sys::wake(&self.bell);
    }

    /// Starts the thread where it is needed. It waits until loading is over.
    pub(super) fn start_thread(&self) -> bool {
        if !self.are_on() {
            return true;
        }
        self.thread_runs.store(true, SeqCst);
        let started = sys::spawn(thread);
        if !started {
            self.thread_runs.store(false, SeqCst);
        }
        started
    }

    /// Whether a thread of this or an earlier stay has not ended yet.
    pub(super) fn is_thread_running(&self) -> bool {
        self.thread_runs.load(SeqCst) || self.handles.are_ending()
    }

    /// Whether the threads of this or an earlier stay have ended; waits for them.
    pub(super) fn thread_has_ended(&self) -> bool {
        let mut left_ms = THREAD_ENDS_MS;
        while self.is_thread_running() {
            if left_ms == 0 {
                return false;
            }
            self.ring();
            sys::sleep_ms(1);
            left_ms = left_ms.saturating_sub(1);
        }
        true
    }

    /// Waits for the definition that is being read, if any. The phase tells our thread not to begin
    /// with another.
    pub(super) fn interrupt(&self) {
        if self.are_on() {
            self.gate.wait(Some(END_WAITS_MS));
        }
    }
}

extern "C" fn thread() {
    sys::name_thread(c"gcwatch-names");
    let profiler = profiler();
    while profiler.phase() == Phase::LOADING {
        sys::sleep_ms(1);
    }
    profiler.resolve_names();
    profiler.names.thread_runs.store(false, SeqCst);
}

impl Profiler {
    /// `ModuleUnloadStarted`: everything that was told of a module ends here, and so may anything
    /// that is made of its types.
    pub(crate) fn module_unload_started(&self, module: usize) -> HResult {
        // Our thread may still be reading when the profiler is on its way out, so the phase is not asked.
        if !self.names.are_on() {
            return S_OK;
        }
        // Facts that are kept first: who reads them stamps before, so what is stamped later finds them marked.
        self.names.creators.unloaded(module);
        self.names.modules.unloaded(module);
        self.tell_names_again();
        // What is being read now may be of this module: it stays until that is over.
        let ends = self.phase() == Phase::SHUT_DOWN;
        self.names.gate.wait(ends.then_some(END_WAITS_MS));
        S_OK
    }

    /// Everything is told again.
    pub(super) fn tell_names_again(&self) {
        self.names.known.forget();
        self.names.void.store(true, SeqCst);
    }

    /// Before a collection's names: sees to it that none has to go without. Days of new types wear nothing out.
    fn make_room_for_names(&self) {
        let names = &self.names;
        if names.known.is_worn() {
            self.tell_names_again();
        } else if !names.are_pending() && names.missed.swap(false, SeqCst) {
            // The queue was full, and is empty now: what was not asked for then is, as it comes again.
            names.known.forget();
        }
    }

    /// Says that identifiers are void, where they are, before any is used again.
    fn settle_names(&self, info: Info) {
        if self.names.void.swap(false, SeqCst) {
            self.events.write_payload(info, event_id::FORGET, &[]);
            // What was told between the unloading and now is forgotten by the reader, too.
            self.names.again.store(true, SeqCst);
            self.names.known.forget();
        }
    }

    /// The runtime's interface, for our thread.
    fn info_to_name(&self) -> Option<Info> {
        self.info().filter(|_| self.phase() == Phase::ACTIVE)
    }
}
