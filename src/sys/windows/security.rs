//! Directories and files that no other user can change.
#![expect(unsafe_code, reason = "the system's calls have no safe binding")]

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr;

use dotnet_diagnostics_client::{SecurityDescriptor, own_user_sid, sid_text};
use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{GetSecurityInfo, SE_FILE_OBJECT};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACL, DACL_SECURITY_INFORMATION, GetAce, OWNER_SECURITY_INFORMATION, PSID,
};
use windows_sys::Win32::Storage::FileSystem::CreateDirectoryW;

/// The system itself, and administrators: they can do everything anyway.
const TRUSTED: [&str; 2] = ["S-1-5-18", "S-1-5-32-544"];
/// Rights to change a file, what a directory holds, or who has which right.
const CHANGE: u32 = 0x0000_0002 | 0x0000_0004 | 0x0000_0040 | 0x0001_0000 | 0x000c_0000 | 0x5000_0000;

/// Makes a directory that only this user and administrators can change, and that `reader` can read. It is no error if
/// the directory exists; [`only_trusted_can_write`] tells whether it is fit.
///
/// # Errors
/// Those of the system.
pub(crate) fn make_directory(path: &Path, reader: &str) -> io::Result<()> {
    let own = own_user_sid()?;
    let mut sddl = format!("D:P(A;OICI;FA;;;{own})(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)");
    if reader != own {
        sddl += &format!("(A;OICI;FRFX;;;{reader})");
    }
    let wide: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let made = SecurityDescriptor::from_sddl(&sddl)?.with_attributes(|attributes| {
        // SAFETY: the path ends with a zero, and the attributes are valid during the call.
        match unsafe { CreateDirectoryW(wide.as_ptr(), attributes.cast()) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    });
    made.or_else(|e| if e.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(e) })
}

/// Whether only this user, administrators and the system can change an open file or directory.
///
/// # Errors
/// Those of the system.
pub(crate) fn only_trusted_can_write(file: &File) -> io::Result<bool> {
    let mut owner: PSID = ptr::null_mut();
    let mut acl: *mut ACL = ptr::null_mut();
    let mut descriptor = ptr::null_mut();
    // SAFETY: the handle is open, and the three results can be written; the others are not asked for.
    let error = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
            &raw mut owner,
            ptr::null_mut(),
            &raw mut acl,
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error.cast_signed()));
    }
    // SAFETY: owner and list lie in the descriptor, which is freed below.
    let answer = unsafe { trusted(owner, acl) };
    // SAFETY: the memory came from the call above, and nobody uses it any more.
    unsafe { LocalFree(descriptor) };
    answer
}

/// # Safety
/// `owner` is valid; `acl` is valid or null.
unsafe fn trusted(owner: PSID, acl: *const ACL) -> io::Result<bool> {
    const ACCESS_ALLOWED: u8 = 0;
    const ACCESS_DENIED: u8 = 1;
    const INHERIT_ONLY: u8 = 8;
    let own = own_user_sid()?;
    let is_trusted = |sid: &str| sid == own || TRUSTED.contains(&sid);
    // Without a list everybody has every right. The owner can always change the list.
    // SAFETY: by the contract.
    if acl.is_null() || !is_trusted(&unsafe { sid_text(owner) }?) {
        return Ok(false);
    }
    // SAFETY: by the contract.
    let count = unsafe { (*acl).AceCount };
    for index in 0..u32::from(count) {
        let mut entry = ptr::null_mut();
        // SAFETY: the list is valid, and `entry` can be written.
        if unsafe { GetAce(acl, index, &raw mut entry) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: every entry begins with a header, and those that allow access have this form.
        let entry = unsafe { &*entry.cast::<ACCESS_ALLOWED_ACE>() };
        match entry.Header.AceType {
            ACCESS_DENIED => continue,
            ACCESS_ALLOWED => {}
            // A kind of entry that this does not know may allow anything.
            _ => return Ok(false),
        }
        let sid: PSID = (&raw const entry.SidStart).cast_mut().cast();
        let changes = entry.Mask & CHANGE != 0 && entry.Header.AceFlags & INHERIT_ONLY == 0;
        // SAFETY: the identifier follows the header in the valid entry.
        if changes && !is_trusted(&unsafe { sid_text(sid) }?) {
            return Ok(false);
        }
    }
    Ok(true)
}
