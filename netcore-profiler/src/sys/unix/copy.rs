//! The forked copy of the process, which walks its own copy of the heap (Linux).

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr;
use core::sync::atomic::AtomicU32;

use super::{Opaque, errno, map_with, os, pthread_sigmask, sigdelset, sigfillset, syscall};

/// How much lower than the program's the priority of the copy is: where both want a processor, the copy gets a tenth of it.
/// With the lowest priority of all it would live long on a busy machine, and the program would have all memory copied that
/// it writes meanwhile.
const LOWER_BY: c_int = 10;
const ALARM: c_int = 14;
const KILL: c_int = 9;
/// Signals for faults, and the one of the deadline.
const ENDING: [c_int; 7] = [4, 5, 6, os::SIGBUS, 8, 11, ALARM];

#[repr(C)]
struct TimeValue {
    seconds: c_long,
    microseconds: c_long,
}

#[repr(C)]
struct Timer {
    interval: TimeValue,
    first: TimeValue,
}

#[repr(C)]
struct Usage {
    user: TimeValue,
    system: TimeValue,
    rest: [c_long; 14],
}

#[repr(C)]
struct Limit {
    current: u64,
    most: u64,
}

unsafe extern "C" {
    fn fork() -> c_int;
    safe fn _exit(status: c_int) -> !;
    safe fn getpid() -> c_int;
    safe fn getppid() -> c_int;
    safe fn kill(pid: c_int, signal: c_int) -> c_int;
    fn wait4(pid: c_int, status: *mut c_int, options: c_int, usage: *mut Usage) -> c_int;
    fn signal(number: c_int, handler: *const c_void) -> *const c_void;
    fn setitimer(which: c_int, timer: *const Timer, old: *mut Timer) -> c_int;
    fn setrlimit(resource: c_int, limit: *const Limit) -> c_int;
    safe fn nice(lower_by: c_int) -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn read(fd: c_int, bytes: *mut c_void, length: usize) -> isize;
    fn write(fd: c_int, bytes: *const c_void, length: usize) -> isize;
    safe fn close(fd: c_int) -> c_int;
}

/// Which of the two processes returns from [`split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The copy.
    Copy,
    /// The program, with the copy's process id.
    Program(i32),
}

/// A copy that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    /// As `waitpid` says; -1: somebody else has waited for it.
    pub(crate) status: i32,
    /// Its processor time in ns.
    pub(crate) cpu_ns: u64,
}

/// Whether this system can copy a process.
pub(crate) const POSSIBLE: bool = true;

/// Makes a copy of the process with the calling thread alone. It is the C library's `fork`, which makes `malloc` usable
/// in the copy.
///
/// # Errors
/// The system's error number.
///
/// # Safety
/// The copy takes no lock that another thread may hold, and ends with [`exit`].
pub(crate) unsafe fn split() -> Result<Side, i32> {
    // SAFETY: by the contract.
    match unsafe { fork() } {
        0 => Ok(Side::Copy),
        pid @ 1.. => Ok(Side::Program(pid)),
        _ => Err(errno()),
    }
}

/// Makes the copy harmless: no signals and handlers of the program, no file but `keep`, a low priority, no core dump,
/// and an end after `deadline_ms`.
pub(crate) fn retire(keep: i32, deadline_ms: u32) {
    const CORE: c_int = 4;
    const REAL_TIME: c_int = 0;
    let mut blocked = Opaque([0; 16]);
    // SAFETY: only the copy's own state is changed, and it has one thread. The buffers have the sizes that the C library
    // expects. A null handler is the system's default.
    unsafe {
        sigfillset(&raw mut blocked);
        for number in ENDING {
            signal(number, ptr::null());
            sigdelset(&raw mut blocked, number);
        }
        pthread_sigmask(os::SIG_SETMASK, &raw const blocked, ptr::null_mut());
        let none = Limit { current: 0, most: 0 };
        setrlimit(CORE, &raw const none);
        let first = TimeValue {
            seconds: c_long::from(deadline_ms / 1000),
            microseconds: c_long::from(deadline_ms % 1000).wrapping_mul(1000).wrapping_add(1),
        };
        let timer = Timer { interval: TimeValue { seconds: 0, microseconds: 0 }, first };
        setitimer(REAL_TIME, &raw const timer, ptr::null_mut());
    }
    super::name_thread(c"gcwatch-graph");
    nice(LOWER_BY);
    close_all_but(keep);
}

/// Makes the copy the first process to be killed when memory is short. The program does this before it goes on: its next
/// writes need memory, and the copy may not have run by then.
pub(crate) fn sacrifice(pid: i32) {
    let mut digits = [0_u8; 10];
    let mut rest = pid.unsigned_abs();
    for digit in digits.iter_mut().rev() {
        *digit = b'0'.wrapping_add((rest % 10) as u8);
        rest /= 10;
    }
    let digits = digits.iter().skip_while(|digit| **digit == b'0');
    let mut path = [0_u8; 40];
    for (to, from) in path.iter_mut().zip(b"/proc/".iter().chain(digits).chain(b"/oom_score_adj")) {
        *to = *from;
    }
    if let Ok(path) = CStr::from_bytes_until_nul(&path) {
        write_file(path, b"1000");
    }
}

fn close_all_but(keep: c_int) {
    /// `close_range`, Linux 5.9; the same number on all architectures.
    const CLOSE_RANGE: c_long = 436;
    const MOST: c_int = 65_536;
    let keep_number = keep as c_long;
    // SAFETY: descriptors of the copy alone; nothing in it uses them any more.
    let closed = unsafe {
        (keep == 0 || syscall(CLOSE_RANGE, 0 as c_long, keep_number.wrapping_sub(1), 0 as c_long) == 0)
            && syscall(CLOSE_RANGE, keep_number.wrapping_add(1), c_long::from(c_int::MAX), 0 as c_long) == 0
    };
    if !closed {
        (0..MOST).filter(|fd| *fd != keep).for_each(|fd| {
            close(fd);
        });
    }
}

fn write_file(path: &CStr, bytes: &[u8]) {
    const WRITE: c_int = 1;
    // SAFETY: a zero-terminated path, and bytes that can be read.
    unsafe {
        let fd = open(path.as_ptr(), WRITE | os::SOCK_CLOEXEC);
        if fd >= 0 {
            write(fd, bytes.as_ptr().cast(), bytes.len());
            close(fd);
        }
    }
}

/// Reads the beginning of a file; returns how much.
fn read_file(path: &CStr, bytes: &mut [u8]) -> usize {
    const READ: c_int = 0;
    // SAFETY: a zero-terminated path, and bytes that can be written.
    unsafe {
        let fd = open(path.as_ptr(), READ | os::SOCK_CLOEXEC);
        if fd < 0 {
            return 0;
        }
        let count = read(fd, bytes.as_mut_ptr().cast(), bytes.len());
        close(fd);
        usize::try_from(count).unwrap_or(0)
    }
}

/// A number, zero at first, that copies share with the program. It is never unmapped.
pub(crate) fn shared_number() -> Option<&'static AtomicU32> {
    const SHARED: c_int = 1;
    let memory = map_with(size_of::<AtomicU32>(), SHARED)?;
    // SAFETY: a page of zeros that is never unmapped, and nobody else has the pointer.
    Some(unsafe { memory.cast().as_ref() })
}

/// How many bytes of memory the calling process shares with no other one; 0: unknown.
pub(crate) fn unshared_bytes() -> u64 {
    let mut text = [0_u8; 4096];
    let length = read_file(c"/proc/self/smaps_rollup", &mut text);
    let text = core::str::from_utf8(text.get(..length).unwrap_or_default()).unwrap_or_default();
    let kib = |line: &str| line.split_ascii_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    let private = text.lines().filter(|line| line.starts_with("Private_"));
    private.filter_map(kib).fold(0_u64, u64::saturating_add).saturating_mul(1024)
}

/// Numbers that nobody can guess.
pub(crate) fn random() -> [u64; 2] {
    #[cfg(target_arch = "x86_64")]
    const RANDOM: c_long = 318;
    #[cfg(target_arch = "aarch64")]
    const RANDOM: c_long = 278;
    let mut numbers = [super::tick_ns(), ptr::from_ref(&RANDOM).addr() as u64];
    // SAFETY: `numbers` has this size.
    unsafe { syscall(RANDOM, numbers.as_mut_ptr(), size_of_val(&numbers), 0 as c_long) };
    numbers
}

/// The process id of the caller.
pub(crate) fn own_id() -> i32 {
    getpid()
}

/// The process id of the caller's parent. It changes when the parent ends.
pub(crate) fn parent_id() -> i32 {
    getppid()
}

/// Ends the copy at once, without anything that the program has registered for its end.
pub(crate) fn exit(status: i32) -> ! {
    _exit(status)
}

/// Kills the copy. It must not have been waited for.
pub(crate) fn end(pid: i32) {
    kill(pid, KILL);
}

/// Waits for the copy, without blocking. `None`: it still runs.
pub(crate) fn ended(pid: i32) -> Option<Ended> {
    const DO_NOT_BLOCK: c_int = 1;
    let time = || TimeValue { seconds: 0, microseconds: 0 };
    let (mut status, mut usage) = (0, Usage { user: time(), system: time(), rest: [0; 14] });
    // SAFETY: both can be written.
    match unsafe { wait4(pid, &raw mut status, DO_NOT_BLOCK, &raw mut usage) } {
        0 => None,
        found if found == pid => {
            let ns = |time: &TimeValue| {
                let seconds_ns = (time.seconds as u64).saturating_mul(1_000_000_000);
                seconds_ns.saturating_add((time.microseconds as u64).saturating_mul(1000))
            };
            Some(Ended { status, cpu_ns: ns(&usage.user).saturating_add(ns(&usage.system)) })
        }
        _ if errno() == os::EINTR => None,
        // The program ignores SIGCHLD, or waits for any child itself.
        _ => Some(Ended { status: -1, cpu_ns: 0 }),
    }
}
