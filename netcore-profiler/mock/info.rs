//! `ICorProfilerInfo` to `ICorProfilerInfo14`, as far as the profiler uses them. Any other method fails the test.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

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
const HANDLE_SESSION: u64 = 0x5e56;
const EMPTY_SESSION: u64 = 0x5e57;

/// An event that the profiler wrote.
#[derive(Debug, Clone)]
pub struct Written {
    pub id: u32,
    pub payload: Vec<u8>,
}

/// The runtime. It is never freed, because the library may call it from its own threads.
#[repr(C)]
pub struct Clr {
    table: &'static [*const c_void; SLOTS],
    pub references: AtomicU32,
    /// Whether there is an `ICorProfilerInfo12`, and an `ICorProfilerInfo14`.
    pub has_info12: AtomicBool,
    pub has_info14: AtomicBool,
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

// SAFETY: the pointers in the table are to functions.
unsafe impl Sync for Clr {}
// SAFETY: as above.
unsafe impl Send for Clr {}

impl Clr {
    /// A runtime like .NET 8 and later.
    pub fn new() -> &'static Self {
        Box::leak(Box::new(Self {
            table: Box::leak(Box::new(table())),
            references: AtomicU32::new(0),
            has_info12: AtomicBool::new(true),
            has_info14: AtomicBool::new(true),
            environment: Mutex::default(),
            masks: Mutex::default(),
            mask: Mutex::default(),
            refusals: AtomicU32::new(0),
            bounds: Mutex::default(),
            written: Mutex::default(),
            providers_made: AtomicU32::new(0),
            events_defined: AtomicU32::new(0),
            switched: Mutex::default(),
            session: AtomicU64::new(0),
            handle_sessions: AtomicU32::new(0),
            makes_handle_events: AtomicBool::new(false),
            fails_sessions: AtomicBool::new(false),
            detach_requests: AtomicU32::new(0),
            detach_refusals: AtomicU32::new(0),
            calls_after: AtomicU32::new(0),
            is_over: AtomicBool::new(false),
            world: World::default(),
            calls: Calls::default(),
            held_event: AtomicU32::new(0),
            is_held: AtomicBool::new(false),
        }))
    }

    /// The `IUnknown` that `Initialize` gets.
    pub fn unknown(&'static self) -> *mut c_void {
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

unsafe extern "system" fn query(this: *mut c_void, iid: *const Guid, out: *mut *mut c_void) -> HResult {
    // SAFETY: the profiler passes valid pointers.
    unsafe {
        let (clr, iid) = (clr(this), *iid);
        let known = iid == IID_INFO12 && clr.has_info12.load(SeqCst)
            || iid == IID_INFO14 && clr.has_info14.load(SeqCst);
        *out = if known { this } else { ptr::null_mut() };
        if !known {
            return E_NOINTERFACE;
        }
        clr.references.fetch_add(1, SeqCst);
    }
    S_OK
}

unsafe extern "system" fn release(this: *mut c_void) -> u32 {
    // SAFETY: as above.
    let before = unsafe { clr(this) }.references.fetch_sub(1, SeqCst);
    assert_ne!(before, 0, "released more often than referenced");
    before - 1
}

unsafe extern "system" fn generation_bounds(
    this: *mut c_void,
    capacity: u32,
    count: *mut u32,
    ranges: *mut GenerationRange,
) -> HResult {
    // SAFETY: the profiler has room for `capacity`.
    unsafe {
        let bounds = lock(&clr(this).bounds).clone();
        *count = bounds.len() as u32;
        for (index, range) in bounds.iter().take(capacity as usize).enumerate() {
            ranges.add(index).write(*range);
        }
    }
    S_OK
}

unsafe extern "system" fn request_detach(this: *mut c_void, _ms: u32) -> HResult {
    // SAFETY: as above.
    let clr = unsafe { clr(this) };
    clr.detach_requests.fetch_add(1, SeqCst);
    let refused = clr.detach_refusals.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
    if refused { REFUSED } else { S_OK }
}

unsafe extern "system" fn runtime_information(
    _this: *mut c_void,
    _instance: *mut u16,
    _kind: *mut u32,
    major: *mut u16,
    minor: *mut u16,
    build: *mut u16,
    qfe: *mut u16,
    _capacity: u32,
    _length: *mut u32,
    _text: *mut u16,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        (*major, *minor, *build, *qfe) = (9, 8, 7, 6);
    }
    S_OK
}

unsafe extern "system" fn set_mask(this: *mut c_void, low: u32, high: u32) -> HResult {
    // SAFETY: as above.
    let clr = unsafe { clr(this) };
    lock(&clr.masks).push((low, high));
    if low & MONITOR_GC != 0 && clr.refusals.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok()
    {
        return REFUSED;
    }
    *lock(&clr.mask) = (low, high);
    S_OK
}

unsafe extern "system" fn environment(
    this: *mut c_void,
    name: *const u16,
    capacity: u32,
    length: *mut u32,
    value: *mut u16,
) -> HResult {
    // SAFETY: the profiler has room for `capacity` units.
    unsafe {
        let Some(found) = lock(&clr(this).environment).get(&text(name)).cloned() else {
            return 0x8007_00cb_u32 as i32;
        };
        let units: Vec<u16> = found.encode_utf16().chain([0]).collect();
        *length = units.len() as u32 - 1;
        if units.len() <= capacity as usize {
            ptr::copy_nonoverlapping(units.as_ptr(), value, units.len());
        }
    }
    S_OK
}

unsafe extern "system" fn set_environment(this: *mut c_void, name: *const u16, value: *const u16) -> HResult {
    // SAFETY: as above.
    unsafe {
        assert!(value.is_null(), "it only removes variables");
        let removed = lock(&clr(this).environment).remove(&text(name));
        if removed.is_some() { S_OK } else { 0x8007_00cb_u32 as i32 }
    }
}

unsafe extern "system" fn start_session(
    this: *mut c_void,
    count: u32,
    providers: *const ProviderConfig,
    rundown: i32,
    session: *mut u64,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        let clr = clr(this);
        assert_eq!((count, rundown), (1, 0));
        assert_eq!(text((*providers).name), "Microsoft-Windows-DotNETRuntime");
        let (keywords, level) = ((*providers).keywords, (*providers).level);
        assert!(matches!((keywords, level), (1 | 2, 4) | (0, 0)), "{keywords} at level {level}");
        assert_ne!(lock(&clr.masks).len(), 0, "the mask comes before the session");
        if clr.fails_sessions.load(SeqCst) {
            return REFUSED;
        }
        if keywords == 0 {
            // Like the runtime, which recomputes this only when a session starts.
            clr.makes_handle_events.store(clr.handle_sessions.load(SeqCst) > 0, SeqCst);
            *session = EMPTY_SESSION;
            return S_OK;
        }
        if keywords == 2 {
            clr.makes_handle_events.store(true, SeqCst);
            clr.handle_sessions.fetch_add(1, SeqCst);
            *session = HANDLE_SESSION;
            return S_OK;
        }
        assert_eq!(clr.session.swap(SESSION, SeqCst), 0, "one session at a time");
        *session = SESSION;
    }
    S_OK
}

unsafe extern "system" fn stop_session(this: *mut c_void, session: u64) -> HResult {
    // SAFETY: as above.
    let clr = unsafe { clr(this) };
    if session == EMPTY_SESSION {
        return S_OK;
    }
    if session == HANDLE_SESSION {
        assert_eq!(clr.handle_sessions.fetch_sub(1, SeqCst), 1);
    } else {
        assert_eq!(clr.session.swap(0, SeqCst), session);
    }
    S_OK
}

unsafe extern "system" fn create_provider(
    this: *mut c_void,
    name: *const u16,
    provider: *mut usize,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        assert_eq!(text(name), wire::PROVIDER_NAME);
        clr(this).providers_made.fetch_add(1, SeqCst);
        *provider = OUR_PROVIDER;
    }
    S_OK
}

unsafe extern "system" fn create_provider2(
    this: *mut c_void,
    name: *const u16,
    callback: ProviderCallback,
    provider: *mut usize,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        *lock(&clr(this).switched) = Some(callback);
        create_provider(this, name, provider)
    }
}

unsafe extern "system" fn provider_info(
    this: *mut c_void,
    provider: usize,
    capacity: u32,
    length: *mut u32,
    name: *mut u16,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        let found = match provider {
            RUNTIME_PROVIDER => "Microsoft-Windows-DotNETRuntime",
            OUR_PROVIDER if clr(this).providers_made.load(SeqCst) > 0 => wire::PROVIDER_NAME,
            _ => return E_NOINTERFACE,
        };
        let units: Vec<u16> = found.encode_utf16().chain([0]).collect();
        assert!(units.len() <= capacity as usize);
        *length = units.len() as u32;
        ptr::copy_nonoverlapping(units.as_ptr(), name, units.len());
    }
    S_OK
}

unsafe extern "system" fn define_event(
    this: *mut c_void,
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
) -> HResult {
    // SAFETY: as above.
    unsafe {
        assert_eq!((provider, version, level, need_stack), (OUR_PROVIDER, wire::ABI_VERSION, 4, 0));
        let described = wire::describe::events().find(|event| event.id == id).unwrap();
        assert_eq!((text(name).as_str(), keywords), (described.name, described.keywords));
        let params = std::slice::from_raw_parts(params, count as usize);
        let found: Vec<(String, u32)> = params.iter().map(|p| (text(p.name), p.kind)).collect();
        let expected: Vec<(String, u32)> =
            described.fields().map(|(name, kind)| (name.to_owned(), kind as u32)).collect();
        assert_eq!(found, expected);
        clr(this).events_defined.fetch_add(1, SeqCst);
        *event = 0x9000 + id as usize;
    }
    S_OK
}

#[repr(C)]
struct Blob {
    address: u64,
    size: u32,
    reserved: u32,
}

unsafe extern "system" fn write_event(
    this: *mut c_void,
    event: usize,
    count: u32,
    data: *const Blob,
    _activity: *const Guid,
    _related: *const Guid,
) -> HResult {
    let mut payload = Vec::new();
    // SAFETY: as above.
    unsafe {
        for blob in std::slice::from_raw_parts(data, count as usize) {
            assert_eq!(blob.reserved, 0);
            let bytes = ptr::with_exposed_provenance::<u8>(blob.address as usize);
            payload.extend_from_slice(std::slice::from_raw_parts(bytes, blob.size as usize));
        }
        assert!(payload.len() <= wire::MAX_EVENT_BYTES, "{} bytes in one event", payload.len());
        let (clr, id) = (clr(this), (event - 0x9000) as u32);
        while clr.held_event.load(SeqCst) == id {
            clr.is_held.store(true, SeqCst);
            thread::sleep(Duration::from_millis(1));
        }
        lock(&clr.written).push(Written { id, payload });
    }
    S_OK
}

fn table() -> [*const c_void; SLOTS] {
    let mut table = [unexpected as *const c_void; SLOTS];
    let mut set = |slot: usize, function: *const c_void| table[slot] = function;
    set(0, query as *const c_void);
    set(2, release as *const c_void);
    set(54, generation_bounds as *const c_void);
    set(58, request_detach as *const c_void);
    set(67, runtime_information as *const c_void);
    set(82, set_mask as *const c_void);
    set(99, environment as *const c_void);
    set(100, set_environment as *const c_void);
    set(101, start_session as *const c_void);
    set(103, stop_session as *const c_void);
    set(104, create_provider as *const c_void);
    set(105, provider_info as *const c_void);
    set(106, define_event as *const c_void);
    set(107, write_event as *const c_void);
    set(113, create_provider2 as *const c_void);
    for (slot, function) in world::functions().into_iter().chain(calls::functions()) {
        set(slot, function);
    }
    table
}
