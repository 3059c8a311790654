//! Systems on which a running process is not copied: Windows has no `fork`, and on macOS it was never tried.

#[cfg(unix)]
unsafe extern "C" {
    fn getentropy(bytes: *mut core::ffi::c_void, length: usize) -> core::ffi::c_int;
}

/// Which of the two processes returns from [`split`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(dead_code, reason = "there is no copy")]
pub(crate) enum Side {
    /// The copy.
    Copy,
    /// The program, with the copy's process id.
    Program(i32),
}

/// A copy that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) cpu_ns: u64,
}

/// Whether this system can copy a process.
pub(crate) const POSSIBLE: bool = false;

/// Always fails.
///
/// # Errors
/// Always.
///
/// # Safety
/// None.
pub(crate) unsafe fn split() -> Result<Side, i32> {
    Err(0)
}

/// Does nothing.
pub(crate) fn retire(_keep: i32, _deadline_ms: u32) {}

/// Does nothing.
pub(crate) fn sacrifice(_pid: i32) {}

/// There is no copy to share it with.
pub(crate) fn shared_number() -> Option<&'static core::sync::atomic::AtomicU32> {
    None
}

/// Unknown.
pub(crate) fn unshared_bytes() -> u64 {
    0
}

/// Numbers that nobody can guess.
#[cfg(unix)]
pub(crate) fn random() -> [u64; 2] {
    let mut numbers = [super::tick_ns(), 0];
    // SAFETY: `numbers` has this size.
    unsafe { getentropy(numbers.as_mut_ptr().cast(), size_of_val(&numbers)) };
    numbers
}

/// Any numbers: no graph leaves the process.
#[cfg(windows)]
pub(crate) fn random() -> [u64; 2] {
    [super::tick_ns(), 0]
}

/// Unknown.
pub(crate) fn own_id() -> i32 {
    0
}

/// Unknown.
pub(crate) fn parent_id() -> i32 {
    0
}

/// Never called: there is no copy.
pub(crate) fn exit(_status: i32) -> ! {
    loop {
        super::sleep_ms(1000);
    }
}

/// Does nothing.
pub(crate) fn end(_pid: i32) {}

/// There is none.
pub(crate) fn ended(_pid: i32) -> Option<Ended> {
    Some(Ended { status: -1, cpu_ns: 0 })
}
