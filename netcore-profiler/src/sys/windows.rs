//! Windows, with functions of `kernel32`. The library may use `std` there, because it links the C runtime statically,
//! and every process has the other libraries.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::lease_sign::LeaseSign;
use super::received::Received;

type Handle = isize;
const INVALID_HANDLE: Handle = -1;
const PROTECT_FROM_CLOSE: u32 = 2;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn QueryPerformanceCounter(count: *mut i64) -> i32;
    fn QueryPerformanceFrequency(frequency: *mut i64) -> i32;
    safe fn Sleep(duration_ms: u32);
    safe fn GetCurrentThreadId() -> u32;
    safe fn GetMaximumProcessorCount(group: u16) -> u32;
    fn VirtualAlloc(address: *mut c_void, bytes: usize, kind: u32, protection: u32) -> *mut c_void;
    fn GetModuleHandleExW(flags: u32, address: *const u16, module: *mut *mut c_void) -> i32;
    fn SetEnvironmentVariableW(name: *const u16, value: *const u16) -> i32;
    fn CreateFileW(
        name: *const u16,
        access: u32,
        share: u32,
        security: *const c_void,
        disposition: u32,
        flags: u32,
        template: Handle,
    ) -> Handle;
    safe fn CloseHandle(handle: Handle) -> i32;
    safe fn SetHandleInformation(handle: Handle, mask: u32, flags: u32) -> i32;
    safe fn GetCurrentThread() -> Handle;
    fn GetModuleHandleW(name: *const u16) -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const c_char) -> Option<unsafe extern "system" fn()>;
    fn PeekNamedPipe(
        pipe: Handle,
        buffer: *mut c_void,
        bytes: u32,
        read: *mut u32,
        available: *mut u32,
        left: *mut u32,
    ) -> i32;
    fn ReadFile(
        file: Handle,
        buffer: *mut c_void,
        bytes: u32,
        read: *mut u32,
        overlapped: *mut c_void,
    ) -> i32;
}

#[link(name = "api-ms-win-core-synch-l1-2-0", kind = "raw-dylib")]
unsafe extern "system" {
    fn WaitOnAddress(word: *const c_void, value: *const c_void, bytes: usize, limit_ms: u32) -> i32;
    fn WakeByAddressSingle(word: *const c_void);
}

/// The monotonic clock, in ns.
pub(crate) fn tick_ns() -> u64 {
    static FREQUENCY: AtomicU64 = AtomicU64::new(0);
    let mut frequency = FREQUENCY.load(Ordering::Relaxed);
    if frequency == 0 {
        let mut value = 0;
        // SAFETY: `value` can be written.
        unsafe { QueryPerformanceFrequency(&raw mut value) };
        frequency = u64::try_from(value).unwrap_or(1).max(1);
        FREQUENCY.store(frequency, Ordering::Relaxed);
    }
    let mut count = 0;
    // SAFETY: `count` can be written.
    unsafe { QueryPerformanceCounter(&raw mut count) };
    let ns = u128::from(u64::try_from(count).unwrap_or(0))
        .saturating_mul(1_000_000_000)
        .checked_div(u128::from(frequency));
    ns.unwrap_or(0) as u64
}

/// Suspends the calling thread.
pub(crate) fn sleep_ms(duration_ms: u32) {
    Sleep(duration_ms);
}

/// Suspends the calling thread while `word` is `value`, at most for `limit_ms`. It may return early.
pub(crate) fn wait_while(word: &AtomicU32, value: u32, limit_ms: u32) {
    let (word, expected) = (word.as_ptr().cast_const().cast(), (&raw const value).cast());
    // SAFETY: `word` is borrowed, and `value` is a local.
    unsafe { WaitOnAddress(word, expected, size_of::<u32>(), limit_ms) };
}

/// Wakes the one thread that may be in [`wait_while`].
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: `word` is borrowed.
    unsafe { WakeByAddressSingle(word.as_ptr().cast_const().cast()) };
}

/// An id that no other running thread has.
pub(crate) fn thread_id() -> usize {
    GetCurrentThreadId() as usize
}

/// Number of processors. The runtime starts at most that many GC threads.
pub(crate) fn processors() -> usize {
    const ALL_GROUPS: u16 = 0xffff;
    (GetMaximumProcessorCount(ALL_GROUPS) as usize).max(1)
}

/// Zeroed memory, aligned to a page. It is never unmapped, because a late callback may still use it.
pub(crate) fn map(length: usize) -> Option<NonNull<u8>> {
    const RESERVE_AND_COMMIT: u32 = 0x3000;
    const READ_WRITE: u32 = 4;
    // SAFETY: a new allocation at an address of the system's choice affects no other memory.
    let memory = unsafe { VirtualAlloc(ptr::null_mut(), length, RESERVE_AND_COMMIT, READ_WRITE) };
    NonNull::new(memory.cast())
}

/// Keeps the library that contains `address` mapped until the process ends.
pub(crate) fn pin(address: *const c_void) -> bool {
    const PIN_FROM_ADDRESS: u32 = 1 | 4;
    let mut module = ptr::null_mut();
    // SAFETY: with this flag the name is an address inside a loaded module, and `address` is one in our library.
    unsafe { GetModuleHandleExW(PIN_FROM_ADDRESS, address.cast(), &raw mut module) != 0 }
}

/// The first address of the library that contains `address`.
pub(super) fn library_base(address: *const c_void) -> Option<usize> {
    const FROM_ADDRESS_UNCHANGED: u32 = 4 | 2;
    let mut module = ptr::null_mut();
    // SAFETY: with these flags the name is an address, which is only compared; `module` can be written.
    let found = unsafe { GetModuleHandleExW(FROM_ADDRESS_UNCHANGED, address.cast(), &raw mut module) };
    (found != 0 && !module.is_null()).then(|| module.expose_provenance())
}

fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

/// Removes a variable from the process's environment.
pub(crate) fn unset_environment(name: &str) {
    let name = wide(name);
    // SAFETY: a zero-terminated name; a null value removes it.
    unsafe { SetEnvironmentVariableW(name.as_ptr(), ptr::null()) };
}

/// Names the calling thread. Windows before 10 has no names of threads.
pub(crate) fn name_thread(name: &CStr) {
    type SetThreadDescription = unsafe extern "system" fn(Handle, *const u16) -> i32;
    let library = wide("kernel32.dll");
    // SAFETY: zero-terminated names; the library is loaded in every process and stays.
    let found = unsafe {
        let library = GetModuleHandleW(library.as_ptr());
        GetProcAddress(library, c"SetThreadDescription".as_ptr())
    };
    if let Some(found) = found {
        let name = wide(name.to_str().unwrap_or_default());
        // SAFETY: the function of this name has this signature, and the name ends with a zero.
        unsafe {
            let set = core::mem::transmute::<unsafe extern "system" fn(), SetThreadDescription>(found);
            set(GetCurrentThread(), name.as_ptr());
        }
    }
}

/// Starts a detached thread.
pub(crate) fn spawn(main: extern "C" fn()) -> bool {
    std::thread::Builder::new().stack_size(512 * 1024).spawn(move || main()).is_ok()
}

/// The lease: a pipe that we only read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease(Handle);

impl Lease {
    /// Opens a named pipe (`\\.\pipe\name`), retrying for `timeout_ms` while all instances are busy.
    ///
    /// Handles are numbers that are shared with the whole process. A program that closes a number twice must not close
    /// ours, so the system protects it.
    pub(crate) fn connect(path: &str, timeout_ms: u32) -> Option<Self> {
        const GENERIC_READ: u32 = 0x8000_0000;
        const OPEN_EXISTING: u32 = 3;
        /// Whoever has made the pipe may ask who we are, and not act in our name.
        const IDENTIFICATION_ONLY: u32 = 0x0011_0000;
        let name = wide(path);
        let mut left_ms = timeout_ms;
        loop {
            // SAFETY: a zero-terminated name, no security attributes, no template.
            let handle = unsafe {
                CreateFileW(
                    name.as_ptr(),
                    GENERIC_READ,
                    0,
                    ptr::null(),
                    OPEN_EXISTING,
                    IDENTIFICATION_ONLY,
                    0,
                )
            };
            if handle != INVALID_HANDLE {
                SetHandleInformation(handle, PROTECT_FROM_CLOSE, PROTECT_FROM_CLOSE);
                return Some(Self(handle));
            }
            if left_ms == 0 {
                return None;
            }
            left_ms = left_ms.saturating_sub(1);
            sleep_ms(1);
        }
    }

    /// Waits up to `timeout_ms` for a heartbeat or the end of the lease.
    pub(crate) fn wait(self, timeout_ms: u32) -> LeaseSign {
        const STEP_MS: u32 = 50;
        let mut left_ms = timeout_ms;
        loop {
            let mut available = 0;
            // SAFETY: no buffer is passed, so only the count is written.
            let open = unsafe {
                PeekNamedPipe(
                    self.0,
                    ptr::null_mut(),
                    0,
                    ptr::null_mut(),
                    &raw mut available,
                    ptr::null_mut(),
                )
            };
            if open == 0 {
                return LeaseSign::Closed;
            }
            if available > 0 {
                return self.read();
            }
            if left_ms == 0 {
                return LeaseSign::Silent;
            }
            let step_ms = left_ms.min(STEP_MS);
            sleep_ms(step_ms);
            left_ms = left_ms.saturating_sub(step_ms);
        }
    }

    fn read(self) -> LeaseSign {
        let mut bytes = [0_u8; 64];
        let mut count = 0;
        let length = bytes.len() as u32;
        // SAFETY: the buffer has `length` bytes; the pipe was not opened for overlapped access.
        let read =
            unsafe { ReadFile(self.0, bytes.as_mut_ptr().cast(), length, &raw mut count, ptr::null_mut()) };
        match bytes.get(..count as usize) {
            Some(bytes @ [_, ..]) if read != 0 => LeaseSign::of(bytes),
            _ => LeaseSign::Closed,
        }
    }

    /// Closes the connection.
    pub(crate) fn close(self) {
        SetHandleInformation(self.0, PROTECT_FROM_CLOSE, 0);
        CloseHandle(self.0);
    }

    /// The connection as a number that is never 0, and an identity, which is always 0 here.
    pub(crate) fn into_parts(self) -> (usize, u64) {
        ((self.0 as usize).wrapping_add(1), 0)
    }

    /// The connection from [`Lease::into_parts`]; `None` from 0.
    pub(crate) fn from_parts(number: usize, _identity: u64) -> Option<Self> {
        number.checked_sub(1).map(|handle| Self(handle as Handle))
    }
}

/// Graphs of the heap need `fork`, so nothing is sent and received here.
impl Lease {
    /// The connection has ended.
    pub(crate) fn send_some(self, _bytes: &[u8], _timeout_ms: u32) -> Option<usize> {
        None
    }

    /// The connection has ended.
    pub(crate) fn receive(self, _bytes: &mut [u8], _timeout_ms: u32) -> Received {
        Received::Closed
    }

    /// There is no descriptor.
    pub(crate) fn number(self) -> i32 {
        0
    }
}

/// Memory of which little may be used.
pub(crate) fn map_sparse(length: usize) -> Option<NonNull<u8>> {
    map(length)
}

/// Gives memory back.
///
/// # Safety
/// None: it is kept.
pub(crate) unsafe fn unmap(_memory: *mut u8, _length: usize) {}
