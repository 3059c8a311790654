//! The libraries that a process has loaded.

use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::PathBuf;

use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, MODULEENTRY32W, Module32FirstW, Module32NextW, TH32CS_SNAPMODULE,
};

use super::text::os_string;

/// More libraries than any program loads.
const MAX_MODULES: usize = 16_384;

/// The files of all libraries, the executable first. `None`: they cannot be read.
pub(super) fn of(pid: u32) -> Option<Vec<PathBuf>> {
    // SAFETY: takes no pointers; the result is checked before it is used.
    let raw = unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, pid) };
    if raw == INVALID_HANDLE_VALUE {
        return None;
    }
    // SAFETY: the handle came from the system, is valid and nobody else closes it.
    let handle = unsafe { OwnedHandle::from_raw_handle(raw) };
    // SAFETY: the structure is plain data, for which all zeros are valid.
    let mut entry: MODULEENTRY32W = unsafe { mem::zeroed() };
    entry.dwSize = size_of::<MODULEENTRY32W>() as u32;
    let mut all = Vec::new();
    // SAFETY: the handle is open, and the entry is writable and has its size set as the call wants it.
    let mut more = unsafe { Module32FirstW(handle.as_raw_handle(), &raw mut entry) };
    while more != 0 && all.len() < MAX_MODULES {
        let path = entry.szExePath.split(|unit| *unit == 0).next().unwrap_or_default();
        all.push(PathBuf::from(os_string(path)));
        // SAFETY: as above.
        more = unsafe { Module32NextW(handle.as_raw_handle(), &raw mut entry) };
    }
    (!all.is_empty()).then_some(all)
}

/// The runtime's file among them.
pub(super) fn runtime(modules: &[PathBuf]) -> Option<PathBuf> {
    let is_runtime =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("coreclr.dll"));
    modules.iter().find(is_runtime).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_libraries_are_listed() {
        let modules = of(std::process::id()).unwrap();
        let has = |name: &str| {
            modules.iter().any(|path| path.file_name().is_some_and(|file| file.eq_ignore_ascii_case(name)))
        };
        assert!(has("kernel32.dll") && has("ntdll.dll"), "{modules:?}");
        assert_eq!(runtime(&modules), None);
        assert_eq!(runtime(&[r"C:\app\CoreCLR.dll".into()]), Some(r"C:\app\CoreCLR.dll".into()));
    }
}
