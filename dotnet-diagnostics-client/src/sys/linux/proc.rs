//! Reads `/proc/PID`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

pub(super) fn proc(pid: u32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{file}"))
}

/// Reads a file of `/proc/PID`. The kernel does not say how long it is, so it is read in few, large pieces.
pub(super) fn read(pid: u32, file: &str) -> Option<Vec<u8>> {
    const USUAL_BYTES: usize = 8192;
    /// The kernel starts no program with more than 6 MiB of arguments and variables. A process can later claim any
    /// length for them (`PR_SET_MM`); what is longer is cut.
    const MAX_BYTES: u64 = 6 << 20;
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    File::open(proc(pid, file)).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The first result of `find` for a line of a file of `/proc/PID`, which can be long and is read piece by piece. The
/// outer `None`: the file cannot be read.
pub(super) fn find_line<T>(pid: u32, file: &str, find: impl FnMut(&[u8]) -> Option<T>) -> Option<Option<T>> {
    /// A process can have any number of mappings.
    const MAX_BYTES: u64 = 64 << 20;
    find_line_in(File::open(proc(pid, file)).ok()?.take(MAX_BYTES), find).ok()
}

fn find_line_in<T>(file: impl Read, mut find: impl FnMut(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    const BUFFER_BYTES: usize = 64 << 10;
    let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        let found = find(line.strip_suffix(b"\n").unwrap_or(&line));
        if found.is_some() {
            return Ok(found);
        }
        line.clear();
    }
    Ok(None)
}

/// Fields of `/proc/PID/status`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) ended: bool,
    pub(super) uid: Option<u32>,
    pub(super) parent_pid: Option<u32>,
    pub(super) namespace_pid: Option<u32>,
}

fn parse_status(text: &str) -> Status {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    Status {
        // Z: ended, but its parent has not waited for it. X: being removed.
        ended: field("State:").is_some_and(|state| state.trim_start().starts_with(['Z', 'X'])),
        // Real, effective, saved, file system.
        uid: number(field("Uid:").and_then(|ids| ids.split_whitespace().nth(1))),
        parent_pid: number(field("PPid:").map(str::trim)),
        namespace_pid: number(field("NSpid:").and_then(|ids| ids.split_whitespace().last())),
    }
}

pub(super) fn status(pid: u32) -> Option<Status> {
    let text = read(pid, "status")?;
    Some(parse_status(&String::from_utf8_lossy(&text)))
}

pub(crate) fn exists(pid: u32) -> bool {
    status(pid).is_some_and(|status| !status.ended)
}

pub(crate) fn uid(pid: u32) -> Option<u32> {
    status(pid)?.uid
}

pub(crate) fn pids() -> Vec<u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Each thread has a list of its own.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let mut children = Vec::new();
    for thread in fs::read_dir(proc(pid, "task")).into_iter().flatten().flatten() {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    children
}

/// The fields of `/proc/PID/stat` from the third on. The name before them, in parentheses, can itself contain blanks
/// and parentheses.
fn fields_after_name(stat: &str) -> Option<impl Iterator<Item = &str>> {
    let (_, after_name) = stat.rsplit_once(')')?;
    Some(after_name.split_whitespace())
}

/// Reads `/proc/PID/stat` and parses it.
fn stat<T>(pid: u32, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    parse(&String::from_utf8_lossy(&read(pid, "stat")?))
}

/// Field 22, in clock ticks since boot.
fn parse_start_time(stat: &str) -> Option<u64> {
    fields_after_name(stat)?.nth(19)?.parse().ok()
}

/// Fields 14 and 15: time in user code and in system code.
fn parse_cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = fields_after_name(stat)?.skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    user.checked_add(system)
}

/// Field 3: a signal (`T`) or a debugger (`t`) has stopped the process.
fn parse_is_stopped(stat: &str) -> Option<bool> {
    Some(fields_after_name(stat)?.next()?.starts_with(['T', 't']))
}

pub(crate) fn start_time(pid: u32) -> Option<u64> {
    stat(pid, parse_start_time)
}

pub(crate) fn cpu_ticks(pid: u32) -> Option<u64> {
    stat(pid, parse_cpu_ticks)
}

pub(crate) fn is_stopped(pid: u32) -> bool {
    stat(pid, parse_is_stopped) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_start_time_is_found_after_the_last_parenthesis() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 424242 20 21";
        for name in ["(dotnet)", "(a) S 1 2)", "(x (y) z)", "() )"] {
            let stat = format!("77 {name} {tail}");
            assert_eq!(parse_start_time(&stat), Some(424_242), "{name}");
            assert_eq!(parse_cpu_ticks(&stat), Some(11 + 12), "{name}");
            assert_eq!(parse_is_stopped(&stat), Some(false), "{name}");
        }
        assert_eq!(parse_start_time("77 (dotnet) S 1"), None);
        assert_eq!(parse_is_stopped("77 (dotnet) T 1"), Some(true));
    }

    #[test]
    fn status_lines_are_found() {
        let text = "Name:\tdotnet\nState:\tS (sleeping)\nPPid:\t12\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t4711\t33\t1\n";
        assert_eq!(
            parse_status(text),
            Status { ended: false, uid: Some(1001), parent_pid: Some(12), namespace_pid: Some(1) }
        );
        assert!(parse_status("State:\tZ (zombie)\n").ended);
    }

    #[test]
    fn lines_are_found_whole() {
        let has = |bytes: &[u8], wanted: &[u8]| {
            find_line_in(bytes, |line| (line == wanted).then_some(())).unwrap().is_some()
        };
        assert!(has(b"a\nbc\n", b"bc") && has(b"a\nbc", b"bc") && has(b"\nbc", b""));
        assert!(!has(b"a\nbc\n", b"b") && !has(b"", b""));
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = parse_status(&text);
            let _ = parse_start_time(&text);
            let _ = parse_cpu_ticks(&text);
            let _ = parse_is_stopped(&text);
        }
    }
}
