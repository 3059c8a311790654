//! Environment and arguments of a process.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::super::socket_place::DEFAULT_DIRECTORY;
use super::proc::read;

/// Variables or arguments of a process that are read; the rest is left out. Programs have far fewer. An empty one takes
/// one byte in the process and many times that here, so a process could otherwise make this one run out of memory.
const MAX_ENTRIES: usize = 16_384;

fn split_nul(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.strip_suffix(b"\0").unwrap_or(bytes).split(|b| *b == 0)
}

fn parse_environ(bytes: &[u8]) -> Vec<(OsString, OsString)> {
    split_nul(bytes)
        .take(MAX_ENTRIES)
        .filter_map(|entry| {
            let separator = entry.iter().position(|b| *b == b'=')?;
            let (name, value) = (&entry[..separator], &entry[separator + 1..]);
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        })
        .collect()
}

pub(crate) fn environ(pid: u32) -> Option<Vec<(OsString, OsString)>> {
    read(pid, "environ").map(|bytes| parse_environ(&bytes))
}

/// Looks for the variable in the bytes of the environment, without copying the others.
fn has_value(environ: &[u8], name: &str, mut wanted: impl FnMut(&OsStr) -> bool) -> bool {
    split_nul(environ)
        .filter_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .any(|value| wanted(OsStr::from_bytes(value)))
}

pub(crate) fn has_variable(pid: u32, name: &str, wanted: impl FnMut(&OsStr) -> bool) -> bool {
    read(pid, "environ").is_some_and(|environ| has_value(&environ, name, wanted))
}

fn parse_command_line(bytes: &[u8]) -> Vec<OsString> {
    let most = if bytes.is_empty() { 0 } else { MAX_ENTRIES };
    split_nul(bytes).take(most).map(|argument| OsString::from_vec(argument.to_vec())).collect()
}

pub(super) fn command_line(pid: u32) -> Option<Vec<OsString>> {
    read(pid, "cmdline").map(|bytes| parse_command_line(&bytes))
}

fn parse_temporary_directory(environ: &[u8]) -> PathBuf {
    /// The kernel takes no path of more than 4096 bytes, so a path that is cut here is still too long.
    const MAX_PATH: usize = 8192;
    let value = split_nul(environ).find_map(|entry| entry.strip_prefix(b"TMPDIR=").filter(|v| !v.is_empty()));
    let value = value.map(|value| &value[..value.len().min(MAX_PATH)]);
    value.map_or(Path::new(DEFAULT_DIRECTORY), |value| Path::new(OsStr::from_bytes(value))).to_owned()
}

/// The directory in which a process has its socket, as the process names it. `None` if its environment cannot be read.
pub(super) fn temporary_directory(pid: u32) -> Option<PathBuf> {
    read(pid, "environ").map(|environ| parse_temporary_directory(&environ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A process can fill 64 MiB with entries, though fewer are read.
    #[test]
    fn entries_beyond_the_limit_are_left_out() {
        let many = |entry: &[u8]| entry.repeat((64 << 20) / entry.len());
        assert_eq!(parse_environ(&many(b"=\0")).len(), MAX_ENTRIES);
        assert_eq!(parse_environ(&many(b"\0")).len(), 0);
        assert_eq!(parse_command_line(&many(b"\0")).len(), MAX_ENTRIES);
        assert_eq!(parse_command_line(b"").len(), 0);
        assert_eq!(parse_command_line(b"a\0\0"), ["a", ""]);
        let mut late = many(b"=\0");
        late.extend(b"PORT=here\0");
        assert!(has_value(&late, "PORT", |value| value == "here"));
        assert!(!has_value(&late, "PORT", |value| value == "there"));
        assert!(!has_value(&many(b"\0"), "PORT", |_| true));
        let long = [b"TMPDIR=/".as_slice(), &many(b"x")].concat();
        assert_eq!(parse_temporary_directory(&long).as_os_str().len(), 8192);
    }

    #[test]
    fn a_variable_is_found_by_its_whole_name_in_any_place() {
        let has = |name, value: &str| has_value(b"XA=1\0A=1\0AB=2\0A=3\0B", name, |found| found == value);
        assert!(has("A", "1") && has("A", "3") && has("AB", "2"));
        assert!(!has("A", "2") && !has("B", "") && !has("", "XA"));
    }

    #[test]
    fn the_first_temporary_directory_counts() {
        let of = |environ: &[u8]| parse_temporary_directory(environ);
        assert_eq!(of(b"A=1\0TMPDIR=/var/tmp\0TMPDIR=/x\0"), Path::new("/var/tmp"));
        assert_eq!(of(b"TMPDIR=\0XTMPDIR=/x\0TMPDIR"), Path::new(DEFAULT_DIRECTORY));
        assert_eq!(of(b""), Path::new(DEFAULT_DIRECTORY));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_environ(&bytes);
            let _ = parse_command_line(&bytes);
            let _ = parse_temporary_directory(&bytes);
        }
    }
}
