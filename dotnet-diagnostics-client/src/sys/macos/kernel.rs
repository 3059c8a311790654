//! What the kernel of macOS says about processes.
#![expect(unsafe_code, reason = "these calls have no safe binding")]

use std::ffi::{OsString, c_int, c_void};
use std::mem;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::ptr;

/// What a process is, apart from its arguments.
pub(super) struct Status {
    pub(super) parent_pid: u32,
    pub(super) uid: u32,
    /// In seconds since 1970. Known of this user's processes, or to root.
    pub(super) start_time: Option<u64>,
}

pub(super) fn status(pid: u32) -> Option<Status> {
    // SAFETY: this structure is what the kernel writes for this request.
    if let Some(all) = unsafe { info::<libc::proc_bsdinfo>(pid, libc::PROC_PIDTBSDINFO) } {
        let start_time = Some(all.pbi_start_tvsec);
        return Some(Status { parent_pid: all.pbi_ppid, uid: all.pbi_uid, start_time });
    }
    // SAFETY: as above. The short form is told of other users' processes, too.
    let short = unsafe { info::<libc::proc_bsdshortinfo>(pid, libc::PROC_PIDT_SHORTBSDINFO) }?;
    Some(Status { parent_pid: short.pbsi_ppid, uid: short.pbsi_uid, start_time: None })
}

/// # Safety
/// `T` has to be plain numbers, and what the kernel writes for `request`.
unsafe fn info<T>(pid: u32, request: c_int) -> Option<T> {
    let pid = c_int::try_from(pid).ok()?;
    let size = c_int::try_from(size_of::<T>()).ok()?;
    // SAFETY: plain numbers, for which all zeros are valid.
    let mut value: T = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes at most `size` bytes, and `value` has that many.
    let written = unsafe { libc::proc_pidinfo(pid, request, 0, (&raw mut value).cast::<c_void>(), size) };
    (written == size).then_some(value)
}

/// The ids of all processes.
pub(super) fn pids() -> Vec<u32> {
    // More than macOS has at a time.
    let mut pids = vec![0 as c_int; 1 << 16];
    let Ok(bytes) = c_int::try_from(size_of_val(pids.as_slice())) else { return Vec::new() };
    // SAFETY: the kernel writes at most `bytes` bytes, and `pids` has that many.
    let count = unsafe { libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes) };
    pids.truncate(usize::try_from(count).unwrap_or(0));
    let mut pids: Vec<u32> = pids.into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect();
    pids.retain(|pid| *pid != 0);
    pids
}

pub(super) fn executable(pid: u32) -> Option<PathBuf> {
    let mut path = vec![0u8; libc::PROC_PIDPATHINFO_MAXSIZE as usize];
    let (pid, size) = (c_int::try_from(pid).ok()?, u32::try_from(path.len()).ok()?);
    // SAFETY: the kernel writes at most `size` bytes, and `path` has that many.
    let length = unsafe { libc::proc_pidpath(pid, path.as_mut_ptr().cast(), size) };
    path.truncate(usize::try_from(length).ok().filter(|length| *length > 0)?);
    Some(OsString::from_vec(path).into())
}

/// The block of arguments and variables with which a process was started, as the kernel gives it.
pub(super) fn arguments(pid: u32) -> Option<Vec<u8>> {
    /// `ARG_MAX`, and room for the count in front.
    const MAX_BYTES: usize = (1 << 20) + 4096;
    let mut request = [libc::CTL_KERN, libc::KERN_PROCARGS2, c_int::try_from(pid).ok()?];
    let mut block = vec![0u8; MAX_BYTES];
    let mut length = block.len();
    // SAFETY: the request has three numbers; the kernel writes at most `length` bytes, and `block` has that many.
    let status = unsafe {
        libc::sysctl(request.as_mut_ptr(), 3, block.as_mut_ptr().cast(), &raw mut length, ptr::null_mut(), 0)
    };
    block.truncate(length);
    (status == 0).then_some(block)
}
