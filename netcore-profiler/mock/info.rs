//! `ICorProfilerInfo` to `ICorProfilerInfo14`, as far as the profiler uses them. Any other method fails the test.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::Functions;
use super::calls::{self, Calls};
use super::world::{self, World};
use netcore_profiler::com::Guid;
use netcore_profiler::hresult::{E_NOINTERFACE, HResult, S_OK};
use netcore_profiler::info::{
    GenerationRange, IID_INFO12, IID_INFO14, MONITOR_GC, ParamDesc, ProviderCallback, ProviderConfig,
};
use netcore_profiler::wire::{self, GcTotals, Hello, NoteCode, Record};

const SLOTS: usize = 115;
/// `CORPROF_E_CONCURRENT_GC_NOT_PROFILABLE`, the result of refused calls.
pub const REFUSED: HResult = 0x8013_1376_u32 as i32;
pub const RUNTIME_PROVIDER: usize = 0x7000;
const OUR_PROVIDER: usize = 0x8000;
pub const SESSION: u64 = 0x5e55;
/// `HRESULT` of `ERROR_ENVVAR_NOT_FOUND`.
const NOT_FOUND: HResult = 0x8007_00cb_u32 as i32;
const HANDLE_SESSION: u64 = 0x5e56;
const EMPTY_SESSION: u64 = 0x5e57;

/// An event that the profiler wrote.
#[derive(Debug, Clone)]
pub struct Written {
    pub id: u32,
    pub payload: Vec<u8>,
}

/// A table of functions.
#[derive(Debug)]
#[repr(C)]
pub struct Table<const SLOTS: usize>([*const c_void; SLOTS]);

// SAFETY: the pointers are to functions.
unsafe impl<const SLOTS: usize> Sync for Table<SLOTS> {}
// SAFETY: as above.
unsafe impl<const SLOTS: usize> Send for Table<SLOTS> {}

impl<const SLOTS: usize> Table<SLOTS> {
    /// These functions, and `other` in all other slots.
    pub fn of(functions: Functions, other: *const c_void) -> Self {
        let mut table = [other; SLOTS];
        for (slot, function) in functions {
            table[slot] = function;
        }
        Self(table)
    }
}

impl Default for &Table<SLOTS> {
    fn default() -> Self {
        let mut functions = functions();
        functions.push((2, release as *const c_void));
        // Threads have no ids here, and neither modules nor compiled methods are listed.
        functions.extend([13, 57, 66].map(|slot| (slot, world::nothing as *const c_void)));
        functions.extend(world::functions());
        functions.extend(calls::functions());
        Box::leak(Box::new(Table::of(functions, unexpected as *const c_void)))
    }
}

/// The runtime. It is never freed, because the library may call it from its own threads.
#[derive(Default)]
#[repr(C)]
pub struct Clr {
    table: &'static Table<SLOTS>,
    pub references: AtomicU32,
    /// Whether there is no `ICorProfilerInfo12`, or no `ICorProfilerInfo14`.
    pub lacks_info12: AtomicBool,
    pub lacks_info14: AtomicBool,
    pub environment: Mutex<HashMap<String, String>>,
    /// Every mask that was set, refused ones too.
    pub masks: Mutex<Vec<(u32, u32)>>,
    mask: Mutex<(u32, u32)>,
    /// How many more times the flag is refused.
    pub refusals: AtomicU32,
    pub bounds: Mutex<Vec<GenerationRange>>,
    pub written: Mutex<Vec<Written>>,
    pub providers_made: AtomicU32,
    pub events_defined: AtomicU32,
    switched: Mutex<Option<ProviderCallback>>,
    pub session: AtomicU64,
    pub handle_sessions: AtomicU32,
    /// Whether handle events are enabled, even if no session listens.
    pub makes_handle_events: AtomicBool,
    pub fails_sessions: AtomicBool,
    pub detach_requests: AtomicU32,
    /// How many more of them are refused.
    pub detach_refusals: AtomicU32,
    pub calls_after: AtomicU32,
    /// From here on no call is allowed.
    pub is_over: AtomicBool,
    pub world: World,
    pub calls: Calls,
    /// The id of an event whose writing is held up, 0: none; and whether one is held up.
    pub held_event: AtomicU32,
    pub is_held: AtomicBool,
}

impl Clr {
    /// A runtime like .NET 8 and later.
    pub fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    /// The `IUnknown` that `Initialize` gets.
    pub fn unknown(&self) -> *mut c_void {
        ptr::from_ref(self).cast_mut().cast()
    }

    pub fn mask(&self) -> (u32, u32) {
        *lock(&self.mask)
    }

    pub fn is_armed(&self) -> bool {
        self.mask().0 & MONITOR_GC != 0
    }

    /// A first listener of the profiler's provider comes, or the last one goes.
    pub fn switch_provider(&self, on: bool) {
        let callback = *lock(&self.switched);
        let callback = callback.expect("the provider has a callback");
        // SAFETY: the profiler's callback, with the arguments of the runtime.
        unsafe { callback(ptr::null(), on.into(), 4, 3, 0, ptr::null(), ptr::null_mut()) };
    }

    /// Takes all events that were written.
    pub fn take_written(&self) -> Vec<Written> {
        std::mem::take(&mut lock(&self.written))
    }

    /// Whether a note was written.
    pub fn has_note(&self, code: NoteCode) -> bool {
        lock(&self.written).iter().any(
            |event| matches!(wire::decode(event.id, &event.payload), Ok(Record::Note(note)) if note.code == code),
        )
    }
}

/// Waits for what another thread does.
#[track_caller]
pub fn wait_for(what: &str, limit: Duration, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !happened() {
        assert!(Instant::now() < deadline, "{what} did not happen within {limit:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The one record of totals among events.
#[track_caller]
pub fn totals(written: &[Written]) -> GcTotals<'_> {
    let mut found = written.iter().filter_map(|event| match event.record() {
        Record::GcTotals(totals) => Some(totals),
        _ => None,
    });
    let totals = found.next().expect("totals were written");
    assert!(found.next().is_none(), "one collection has one record of totals");
    totals
}

/// All hellos among events.
pub fn hellos(written: &[Written]) -> Vec<Hello> {
    let hello = |event: &Written| match event.record() {
        Record::Hello(hello) => Some(hello),
        _ => None,
    };
    written.iter().filter_map(hello).collect()
}

impl Written {
    #[track_caller]
    pub fn record(&self) -> Record<'_> {
        wire::decode(self.id, &self.payload).expect("the profiler writes valid events")
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// # Safety
/// `this` came from [`Clr::unknown`].
pub(super) unsafe fn clr<'a>(this: *mut c_void) -> &'a Clr {
    // SAFETY: by the contract; the runtime is leaked.
    let clr = unsafe { &*this.cast_const().cast::<Clr>() };
    if clr.is_over.load(SeqCst) {
        clr.calls_after.fetch_add(1, SeqCst);
    }
    clr
}

unsafe fn text(units: *const u16) -> String {
    let mut length = 0;
    // SAFETY: zero-terminated by the profiler.
    unsafe {
        while units.add(length).read() != 0 {
            length += 1;
        }
        String::from_utf16(std::slice::from_raw_parts(units, length)).unwrap()
    }
}

unsafe extern "system" fn unexpected() -> HResult {
    // This aborts the test program, because it cannot unwind into the library.
    panic!("the profiler called a method of ICorProfilerInfo that it must not call")
}

unsafe extern "system" fn release(this: *mut c_void) -> u32 {
    // SAFETY: the profiler passes the pointer that it got.
    let before = unsafe { clr(this) }.references.fetch_sub(1, SeqCst);
    assert_ne!(before, 0, "released more often than referenced");
    before - 1
}

/// Makes our provider.
fn make_provider(clr: &Clr, name: &str) -> usize {
    assert_eq!(name, wire::PROVIDER_NAME);
    clr.providers_made.fetch_add(1, SeqCst);
    OUR_PROVIDER
}

/// Whether a counter of refusals was not 0; it is one less now.
fn refuses(left: &AtomicU32) -> bool {
    left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
}

#[repr(C)]
struct Blob {
    address: u64,
    size: u32,
    reserved: u32,
}

functions! {
    /// The functions for sessions, providers, events and the mask.
    fn functions, clr = clr;
    0 query(iid: *const Guid, out: *mut *mut c_void) {
        let known = *iid == IID_INFO12 && !clr.lacks_info12.load(SeqCst)
            || *iid == IID_INFO14 && !clr.lacks_info14.load(SeqCst);
        *out = if known { clr.unknown() } else { ptr::null_mut() };
        if !known {
            return E_NOINTERFACE;
        }
        clr.references.fetch_add(1, SeqCst);
    }
    54 generation_bounds(capacity: u32, count: *mut u32, ranges: *mut GenerationRange) {
        let bounds = lock(&clr.bounds).clone();
        *count = bounds.len() as u32;
        for (index, range) in bounds.iter().take(capacity as usize).enumerate() {
            ranges.add(index).write(*range);
        }
    }
    58 request_detach(_ms: u32) {
        clr.detach_requests.fetch_add(1, SeqCst);
        if refuses(&clr.detach_refusals) {
            return REFUSED;
        }
    }
    67 runtime_information(
        _instance: *mut u16,
        _kind: *mut u32,
        major: *mut u16,
        minor: *mut u16,
        build: *mut u16,
        qfe: *mut u16,
        _capacity: u32,
        _length: *mut u32,
        _text: *mut u16,
    ) {
        (*major, *minor, *build, *qfe) = (9, 8, 7, 6);
    }
    82 set_mask(low: u32, high: u32) {
        lock(&clr.masks).push((low, high));
        if low & MONITOR_GC != 0 && refuses(&clr.refusals) {
            return REFUSED;
        }
        *lock(&clr.mask) = (low, high);
    }
    99 environment(name: *const u16, capacity: u32, length: *mut u32, value: *mut u16) {
        let Some(found) = lock(&clr.environment).get(&text(name)).cloned() else { return NOT_FOUND };
        let units: Vec<u16> = found.encode_utf16().chain([0]).collect();
        *length = units.len() as u32 - 1;
        if units.len() <= capacity as usize {
            ptr::copy_nonoverlapping(units.as_ptr(), value, units.len());
        }
    }
    100 set_environment(name: *const u16, value: *const u16) {
        assert!(value.is_null(), "it only removes variables");
        if lock(&clr.environment).remove(&text(name)).is_none() {
            return NOT_FOUND;
        }
    }
    101 start_session(count: u32, providers: *const ProviderConfig, rundown: i32, session: *mut u64) {
        assert_eq!((count, rundown), (1, 0));
        assert_eq!(text((*providers).name), "Microsoft-Windows-DotNETRuntime");
        let (keywords, level) = ((*providers).keywords, (*providers).level);
        assert!(matches!((keywords, level), (1 | 2, 4) | (0, 0)), "{keywords} at level {level}");
        assert_ne!(lock(&clr.masks).len(), 0, "the mask comes before the session");
        if clr.fails_sessions.load(SeqCst) {
            return REFUSED;
        }
        *session = match keywords {
            0 => {
                // Like the runtime, which recomputes this only when a session starts.
                clr.makes_handle_events.store(clr.handle_sessions.load(SeqCst) > 0, SeqCst);
                EMPTY_SESSION
            }
            2 => {
                clr.makes_handle_events.store(true, SeqCst);
                clr.handle_sessions.fetch_add(1, SeqCst);
                HANDLE_SESSION
            }
            _ => {
                assert_eq!(clr.session.swap(SESSION, SeqCst), 0, "one session at a time");
                SESSION
            }
        };
    }
    103 stop_session(session: u64) {
        match session {
            EMPTY_SESSION => {}
            HANDLE_SESSION => assert_eq!(clr.handle_sessions.fetch_sub(1, SeqCst), 1),
            _ => assert_eq!(clr.session.swap(0, SeqCst), session),
        }
    }
    104 create_provider(name: *const u16, provider: *mut usize) {
        *provider = make_provider(clr, &text(name));
    }
    105 provider_info(provider: usize, capacity: u32, length: *mut u32, name: *mut u16) {
        let found = match provider {
            RUNTIME_PROVIDER => "Microsoft-Windows-DotNETRuntime",
            OUR_PROVIDER if clr.providers_made.load(SeqCst) > 0 => wire::PROVIDER_NAME,
            _ => return E_NOINTERFACE,
        };
        *length = world::write_text(found, name, capacity);
    }
    106 define_event(
        provider: usize,
        name: *const u16,
        id: u32,
        keywords: u64,
        version: u32,
        level: u32,
        _opcode: u8,
        need_stack: i32,
        count: u32,
        params: *const ParamDesc,
        event: *mut usize,
    ) {
        assert_eq!((provider, version, level, need_stack), (OUR_PROVIDER, wire::ABI_VERSION, 4, 0));
        let described = wire::describe::events().find(|event| event.id == id).unwrap();
        assert_eq!((text(name).as_str(), keywords), (described.name, described.keywords));
        let params = std::slice::from_raw_parts(params, count as usize);
        let found: Vec<(String, u32)> = params.iter().map(|p| (text(p.name), p.kind)).collect();
        let expected: Vec<(String, u32)> =
            described.fields().map(|(name, kind)| (name.to_owned(), kind as u32)).collect();
        assert_eq!(found, expected);
        clr.events_defined.fetch_add(1, SeqCst);
        *event = 0x9000 + id as usize;
    }
    107 write_event(
        event: usize,
        count: u32,
        data: *const Blob,
        _activity: *const Guid,
        _related: *const Guid,
    ) {
        let mut payload = Vec::new();
        for blob in std::slice::from_raw_parts(data, count as usize) {
            assert_eq!(blob.reserved, 0);
            let bytes = ptr::with_exposed_provenance::<u8>(blob.address as usize);
            payload.extend_from_slice(std::slice::from_raw_parts(bytes, blob.size as usize));
        }
        assert!(payload.len() <= wire::MAX_EVENT_BYTES, "{} bytes in one event", payload.len());
        let id = (event - 0x9000) as u32;
        while clr.held_event.load(SeqCst) == id {
            clr.is_held.store(true, SeqCst);
            thread::sleep(Duration::from_millis(1));
        }
        lock(&clr.written).push(Written { id, payload });
    }
    113 create_provider2(name: *const u16, callback: ProviderCallback, provider: *mut usize) {
        *lock(&clr.switched) = Some(callback);
        *provider = make_provider(clr, &text(name));
    }
}
