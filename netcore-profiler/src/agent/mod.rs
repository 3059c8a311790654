//! What happens inside the watched process.
//!
//! Everything the callbacks touch is made before the first of them and lives as long as the process:
//! atomics in one static, and memory mapped once. They take no lock, allocate nothing and cannot
//! panic. One thread of our own (`lease`) does all that must not be done inside a collection.

mod accumulator;
mod arming;
mod bounds;
mod collection;
mod delivered;
mod events;
mod factory;
mod finished;
mod lease;
mod leave;
mod load;
mod names;
mod references;
mod slots;
mod text;
mod window;

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use crate::com::Object;
use crate::hresult::HResult;
use crate::info::Info;
use crate::wire::{Arming, Load};

pub use factory::{DllGetClassObject, gcwatch_profiler_abi};

/// How far along the profiler's stay in the process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Phase(u32);

impl Phase {
    /// Not loaded, or detached.
    const IDLE: Self = Self(0);
    /// Inside `Initialize` or `InitializeForAttach`.
    const LOADING: Self = Self(1);
    /// Watching.
    const ACTIVE: Self = Self(2);
    /// Asked to leave: no collection is armed any more.
    const STOPPING: Self = Self(3);
    /// No collection is armed: callbacks do nothing, our own thread is taking everything down.
    const LEAVING: Self = Self(4);
    /// Detach was requested, or refused: nothing is called.
    const GONE: Self = Self(5);
    /// The runtime has shut down.
    const SHUT_DOWN: Self = Self(6);
}

/// The profiler: the one object that the runtime calls.
#[derive(Debug)]
pub struct Profiler {
    phase: AtomicU32,
    /// `ICorProfilerInfo12`, from loading to `ProfilerDetachSucceeded`.
    info: AtomicPtr<c_void>,
    load: AtomicU8,
    /// When it was loaded last, by [`sys::tick_ns`].
    loaded_tick_ns: AtomicU64,
    blocks: AtomicBool,
    /// The in-process session, 0 where there is none.
    session: AtomicU64,
    mask: arming::Mask,
    collection: collection::Collection,
    slots: slots::Slots,
    bounds: bounds::Bounds,
    events: events::Events,
    names: names::Names,
    lease: lease::State,
    window: window::State,
}

static STATE: Profiler = Profiler {
    phase: AtomicU32::new(0),
    info: AtomicPtr::new(ptr::null_mut()),
    load: AtomicU8::new(0),
    loaded_tick_ns: AtomicU64::new(0),
    blocks: AtomicBool::new(false),
    session: AtomicU64::new(0),
    mask: arming::Mask::new(),
    collection: collection::Collection::new(),
    slots: slots::Slots::new(),
    bounds: bounds::Bounds::new(),
    events: events::Events::new(),
    names: names::Names::new(),
    lease: lease::State::new(),
    window: window::State::new(),
};

static PROFILER: Object<Profiler> = Object::new(&STATE);

/// The profiler, for code that the runtime calls without an object.
fn profiler() -> &'static Profiler {
    &STATE
}

impl Profiler {
    fn phase(&self) -> Phase {
        Phase(self.phase.load(Ordering::SeqCst))
    }

    /// Goes on to a phase, unless the runtime has shut down, which is final.
    fn enter(&self, next: Phase) -> bool {
        let step = |now| (now != Phase::SHUT_DOWN.0).then_some(next.0);
        self.phase.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step).is_ok()
    }

    /// The runtime's interface, for callbacks: as long as there is something to report.
    fn info(&self) -> Option<Info> {
        self.info_before(Phase::LEAVING)
    }

    /// The same for our own thread, which calls it a little longer.
    fn info_to_leave(&self) -> Option<Info> {
        self.info_before(Phase::GONE)
    }

    fn info_before(&self, end: Phase) -> Option<Info> {
        let phase = self.phase();
        if phase == Phase::IDLE || phase >= end {
            return None;
        }
        // SAFETY: the pointer is set while loading and released only in `detach_succeeded`, after
        // which the phase is `IDLE` and the runtime makes no callbacks.
        unsafe { Info::from_pointer(self.info.load(Ordering::Acquire)) }
    }

    fn arming(&self) -> Arming {
        if self.mask.is_late() { Arming::LATE } else { Arming::ALWAYS }
    }

    fn loaded_by(&self) -> Load {
        Load(self.load.load(Ordering::Relaxed))
    }

    /// `Shutdown`: the runtime is about to go. Nothing is called into it from here on.
    pub(crate) fn shutdown(&self) -> HResult {
        self.phase.store(Phase::SHUT_DOWN.0, Ordering::SeqCst);
        self.names.interrupt();
        crate::hresult::S_OK
    }
}
