//! Linux and macOS, with functions that every C library has. They are declared here, not taken from a crate, because
//! the agent links to no library: it uses the C library of the target.

pub(super) mod channel;
#[cfg(target_os = "linux")]
pub(crate) mod copy;
pub(super) mod lease;

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU32;
#[cfg(not(target_os = "linux"))]
use core::sync::atomic::Ordering;

/// Constants that differ between the systems.
#[cfg(target_os = "linux")]
mod os {
    use core::ffi::{c_int, c_long};

    pub(super) const MONOTONIC: c_int = 1;
    pub(super) const PROCESSORS_CONFIGURED: c_int = 83;
    pub(super) const MAP_ANONYMOUS: c_int = 0x20;
    pub(super) const RTLD_NOLOAD: c_int = 4;
    pub(super) const RTLD_NODELETE: c_int = 0x1000;
    pub(super) const NONBLOCK: c_int = 0o4000;
    pub(super) const SOCK_CLOEXEC: c_int = 0o2_000_000;
    pub(super) const SIG_SETMASK: c_int = 2;
    pub(super) const EAGAIN: c_int = 11;
    pub(super) const EINTR: c_int = 4;
    pub(super) const SIGBUS: c_int = 7;
    pub(super) const EBADF: c_int = 9;
    pub(super) const ENOTSOCK: c_int = 88;
    pub(super) const DO_NOT_WAIT: c_int = 0x40;
    /// `MSG_NOSIGNAL`.
    pub(super) const NO_SIGNAL: c_int = 0x4000;
    pub(super) const MAP_NORESERVE: c_int = 0x4000;
    /// `F_DUPFD_CLOEXEC`.
    pub(super) const DUPLICATE_AT_LEAST: c_int = 1030;
    /// `SOL_SOCKET`, `SO_COOKIE`.
    pub(super) const SOCKET_IDENTITY: (c_int, c_int) = (1, 57);
    pub(super) const SOCKETS_ARE_NUMBERED: bool = true;
    #[cfg(target_arch = "x86_64")]
    pub(super) const FUTEX: c_long = 202;
    #[cfg(target_arch = "aarch64")]
    pub(super) const FUTEX: c_long = 98;
    /// With `FUTEX_PRIVATE_FLAG`.
    pub(super) const FUTEX_WAIT: c_long = 128;
    pub(super) const FUTEX_WAKE: c_long = 129;
    unsafe extern "C" {
        #[link_name = "__errno_location"]
        pub(super) safe fn errno() -> *mut c_int;
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use core::ffi::c_int;

    pub(super) const MONOTONIC: c_int = 6;
    pub(super) const PROCESSORS_CONFIGURED: c_int = 57;
    pub(super) const MAP_ANONYMOUS: c_int = 0x1000;
    pub(super) const RTLD_NOLOAD: c_int = 0x10;
    pub(super) const RTLD_NODELETE: c_int = 0x80;
    pub(super) const NONBLOCK: c_int = 4;
    /// Does not exist there: the flag is set afterwards.
    pub(super) const SOCK_CLOEXEC: c_int = 0;
    pub(super) const SIG_SETMASK: c_int = 3;
    pub(super) const EAGAIN: c_int = 35;
    pub(super) const EINTR: c_int = 4;
    pub(super) const SIGBUS: c_int = 10;
    pub(super) const EBADF: c_int = 9;
    pub(super) const ENOTSOCK: c_int = 38;
    pub(super) const DO_NOT_WAIT: c_int = 0x80;
    /// `MSG_NOSIGNAL`.
    pub(super) const NO_SIGNAL: c_int = 0x80000;
    pub(super) const MAP_NORESERVE: c_int = 0x40;
    /// `F_DUPFD_CLOEXEC`.
    pub(super) const DUPLICATE_AT_LEAST: c_int = 67;
    /// `SOL_SOCKET`, `SO_TYPE`: only tells that it is a socket.
    pub(super) const SOCKET_IDENTITY: (c_int, c_int) = (0xffff, 0x1008);
    pub(super) const SOCKETS_ARE_NUMBERED: bool = false;
    unsafe extern "C" {
        #[link_name = "__error"]
        pub(super) safe fn errno() -> *mut c_int;
    }
}

#[repr(C)]
struct TimeSpec {
    seconds: c_long,
    nanoseconds: c_long,
}

#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    base: *mut c_void,
    symbol_name: *const c_char,
    symbol: *mut c_void,
}

/// Room for the largest `pthread_attr_t` and `sigset_t` of the systems supported: 64 and 128 bytes.
#[repr(C, align(16))]
struct Opaque([u64; 16]);

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut TimeSpec) -> c_int;
    fn nanosleep(time: *const TimeSpec, left: *mut TimeSpec) -> c_int;
    safe fn pthread_self() -> usize;
    safe fn sysconf(name: c_int) -> c_long;
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn munmap(address: *mut c_void, length: usize) -> c_int;
    #[cfg(target_os = "linux")]
    fn syscall(number: c_long, ...) -> c_long;
    fn unsetenv(name: *const c_char) -> c_int;
    #[cfg(target_os = "linux")]
    fn prctl(option: c_int, ...) -> c_int;
    #[cfg(not(target_os = "linux"))]
    fn pthread_setname_np(name: *const c_char) -> c_int;
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn pthread_attr_init(attributes: *mut Opaque) -> c_int;
    fn pthread_attr_setdetachstate(attributes: *mut Opaque, state: c_int) -> c_int;
    fn pthread_attr_setstacksize(attributes: *mut Opaque, bytes: usize) -> c_int;
    fn pthread_attr_destroy(attributes: *mut Opaque) -> c_int;
    fn pthread_create(
        thread: *mut usize,
        attributes: *const Opaque,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const Opaque, old: *mut Opaque) -> c_int;
    fn sigfillset(set: *mut Opaque) -> c_int;
    fn sigdelset(set: *mut Opaque, signal: c_int) -> c_int;
}

fn errno() -> c_int {
    // SAFETY: the C library's pointer to the calling thread's own number.
    unsafe { os::errno().read() }
}

/// The monotonic clock, in ns.
pub(crate) fn tick_ns() -> u64 {
    let mut time = TimeSpec { seconds: 0, nanoseconds: 0 };
    // SAFETY: `time` can be written.
    unsafe { clock_gettime(os::MONOTONIC, &raw mut time) };
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}

/// Suspends the calling thread.
pub(crate) fn sleep_ms(duration_ms: u32) {
    let time = TimeSpec {
        seconds: c_long::from(duration_ms / 1000),
        nanoseconds: c_long::from(duration_ms % 1000).wrapping_mul(1_000_000),
    };
    // SAFETY: `time` can be read; a null pointer for the remaining time is allowed.
    unsafe { nanosleep(&raw const time, ptr::null_mut()) };
}

/// Suspends the calling thread while `word` is `value`, at most for `limit_ms`. It may return early.
#[cfg(target_os = "linux")]
pub(crate) fn wait_while(word: &AtomicU32, value: u32, limit_ms: u32) {
    let limit = TimeSpec {
        seconds: c_long::from(limit_ms / 1000),
        nanoseconds: c_long::from(limit_ms % 1000).wrapping_mul(1_000_000),
    };
    // SAFETY: `word` is borrowed, and `limit` can be read.
    unsafe { syscall(os::FUTEX, word.as_ptr(), os::FUTEX_WAIT, c_long::from(value), &raw const limit) };
}

/// Wakes the one thread that may be in [`wait_while`].
#[cfg(target_os = "linux")]
pub(crate) fn wake(word: &AtomicU32) {
    // SAFETY: `word` is borrowed.
    unsafe { syscall(os::FUTEX, word.as_ptr(), os::FUTEX_WAKE, 1 as c_long) };
}

/// The same by polling: macOS has no public function to wait on a word before 14.4.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wait_while(word: &AtomicU32, value: u32, limit_ms: u32) {
    const STEP_MS: u32 = 10;
    let mut left_ms = limit_ms;
    while left_ms > 0 && word.load(Ordering::SeqCst) == value {
        let step_ms = left_ms.min(STEP_MS);
        sleep_ms(step_ms);
        left_ms = left_ms.saturating_sub(step_ms);
    }
}

/// The waiting thread polls.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wake(_word: &AtomicU32) {}

/// An id that no other running thread has.
pub(crate) fn thread_id() -> usize {
    pthread_self()
}

/// Number of configured processors. The runtime starts at most that many GC threads.
pub(crate) fn processors() -> usize {
    usize::try_from(sysconf(os::PROCESSORS_CONFIGURED)).unwrap_or(1).max(1)
}

/// Zeroed memory, aligned to a page. It is never unmapped, because a late callback may still use it.
pub(crate) fn map(length: usize) -> Option<NonNull<u8>> {
    map_with(length, PRIVATE)
}

/// The same, for memory of which little may be used: it counts only as it is written.
pub(crate) fn map_sparse(length: usize) -> Option<NonNull<u8>> {
    map_with(length, PRIVATE | os::MAP_NORESERVE)
}

/// Gives memory of [`map_sparse`] back.
///
/// # Safety
/// The memory was mapped with this length, and nothing uses it any more.
pub(crate) unsafe fn unmap(memory: *mut u8, length: usize) {
    // SAFETY: by the contract.
    unsafe { munmap(memory.cast(), length) };
}

/// `MAP_PRIVATE`.
const PRIVATE: c_int = 2;

fn map_with(length: usize, flags: c_int) -> Option<NonNull<u8>> {
    const READ_WRITE: c_int = 1 | 2;
    let flags = os::MAP_ANONYMOUS | flags;
    // SAFETY: a new mapping at an address of the system's choice affects no other memory.
    let memory = unsafe { mmap(ptr::null_mut(), length, READ_WRITE, flags, -1, 0) };
    if memory.addr() == usize::MAX { None } else { NonNull::new(memory.cast()) }
}

/// What the loader knows of the library that contains `address`.
fn library(address: *const c_void) -> Option<DlInfo> {
    let mut info = DlInfo {
        file_name: ptr::null(),
        base: ptr::null_mut(),
        symbol_name: ptr::null(),
        symbol: ptr::null_mut(),
    };
    // SAFETY: `info` can be written.
    (unsafe { dladdr(address, &raw mut info) } != 0).then_some(info)
}

/// First address of that library.
#[cfg(target_os = "linux")]
pub(super) fn library_base(address: *const c_void) -> Option<usize> {
    library(address).map(|info| info.base.expose_provenance()).filter(|base| *base != 0)
}

/// Keeps the library that contains `address` mapped until the process ends.
pub(crate) fn pin(address: *const c_void) -> bool {
    let Some(info) = library(address).filter(|info| !info.file_name.is_null()) else { return false };
    const RTLD_LAZY: c_int = 1;
    // SAFETY: the loader's own name of a loaded library, which is found, not loaded again.
    let handle = unsafe { dlopen(info.file_name, RTLD_LAZY | os::RTLD_NOLOAD | os::RTLD_NODELETE) };
    !handle.is_null()
}

/// Copies text into a zero-terminated buffer; `None`: it does not fit.
fn terminated<const N: usize>(text: &str) -> Option<[c_char; N]> {
    let mut buffer = [0; N];
    let space = buffer.get_mut(..N.checked_sub(1)?)?.get_mut(..text.len())?;
    for (to, from) in space.iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    Some(buffer)
}

/// Removes a variable from the C library's environment.
pub(crate) fn unset_environment(name: &str) {
    if let Some(name) = terminated::<256>(name) {
        // SAFETY: a zero-terminated name. Other threads must not read the environment meanwhile: this is called at
        // startup, before the program runs.
        unsafe { unsetenv(name.as_ptr()) };
    }
}

/// Names the calling thread, with at most 15 bytes.
pub(crate) fn name_thread(name: &CStr) {
    #[cfg(target_os = "linux")]
    {
        const SET_NAME: c_int = 15;
        // SAFETY: a zero-terminated name, which the system copies.
        unsafe { prctl(SET_NAME, name.as_ptr()) };
    }
    #[cfg(not(target_os = "linux"))]
    // SAFETY: as above.
    unsafe {
        pthread_setname_np(name.as_ptr());
    }
}

/// Starts a detached thread that gets no signals but those for its own faults.
pub(crate) fn spawn(main: extern "C" fn()) -> bool {
    extern "C" fn start(argument: *mut c_void) -> *mut c_void {
        // SAFETY: `spawn` passed a function of this type.
        let main: extern "C" fn() = unsafe { core::mem::transmute(argument) };
        main();
        ptr::null_mut()
    }
    const STACK_BYTES: usize = 512 * 1024;
    const DETACHED: [c_int; 2] = [1, 2];
    const FAULTS: [c_int; 5] = [4, 5, os::SIGBUS, 8, 11];
    let mut attributes = Opaque([0; 16]);
    let (mut blocked, mut before) = (Opaque([0; 16]), Opaque([0; 16]));
    let detached = if cfg!(target_os = "linux") { DETACHED[0] } else { DETACHED[1] };
    let mut thread = 0;
    // SAFETY: the buffers are large enough for the C library's types, are initialised by it before their use, and
    // outlive the calls.
    unsafe {
        if pthread_attr_init(&raw mut attributes) != 0 {
            return false;
        }
        pthread_attr_setdetachstate(&raw mut attributes, detached);
        pthread_attr_setstacksize(&raw mut attributes, STACK_BYTES);
        sigfillset(&raw mut blocked);
        for signal in FAULTS {
            sigdelset(&raw mut blocked, signal);
        }
        // A thread inherits the signal mask of the thread that starts it.
        let masked = pthread_sigmask(os::SIG_SETMASK, &raw const blocked, &raw mut before) == 0;
        let argument = main as *mut c_void;
        let started = pthread_create(&raw mut thread, &raw const attributes, start, argument) == 0;
        if masked {
            pthread_sigmask(os::SIG_SETMASK, &raw const before, ptr::null_mut());
        }
        pthread_attr_destroy(&raw mut attributes);
        started
    }
}
