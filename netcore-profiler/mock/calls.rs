//! What the program's own threads do: they allocate and free handles and induce collections, each with a stack.

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

use netcore_profiler::hresult::{HResult, S_OK, succeeded};
use netcore_profiler::info::HIGH_EVENT_PIPE;

use super::info::{RUNTIME_PROVIDER, clr, lock};
use super::world::{is_dynamic, method, write_text};
use super::{Clr, Library};

/// The stack of the calling thread.
#[derive(Debug, Default)]
pub struct Calls {
    /// Its methods, innermost first.
    pub stack: Mutex<Vec<usize>>,
    /// The same along the frame pointers, with dynamic methods, which `DoStackSnapshot` leaves out. At most two are
    /// sure to be asked for: the addresses are those of the profiler's own frames.
    pub linked: Mutex<Vec<usize>>,
    asked: AtomicUsize,
    /// How many stacks were walked.
    pub walks: AtomicU32,
}

/// A dynamic method of the runtime that passes a call on.
pub const STUB: usize = method(17);

impl Calls {
    /// Sets the stack of all further calls.
    pub fn come_from(&self, stack: &[usize]) {
        *lock(&self.stack) = stack.iter().copied().filter(|method| !is_dynamic(*method)).collect();
        *lock(&self.linked) = stack.to_vec();
    }
}

impl Library {
    /// Delivers an event of the runtime's provider.
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

    /// `SetGCHandle`, if a session listens.
    pub fn make_handle(&self, clr: &Clr, handle: u64, kind: u32) {
        if clr.handle_sessions.load(SeqCst) > 0 {
            let object = 0_u64.to_le_bytes();
            let payload = [&handle.to_le_bytes()[..], &object, &kind.to_le_bytes(), &[0; 14]].concat();
            self.fire(clr, 30, &payload);
        }
    }

    /// `GCTriggered`: the program induces a collection.
    pub fn induce_collection(&self, clr: &Clr) {
        const INDUCED: u32 = 1;
        self.fire(clr, 35, &[&INDUCED.to_le_bytes()[..], &[0; 2]].concat());
    }

    /// `DestroyGCHandle`, if a session listens.
    pub fn free_handle(&self, clr: &Clr, handle: u64) {
        if clr.handle_sessions.load(SeqCst) > 0 {
            self.fire(clr, 31, &[&handle.to_le_bytes()[..], &[0; 2]].concat());
        }
    }
}

type Callback = unsafe extern "system" fn(usize, usize, usize, u32, *const u8, *mut c_void) -> HResult;

functions! {
    /// The functions of `ICorProfilerInfo` that walk stacks.
    pub fn functions, clr = clr;
    36 stack_snapshot(
        thread: usize,
        callback: Callback,
        _flags: u32,
        data: *mut c_void,
        _context: *const u8,
        _context_bytes: u32,
    ) {
        assert_eq!(thread, 0, "the calling thread's own");
        for function in lock(&clr.calls.stack).clone() {
            let answer = callback(function, 0, 0, 0, ptr::null(), data);
            if !succeeded(answer) || answer != S_OK {
                return answer;
            }
        }
    }
    /// The next one of `linked`, whatever the address.
    88 function_from_ip(_ip: *const u8, function: *mut usize, _rejit: *mut usize) {
        let at = clr.calls.asked.fetch_add(1, SeqCst);
        clr.calls.walks.fetch_add(u32::from(at == 0), SeqCst);
        *function = lock(&clr.calls.linked).get(at).copied().unwrap_or(0);
    }
    /// Dynamic methods only have a name.
    89 dynamic_info(
        function: usize,
        _module: *mut usize,
        _signature: *mut *const u8,
        _bytes: *mut u32,
        room: u32,
        length: *mut u32,
        name: *mut u16,
    ) {
        let text = if function == STUB { "IL_STUB_PInvoke" } else { "lambda_method" };
        *length = write_text(text, name, room);
    }
}
