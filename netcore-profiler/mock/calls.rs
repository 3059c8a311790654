//! What the program's own threads do: they make and free handles and ask for collections, each with a stack.

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

use netcore_profiler::hresult::{E_FAIL, HResult, S_OK, succeeded};
use netcore_profiler::info::HIGH_EVENT_PIPE;

use super::info::{RUNTIME_PROVIDER, clr, lock};
use super::world::{is_dynamic, method, write_text};
use super::{Clr, Library};

/// The stack of whoever calls.
#[derive(Debug, Default)]
pub struct Calls {
    /// Its methods, innermost first.
    pub stack: Mutex<Vec<usize>>,
    /// The same as return addresses tell it, with methods that were made at run time, which the runtime's walk leaves
    /// out. No more than two are sure to be asked for: the addresses are those of the profiler's own frames.
    pub linked: Mutex<Vec<usize>>,
    asked: AtomicUsize,
    /// How often it was walked.
    pub walks: AtomicU32,
}

/// A method of the runtime's that passes a call on.
pub const STUB: usize = method(17);

impl Calls {
    /// Whoever calls from now on does so from these methods.
    pub fn come_from(&self, stack: &[usize]) {
        *lock(&self.stack) = stack.iter().copied().filter(|method| !is_dynamic(*method)).collect();
        *lock(&self.linked) = stack.to_vec();
    }
}

impl Library {
    /// Delivers an event of the runtime's as its provider fires it.
    pub fn fire(&self, clr: &Clr, id: u32, payload: &[u8]) {
        if clr.mask().1 & HIGH_EVENT_PIPE == 0 {
            return;
        }
        clr.calls.asked.store(0, SeqCst);
        // SAFETY: arguments as the interface documents them.
        unsafe {
            (self.table().EventPipeEventDelivered)(
                self.callback(),
                RUNTIME_PROVIDER,
                id,
                2,
                0,
                ptr::null(),
                payload.len() as u32,
                payload.as_ptr(),
                ptr::null(),
                ptr::null(),
                0,
                0,
                ptr::null(),
            );
        }
    }

    /// `SetGCHandle`, where somebody listens.
    pub fn make_handle(&self, clr: &Clr, handle: u64, kind: u32) {
        if clr.handle_sessions.load(SeqCst) > 0 {
            let object = 0_u64.to_le_bytes();
            let payload = [&handle.to_le_bytes()[..], &object, &kind.to_le_bytes(), &[0; 14]].concat();
            self.fire(clr, 30, &payload);
        }
    }

    /// `GCTriggered`: the program asks for a collection.
    pub fn ask_for_collection(&self, clr: &Clr) {
        const INDUCED: u32 = 1;
        self.fire(clr, 35, &[&INDUCED.to_le_bytes()[..], &[0; 2]].concat());
    }

    /// `DestroyGCHandle`, where somebody listens.
    pub fn free_handle(&self, clr: &Clr, handle: u64) {
        if clr.handle_sessions.load(SeqCst) > 0 {
            self.fire(clr, 31, &[&handle.to_le_bytes()[..], &[0; 2]].concat());
        }
    }
}

type Callback = unsafe extern "system" fn(usize, usize, usize, u32, *const u8, *mut c_void) -> HResult;

unsafe extern "system" fn stack_snapshot(
    this: *mut c_void,
    thread: usize,
    callback: Callback,
    _flags: u32,
    data: *mut c_void,
    _context: *const u8,
    _context_bytes: u32,
) -> HResult {
    assert_eq!(thread, 0, "the calling thread's own");
    // SAFETY: the profiler passes valid pointers, here and below.
    unsafe {
        let calls = &clr(this).calls;
        calls.walks.fetch_add(1, SeqCst);
        for function in lock(&calls.stack).clone() {
            let answer = callback(function, 0, 0, 0, ptr::null(), data);
            if !succeeded(answer) || answer != S_OK {
                return answer;
            }
        }
    }
    S_OK
}

/// Whatever the address: the next of the methods that are linked.
unsafe extern "system" fn function_from_ip(
    this: *mut c_void,
    _ip: *const u8,
    function: *mut usize,
    _rejit: *mut usize,
) -> HResult {
    // SAFETY: as above.
    unsafe {
        let calls = &clr(this).calls;
        let at = calls.asked.fetch_add(1, SeqCst);
        *function = lock(&calls.linked).get(at).copied().unwrap_or(0);
    }
    S_OK
}

/// Methods that were made at run time have a name and nothing else.
unsafe extern "system" fn dynamic_info(
    _this: *mut c_void,
    function: usize,
    _module: *mut usize,
    _signature: *mut *const u8,
    _bytes: *mut u32,
    room: u32,
    length: *mut u32,
    name: *mut u16,
) -> HResult {
    let text = if function == STUB { "IL_STUB_PInvoke" } else { "lambda_method" };
    // SAFETY: as above.
    unsafe { *length = write_text(text, name, room) };
    S_OK
}

/// Threads have no numbers here.
unsafe extern "system" fn current_thread(_this: *mut c_void, _thread: *mut usize) -> HResult {
    E_FAIL
}

/// The functions of `ICorProfilerInfo` that walk stacks, by slot.
pub fn functions() -> [(usize, *const c_void); 4] {
    [
        (13, current_thread as *const c_void),
        (36, stack_snapshot as *const c_void),
        (88, function_from_ip as *const c_void),
        (89, dynamic_info as *const c_void),
    ]
}
