//! Users and access lists.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle, RawHandle};
use std::ptr;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    GetTokenInformation, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES, TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, OpenProcessToken, PROCESS_QUERY_LIMITED_INFORMATION,
};

use super::handle::open;
use super::text::{os_string, units_of, wide};

/// The identifier (SID) of the user of this process, such as `S-1-5-21-...`. Windows only.
///
/// # Errors
/// Those of the system.
pub fn own_user_sid() -> io::Result<String> {
    // SAFETY: returns a constant that stands for this process.
    user_of(unsafe { GetCurrentProcess() })
}

/// The identifier (SID) of the user of a process. Windows only.
///
/// # Errors
/// The process has ended, or this user may not ask whose it is.
pub fn user_sid(pid: u32) -> io::Result<String> {
    user_of(open(pid, PROCESS_QUERY_LIMITED_INFORMATION)?.as_raw_handle())
}

fn user_of(process: RawHandle) -> io::Result<String> {
    let mut token = ptr::null_mut();
    // SAFETY: `process` is an open handle, and `token` can be written.
    if unsafe { OpenProcessToken(process, TOKEN_QUERY, &raw mut token) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    // A `TOKEN_USER` and the identifier that it points to, which has at most 68 bytes.
    let mut user = [0_u64; 32];
    let mut length = 0;
    // SAFETY: the token is open, and `user` is aligned and has as many bytes as stated.
    let ok = unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            user.as_mut_ptr().cast(),
            size_of_val(&user) as u32,
            &raw mut length,
        )
    };
    if ok == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above filled in a `TOKEN_USER`, whose identifier lies in `user`.
    unsafe { sid_text((*user.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}

/// An identifier as text.
///
/// # Safety
/// `sid` points to a valid identifier.
///
/// # Errors
/// Those of the system.
pub unsafe fn sid_text(sid: PSID) -> io::Result<String> {
    let mut text = ptr::null_mut();
    // SAFETY: by the contract; `text` can be written.
    if unsafe { ConvertSidToStringSidW(sid, &raw mut text) } == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has returned a string that ends with a zero.
    let sid = os_string(unsafe { units_of(text) }).to_string_lossy().into_owned();
    // SAFETY: the string came from the call above, and nobody uses it any more.
    unsafe { LocalFree(text.cast()) };
    Ok(sid)
}

/// A security descriptor, to make a pipe, a file or a directory with. Windows only.
#[derive(Debug)]
pub struct SecurityDescriptor(PSECURITY_DESCRIPTOR);

impl SecurityDescriptor {
    /// From its text form (SDDL).
    ///
    /// # Errors
    /// The text is no descriptor.
    pub fn from_sddl(text: &str) -> io::Result<Self> {
        let text = wide(text.as_ref());
        let mut descriptor = ptr::null_mut();
        // SAFETY: the text ends with a zero, `descriptor` can be written, and the size is not asked for.
        let ok = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        };
        if ok == 0 { Err(io::Error::last_os_error()) } else { Ok(Self(descriptor)) }
    }

    /// Calls `make` with the address of a `SECURITY_ATTRIBUTES`, which is valid during the call. The handle is not
    /// inherited.
    pub fn with_attributes<R>(&self, make: impl FnOnce(*mut c_void) -> R) -> R {
        let mut attributes = SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
            lpSecurityDescriptor: self.0,
            bInheritHandle: 0,
        };
        make((&raw mut attributes).cast())
    }
}

// SAFETY: the descriptor is plain memory that nobody changes.
unsafe impl Send for SecurityDescriptor {}
// SAFETY: as above.
unsafe impl Sync for SecurityDescriptor {}

impl Drop for SecurityDescriptor {
    fn drop(&mut self) {
        // SAFETY: the memory came from the system for this value, which frees it once.
        unsafe { LocalFree(self.0) };
    }
}
