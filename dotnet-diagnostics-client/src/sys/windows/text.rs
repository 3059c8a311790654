//! UTF-16, as the system's calls take and return it.

use std::ffi::{OsStr, OsString};
use std::iter;
use std::os::windows::ffi::{OsStrExt, OsStringExt};

/// UTF-16 with a zero at its end.
pub(super) fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain(iter::once(0)).collect()
}

pub(super) fn os_string(units: &[u16]) -> OsString {
    OsString::from_wide(units)
}

/// # Safety
/// `text` points to UTF-16 that ends with a zero and outlives the result.
pub(super) unsafe fn units_of<'a>(text: *const u16) -> &'a [u16] {
    // SAFETY: by the contract, everything up to the zero can be read.
    let length = (0..).take_while(|index| unsafe { *text.add(*index) } != 0).count();
    // SAFETY: these units were just read.
    unsafe { std::slice::from_raw_parts(text, length) }
}
