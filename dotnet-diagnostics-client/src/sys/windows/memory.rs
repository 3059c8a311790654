//! Environment and command line of another process, read from its process environment block (PEB).
//!
//! The offsets are those of 64-bit Windows since Windows 7 (`RTL_USER_PROCESS_PARAMETERS`). Everything that is read
//! belongs to the other process, and may be anything.

use std::ffi::{OsStr, OsString, c_void};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
use std::slice;

use windows_sys::Wdk::System::Threading::NtQueryInformationProcess;
use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::System::Diagnostics::Debug::ReadProcessMemory;
use windows_sys::Win32::System::Threading::{PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_VM_READ};
use windows_sys::Win32::UI::Shell::CommandLineToArgvW;

use super::handle::open;
use super::text::{os_string, units_of};

/// In the PEB: the address of the parameters.
const PARAMETERS: usize = 0x20;
/// In the parameters: a `UNICODE_STRING`, and the address of the environment.
const COMMAND_LINE: usize = 0x70;
const ENVIRONMENT: usize = 0x80;
/// More than Windows lets a process have.
const MAX_ENVIRONMENT_UNITS: usize = 1 << 20;
const MAX_VARIABLES: usize = 16_384;
const MAX_ARGUMENTS: usize = 16_384;

/// The parameters of a process.
struct Parameters {
    process: OwnedHandle,
    address: usize,
}

impl Parameters {
    fn of(pid: u32) -> Option<Self> {
        const BASIC_INFORMATION: i32 = 0;
        let process = open(pid, PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_VM_READ).ok()?;
        // `PROCESS_BASIC_INFORMATION`: the second word is the address of the PEB.
        let mut information = [0_usize; 6];
        let bytes = size_of_val(&information) as u32;
        // SAFETY: the handle is open, and `information` has `bytes` bytes.
        let status = unsafe {
            NtQueryInformationProcess(
                process.as_raw_handle(),
                BASIC_INFORMATION,
                information.as_mut_ptr().cast(),
                bytes,
                ptr::null_mut(),
            )
        };
        if status != 0 {
            return None;
        }
        let mut parameters = Self { process, address: 0 };
        parameters.address = parameters.word(information[1].checked_add(PARAMETERS)?)?;
        Some(parameters)
    }

    /// Fills the buffer from an address of the process. Returns whether all of it could be read.
    fn read(&self, address: usize, buffer: &mut [u16]) -> bool {
        let bytes = size_of_val(buffer);
        let from = ptr::without_provenance::<c_void>(address);
        let mut read = 0;
        // SAFETY: the handle is open, and the buffer has `bytes` bytes. The address is of the other process.
        let ok = unsafe {
            ReadProcessMemory(
                self.process.as_raw_handle(),
                from,
                buffer.as_mut_ptr().cast(),
                bytes,
                &raw mut read,
            )
        };
        ok != 0 && read == bytes
    }

    fn word(&self, address: usize) -> Option<usize> {
        let mut units = [0_u16; 4];
        self.read(address, &mut units)
            .then(|| units.iter().rev().fold(0, |word, unit| word << 16 | usize::from(*unit)))
    }

    /// Calls `each` for every `NAME=value` of the environment, until it returns `false`. `None`: it cannot be read.
    fn each_variable(&self, mut each: impl FnMut(&[u16]) -> bool) -> Option<()> {
        const STEP: usize = 512;
        let mut address = self.word(self.address.checked_add(ENVIRONMENT)?)?;
        let (mut step, mut seen) = (STEP, 0);
        let mut variable = Vec::new();
        while seen < MAX_ENVIRONMENT_UNITS {
            let mut units = [0_u16; STEP];
            let part = units.get_mut(..step)?;
            // The environment may end just before memory that cannot be read.
            if !self.read(address, part) {
                step /= 2;
                if step == 0 {
                    return None;
                }
                continue;
            }
            for unit in part {
                match *unit {
                    0 if variable.is_empty() => return Some(()),
                    0 if !each(&variable) => return Some(()),
                    0 => variable.clear(),
                    unit => variable.push(unit),
                }
            }
            address = address.checked_add(step * size_of::<u16>())?;
            seen += step;
        }
        Some(())
    }
}

/// Name and value of `NAME=value`. The names of some hidden variables begin with `=`.
fn split(variable: &[u16]) -> Option<(&[u16], &[u16])> {
    let at = variable.iter().skip(1).position(|unit| *unit == u16::from(b'='))?.checked_add(1)?;
    Some((variable.get(..at)?, variable.get(at.checked_add(1)?..)?))
}

/// The environment that a process has now.
pub(crate) fn environ(pid: u32) -> Option<Vec<(OsString, OsString)>> {
    let mut all = Vec::new();
    Parameters::of(pid)?.each_variable(|variable| {
        all.extend(split(variable).map(|(name, value)| (os_string(name), os_string(value))));
        all.len() < MAX_VARIABLES
    })?;
    Some(all)
}

pub(crate) fn has_variable(pid: u32, name: &str, mut wanted: impl FnMut(&OsStr) -> bool) -> bool {
    let name: Vec<u16> = name.encode_utf16().collect();
    let mut found = false;
    if let Some(parameters) = Parameters::of(pid) {
        parameters.each_variable(|variable| {
            found = split(variable).is_some_and(|(key, value)| key == name && wanted(&os_string(value)));
            !found
        });
    }
    found
}

/// The arguments of a process.
pub(super) fn command_line(pid: u32) -> Option<Vec<OsString>> {
    let parameters = Parameters::of(pid)?;
    let at = parameters.address.checked_add(COMMAND_LINE)?;
    // `UNICODE_STRING`: the length in bytes, then at 8 the address.
    let bytes = parameters.word(at)? & 0xffff;
    let text = parameters.word(at.checked_add(8)?)?;
    let mut line = vec![0_u16; bytes / 2];
    parameters.read(text, &mut line).then(|| arguments(line))
}

fn arguments(mut line: Vec<u16>) -> Vec<OsString> {
    // An empty line would give our own path.
    if line.first().is_none_or(|unit| *unit == 0) {
        return Vec::new();
    }
    line.push(0);
    let mut count = 0;
    // SAFETY: the line ends with a zero.
    let words = unsafe { CommandLineToArgvW(line.as_ptr(), &raw mut count) };
    if words.is_null() {
        return Vec::new();
    }
    let count = usize::try_from(count).unwrap_or(0).min(MAX_ARGUMENTS);
    // SAFETY: the call returned at least `count` addresses, each of text that ends with a zero, in one block.
    let words_of_line = unsafe { slice::from_raw_parts(words, count) };
    // SAFETY: as above.
    let all = words_of_line.iter().map(|word| os_string(unsafe { units_of(*word) })).collect();
    // SAFETY: the block came from this call, and nobody uses it any more.
    unsafe { LocalFree(words.cast()) };
    all
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_childs_environment_and_arguments_are_read() {
        let mut command = Command::new("cmd");
        command.args(["/c", "pause"]).env("GCWATCH_TEST_MARK", "a=b ü").stdin(std::process::Stdio::piped());
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        let environ = environ(child.id()).unwrap();
        assert!(environ.contains(&("GCWATCH_TEST_MARK".into(), "a=b ü".into())), "{environ:?}");
        assert!(has_variable(child.id(), "GCWATCH_TEST_MARK", |value| value == "a=b ü"));
        assert!(!has_variable(child.id(), "GCWATCH_TEST_MARK", |value| value == "a"));
        assert!(!has_variable(child.id(), "GCWATCH_TEST", |_| true));
        let arguments = command_line(child.id()).unwrap();
        assert_eq!(arguments.get(1..), Some(&["/c".into(), "pause".into()][..]), "{arguments:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn arguments_are_taken_apart_as_programs_do_it() {
        let of = |line: &str| arguments(line.encode_utf16().collect());
        assert_eq!(of(r#""C:\my app\run.exe" "a b" c\"d"#), [r"C:\my app\run.exe", "a b", "c\"d"]);
        assert!(of("").is_empty());
    }

    #[test]
    fn names_of_hidden_variables_begin_with_an_equals_sign() {
        let of = |text: &str| {
            let units: Vec<u16> = text.encode_utf16().collect();
            split(&units).map(|(name, value)| (os_string(name), os_string(value)))
        };
        assert_eq!(of("A=b=c"), Some(("A".into(), "b=c".into())));
        assert_eq!(of("=C:=C:\\x"), Some(("=C:".into(), "C:\\x".into())));
        assert_eq!(of("A"), None);
    }
}
