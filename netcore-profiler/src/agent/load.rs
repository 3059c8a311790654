//! How the profiler is loaded.

use core::ffi::c_void;
use core::slice;
use core::sync::atomic::Ordering;

use super::delivered;
use super::hello::provider_switched;
use super::lease::CHECK_LISTENER;
use super::lease_thread::lease_thread;
use super::names::thread::names_thread;
use super::profiler::{PROFILER, Phase, Profiler};
use super::text::{terminated, utf8, utf16};
use crate::build_options::{EVENTS_ARE_DELIVERED, PLAIN};
use crate::config::{self, Config, ConfigError};
use crate::hresult::{
    CONFIG_MALFORMED, CONFIG_MISSING, CONFIG_VERSION, HResult, NO_LEASE, NO_MEMORY, NO_PROVIDER, NO_THREAD,
    NOT_PINNED, RUNTIME_TOO_OLD, S_OK, STILL_LEAVING, succeeded,
};
use crate::info::{IID_INFO12, IID_INFO14, Info};
use crate::sys;
use crate::wire::{Arming, Load, NoteCode};

const VARIABLE: [u16; 32] = utf16(config::VARIABLE);

impl Profiler {
    /// `Initialize`: loaded at startup, before there is a heap.
    ///
    /// # Safety
    /// `unknown` is null or a COM object of the runtime.
    pub(crate) unsafe fn initialize(&self, unknown: *mut c_void) -> HResult {
        // SAFETY: by the contract.
        let Ok(info) = (unsafe { Info::query(unknown, &IID_INFO12) }) else { return RUNTIME_TOO_OLD };
        let mut units = [0_u16; config::MAX_LENGTH + 1];
        let mut bytes = [0_u8; 3 * config::MAX_LENGTH];
        let answer = match info.environment_variable(terminated(&VARIABLE), &mut units) {
            Ok(0) | Err(_) => CONFIG_MISSING,
            Ok(length) => match utf8(units.get(..length).unwrap_or_default(), &mut bytes) {
                // SAFETY: `unknown` as above.
                Some(text) => unsafe { self.load(unknown, info, Load::STARTUP, text) },
                None => CONFIG_MALFORMED,
            },
        };
        // Neither the program nor its children should see it.
        info.remove_environment_variable(terminated(&VARIABLE));
        self.release_if_failed(info, answer)
    }

    /// `InitializeForAttach`: loaded into a running process.
    ///
    /// # Safety
    /// `unknown` is null or a COM object of the runtime; `data` is null or has `length` bytes.
    pub(crate) unsafe fn initialize_for_attach(
        &self,
        unknown: *mut c_void,
        data: *const c_void,
        length: u32,
    ) -> HResult {
        // SAFETY: by the contract.
        let Ok(info) = (unsafe { Info::query(unknown, &IID_INFO12) }) else { return RUNTIME_TOO_OLD };
        let answer = if data.is_null() || length == 0 {
            CONFIG_MISSING
        } else {
            // SAFETY: not null, and `length` bytes long by the contract.
            let bytes = unsafe { slice::from_raw_parts(data.cast::<u8>(), length as usize) };
            match core::str::from_utf8(bytes) {
                // SAFETY: `unknown` as above.
                Ok(text) => unsafe { self.load(unknown, info, Load::ATTACH, text) },
                Err(_) => CONFIG_MALFORMED,
            }
        };
        self.release_if_failed(info, answer)
    }

    /// Releases the interface if loading failed.
    fn release_if_failed(&self, info: Info, answer: HResult) -> HResult {
        if !succeeded(answer) {
            if self.info.load(Ordering::SeqCst) == info.pointer() && self.phase() == Phase::IDLE {
                self.release_info();
            } else {
                info.release();
            }
        }
        answer
    }

    /// # Safety
    /// `unknown` is a COM object of the runtime.
    unsafe fn load(&self, unknown: *mut c_void, info: Info, load: Load, text: &str) -> HResult {
        let config = match Config::parse(text) {
            Ok(config) => config,
            Err(ConfigError::Version) => return CONFIG_VERSION,
            Err(ConfigError::Malformed) => return CONFIG_MALFORMED,
        };
        let (idle, loading) = (Phase::IDLE.0, Phase::LOADING.0);
        if !self.lease.thread_has_ended()
            || !self.names.thread_has_ended()
            || !self.graph.thread_has_ended()
            || self.phase.compare_exchange(idle, loading, Ordering::SeqCst, Ordering::SeqCst).is_err()
        {
            return STILL_LEAVING;
        }
        self.info.store(info.pointer(), Ordering::SeqCst);
        // SAFETY: by the contract.
        let info14 = unsafe { Info::query(unknown, &IID_INFO14) }.ok();
        let answer = self.set_up(info, info14, load, &config);
        if let Some(info14) = info14 {
            info14.release();
        }
        if succeeded(answer) {
            self.enter(Phase::ACTIVE);
        } else {
            self.lease.close();
            self.enter(Phase::IDLE);
        }
        answer
    }

    /// What can fail comes before the mask is set, because the runtime disables background collections then. There are
    /// no callbacks before that, and setting it makes what is stored here visible to the threads that call back.
    fn set_up(&self, info: Info, info14: Option<Info>, load: Load, config: &Config<'_>) -> HResult {
        if !sys::pin(PROFILER.pointer()) {
            return NOT_PINNED;
        }
        self.load.store(load.0, Ordering::Relaxed);
        self.loaded_tick_ns.store(sys::tick_ns(), Ordering::Relaxed);
        self.blocks.store(config.blocks, Ordering::Relaxed);
        self.window.begin(config.window);
        self.session.store(0, Ordering::SeqCst);
        self.collection.reset();
        self.lease.clear_requests();
        let knows_frozen = info14.is_some_and(|info14| info14.pointer() == info.pointer());
        if !self.names.prepare(info, config.names, knows_frozen) {
            return NO_MEMORY;
        }
        if !self.slots.prepare(config.blocks) || !self.bounds.prepare() {
            return NO_MEMORY;
        }
        if self.events.prepare(info, info14, provider_switched).is_err() {
            return NO_PROVIDER;
        }
        self.lease.connect(config.lease);
        self.graph.prepare(config.lease);
        // A sampling watch listens to the provider between its windows, too.
        let listener_counts = self.events.has_callback() && config.window.is_none();
        if config.lease.is_some() && !self.lease.is_connected() && !listener_counts {
            // Nothing would tell us when to leave.
            return NO_LEASE;
        }
        if !self.lease.start_thread(lease_thread) || !self.names.start_thread(names_thread) {
            return NO_THREAD;
        }
        // Late arming needs delivered events.
        let late = config.arming != Arming::ALWAYS && EVENTS_ARE_DELIVERED && !PLAIN;
        let answer = self.mask.load(info, late, config.names);
        if !succeeded(answer) {
            return answer;
        }
        if load == Load::ATTACH {
            // Background collections are disabled now. While the flag is on, the runtime walks the heap in each
            // collection even before loading is over, so clear it as soon as possible.
            self.mask.settle(info);
        }
        if let (Load::STARTUP, Some(name)) = (load, config.unset) {
            sys::unset_environment(name);
        }
        match delivered::start_session(info) {
            Ok(session) => self.session.store(session, Ordering::SeqCst),
            Err(answer) => self.give_up_late_arming(info, NoteCode::SESSION_FAILED, answer),
        }
        if EVENTS_ARE_DELIVERED {
            self.start_handle_session(info);
        }
        self.lease.clear_requests();
        if config.lease.is_some() && !self.lease.is_connected() {
            // gcwatch may have given up before the runtime loaded us. Then nobody has enabled the provider, and nobody
            // will disable it.
            self.lease.request(CHECK_LISTENER);
        }
        self.write_hello(info);
        S_OK
    }

    /// `ProfilerAttachComplete`: loading is over.
    pub(crate) fn attach_complete(&self) -> HResult {
        if let Some(info) = self.info() {
            self.mask.settle(info);
        }
        S_OK
    }
}
