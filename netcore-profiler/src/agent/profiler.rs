//! The profiler object: all state of the agent, in one static.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::arming::Mask;
use super::bounds::Bounds;
use super::collection::Collection;
use super::events::Events;
use super::graph::state::GraphState;
use super::lease::LeaseState;
use super::names::state::Names;
use super::slots::Slots;
use super::window::WindowState;
use super::zero::Zero;
use crate::com::Object;
use crate::hresult::{HResult, S_OK};
use crate::info::Info;
use crate::wire::{Arming, Load};

/// The phases from loading to detaching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Phase(pub(super) u32);

impl Phase {
    /// Not loaded, or detached.
    pub(super) const IDLE: Self = Self(0);
    /// Inside `Initialize` or `InitializeForAttach`.
    pub(super) const LOADING: Self = Self(1);
    /// Loaded.
    pub(super) const ACTIVE: Self = Self(2);
    /// Leaving: no further collection is armed.
    pub(super) const STOPPING: Self = Self(3);
    /// No collection is armed: callbacks do nothing, our own thread stops everything.
    pub(super) const LEAVING: Self = Self(4);
    /// The detach was requested or refused: no callback calls the runtime.
    pub(super) const GONE: Self = Self(5);
    /// The runtime has shut down.
    pub(super) const SHUT_DOWN: Self = Self(6);
}

zeroed! {
    /// The profiler: the one object that the runtime calls.
    #[derive(Debug)]
    pub struct Profiler {
        pub(super) phase: AtomicU32,
        /// `ICorProfilerInfo12`, from loading to `ProfilerDetachSucceeded`.
        pub(super) info: AtomicPtr<c_void>,
        pub(super) load: AtomicU8,
        /// When it was loaded, by `sys::tick_ns`.
        pub(super) loaded_tick_ns: AtomicU64,
        pub(super) blocks: AtomicBool,
        /// The in-process session for GC events; 0: none.
        pub(super) session: AtomicU64,
        pub(super) mask: Mask,
        pub(super) collection: Collection,
        pub(super) slots: Slots,
        pub(super) bounds: Bounds,
        pub(super) events: Events,
        pub(super) names: Names,
        pub(super) graph: GraphState,
        pub(super) lease: LeaseState,
        pub(super) window: WindowState,
    }
}

static STATE: Profiler = Profiler::ZERO;

pub(super) static PROFILER: Object<Profiler> = Object::new(&STATE);

/// The profiler, for functions that are called without an object.
pub(super) fn profiler() -> &'static Profiler {
    &STATE
}

impl Profiler {
    pub(super) fn phase(&self) -> Phase {
        Phase(self.phase.load(Ordering::SeqCst))
    }

    /// Enters a phase; `false`: the runtime has shut down, which is final.
    pub(super) fn enter(&self, next: Phase) -> bool {
        let step = |now| (now != Phase::SHUT_DOWN.0).then_some(next.0);
        self.phase.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step).is_ok()
    }

    /// The runtime's interface, for callbacks. `None`: the profiler is leaving.
    pub(super) fn info(&self) -> Option<Info> {
        self.info_before(Phase::LEAVING)
    }

    /// The same for our own thread, which calls the runtime until the detach.
    pub(super) fn info_to_leave(&self) -> Option<Info> {
        self.info_before(Phase::GONE)
    }

    fn info_before(&self, end: Phase) -> Option<Info> {
        let phase = self.phase();
        if phase == Phase::IDLE || phase >= end {
            return None;
        }
        // SAFETY: the pointer is set while loading and released only in `detach_succeeded`; afterwards the phase is
        // `IDLE` and the runtime makes no callbacks.
        unsafe { Info::from_pointer(self.info.load(Ordering::Acquire)) }
    }

    pub(super) fn arming(&self) -> Arming {
        if self.mask.is_late() { Arming::LATE } else { Arming::ALWAYS }
    }

    pub(super) fn loaded_by(&self) -> Load {
        Load(self.load.load(Ordering::Relaxed))
    }

    /// `Shutdown`. The runtime must not be called from here on.
    pub(crate) fn shutdown(&self) -> HResult {
        self.phase.store(Phase::SHUT_DOWN.0, Ordering::SeqCst);
        self.names.interrupt();
        S_OK
    }
}
