//! Facts from `/proc`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Access, AtFlags, FileType};

use crate::process::{MOST_ENTRIES, ProcessFacts};

use super::inside;
use super::unix::{View, ViewedDirectory};

fn proc(pid: u32, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{file}"))
}

/// A file of `/proc`, which does not say how long it is: asked for in few, large pieces.
fn read(pid: u32, file: &str) -> Option<Vec<u8>> {
    const MOSTLY: usize = 8192;
    /// The kernel starts no program with more than 6 MiB of arguments and variables. A process can tell the kernel
    /// later that they lie elsewhere in its memory, and have any length (`PR_SET_MM`); what is longer is cut.
    const MOST: u64 = 6 << 20;
    let mut bytes = Vec::with_capacity(MOSTLY);
    File::open(proc(pid, file)).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The first answer to a line of a file of `/proc` that may be long, read piece by piece. `None`: it cannot be read.
fn find_line<T>(pid: u32, file: &str, answer: impl FnMut(&[u8]) -> Option<T>) -> Option<Option<T>> {
    /// A process can have mappings without end.
    const MOST: u64 = 64 << 20;
    find_line_in(File::open(proc(pid, file)).ok()?.take(MOST), answer).ok()
}

fn find_line_in<T>(file: impl Read, mut answer: impl FnMut(&[u8]) -> Option<T>) -> io::Result<Option<T>> {
    const PIECE: usize = 64 << 10;
    let mut file = BufReader::with_capacity(PIECE, file);
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line)? > 0 {
        let found = answer(line.strip_suffix(b"\n").unwrap_or(&line));
        if found.is_some() {
            return Ok(found);
        }
        line.clear();
    }
    Ok(None)
}

/// What `/proc/PID/status` tells.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    ended: bool,
    uid: Option<u32>,
    parent_pid: Option<u32>,
    namespace_pid: Option<u32>,
}

fn parse_status(text: &str) -> Status {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    Status {
        // Z: ended, not yet waited for. X: just being removed.
        ended: field("State:").is_some_and(|state| state.trim_start().starts_with(['Z', 'X'])),
        // Real, effective, saved, file system.
        uid: number(field("Uid:").and_then(|ids| ids.split_whitespace().nth(1))),
        parent_pid: number(field("PPid:").map(str::trim)),
        namespace_pid: number(field("NSpid:").and_then(|ids| ids.split_whitespace().last())),
    }
}

fn status(pid: u32) -> Option<Status> {
    let text = read(pid, "status")?;
    Some(parse_status(&String::from_utf8_lossy(&text)))
}

pub(crate) fn exists(pid: u32) -> bool {
    status(pid).is_some_and(|status| !status.ended)
}

pub(crate) fn pids() -> Vec<u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// Field 22 of the line, the start time. The name in parentheses may itself contain blanks and parentheses.
fn parse_start_time(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(19)?.parse().ok()
}

/// Fields 14 and 15, of user and system code.
fn parse_cpu_ticks(stat: &str) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    user.checked_add(system)
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

pub(crate) fn uid(pid: u32) -> Option<u32> {
    status(pid)?.uid
}

/// Field 3: T is stopped by a signal, t by a debugger.
pub(crate) fn is_stopped(pid: u32) -> bool {
    let Some(stat) = read(pid, "stat") else { return false };
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['T', 't']))
}

pub(crate) fn cpu_ticks(pid: u32) -> Option<u64> {
    let stat = read(pid, "stat")?;
    parse_cpu_ticks(&String::from_utf8_lossy(&stat))
}

pub(super) fn start_key(pid: u32) -> Option<u64> {
    let stat = read(pid, "stat")?;
    parse_start_time(&String::from_utf8_lossy(&stat))
}

fn split_nul(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.strip_suffix(b"\0").unwrap_or(bytes).split(|b| *b == 0)
}

/// Arguments or variables, each of which becomes a text of its own. An empty one takes one byte in the process and many
/// times that here, so there is an end.
fn entries(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    split_nul(bytes).take(MOST_ENTRIES)
}

fn parse_environ(bytes: &[u8]) -> Vec<(OsString, OsString)> {
    entries(bytes)
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

/// Whether a variable is there with a value that is wanted, found without a text for every other one.
fn has_value(environ: &[u8], name: &str, mut wanted: impl FnMut(&OsStr) -> bool) -> bool {
    split_nul(environ)
        .filter_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .any(|value| wanted(OsStr::from_bytes(value)))
}

pub(crate) fn has_variable(pid: u32, name: &str, wanted: impl FnMut(&OsStr) -> bool) -> bool {
    read(pid, "environ").is_some_and(|environ| has_value(&environ, name, wanted))
}

fn parse_command_line(bytes: &[u8]) -> Vec<OsString> {
    match bytes {
        [] => Vec::new(),
        bytes => entries(bytes).map(|argument| OsString::from_vec(argument.to_vec())).collect(),
    }
}

fn command_line(pid: u32) -> Option<Vec<OsString>> {
    read(pid, "cmdline").map(|bytes| parse_command_line(&bytes))
}

/// What the mapped files say about the runtime.
#[derive(Debug, PartialEq, Eq)]
enum Mapped {
    Library(PathBuf),
    /// The runtime is in the process, but no file of its own: it is linked into the executable.
    InExecutable,
    Nothing,
}

/// The library that a line of the mapped files is of; `in_executable`: there is a trace of a runtime without one.
fn mapped_library(line: &[u8], in_executable: &mut bool) -> Option<PathBuf> {
    // Address, permissions, offset, device, inode; what begins with "/" then is the path.
    let path = &line[line.iter().position(|b| *b == b'/')?..];
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
    // The memory file through which CoreCLR maps its generated code twice.
    *in_executable |= name == b"memfd:doublemapper";
    let is_runtime = matches!(name, b"libcoreclr.so" | b"libmonosgen-2.0.so");
    is_runtime.then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// `None`: they cannot be read.
fn mapped(pid: u32) -> Option<Mapped> {
    let mut in_executable = false;
    let library = find_line(pid, "maps", |line| mapped_library(line, &mut in_executable))?;
    Some(match library {
        Some(path) => Mapped::Library(path),
        None if in_executable => Mapped::InExecutable,
        None => Mapped::Nothing,
    })
}

pub(crate) fn facts(pid: u32) -> ProcessFacts {
    let Some(status) = status(pid).filter(|status| !status.ended) else {
        return ProcessFacts { pid, ..ProcessFacts::default() };
    };
    let executable = fs::read_link(proc(pid, "exe")).ok();
    let mapped = mapped(pid);
    let mappings_readable = mapped.is_some();
    let runtime_library = match mapped {
        Some(Mapped::Library(path)) => Some(path),
        Some(Mapped::InExecutable) => executable.clone(),
        Some(Mapped::Nothing) | None => None,
    };
    ProcessFacts {
        pid,
        exists: true,
        uid: status.uid,
        environ: environ(pid),
        mappings_readable,
        runtime_library,
        executable,
        command_line: command_line(pid),
        namespace_pid: status.namespace_pid,
        parent_pid: status.parent_pid,
        start_time_ticks: start_key(pid),
    }
}

/// The sockets in a directory whose names are taken, with what their names say.
pub(super) fn sockets<N>(
    directory: &Path,
    parse: impl Fn(&OsStr) -> Option<N>,
) -> io::Result<Vec<(OsString, N)>> {
    /// The directory may be one that somebody fills without end.
    const MOST: usize = 200_000;
    let mut found = Vec::new();
    for entry in inside::readable(&inside::look(directory)?)?.take(MOST) {
        let Ok(entry) = entry else { break };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if matches!(entry.file_type(), FileType::Socket | FileType::Unknown)
            && let Some(parsed) = parse(name)
        {
            found.push((name.to_owned(), parsed));
        }
    }
    Ok(found)
}

/// Owner of a socket, and when it was made; `None` where there is none.
pub(super) fn socket(path: &Path) -> Option<(u32, SystemTime)> {
    let directory = inside::look(path.parent()?).ok()?;
    let stat = rustix::fs::statat(&directory, path.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return None;
    }
    let since = Duration::new(u64::try_from(stat.st_mtime).ok()?, u32::try_from(stat.st_mtime_nsec).ok()?);
    Some((stat.st_uid, SystemTime::UNIX_EPOCH + since))
}

/// Whether this process may connect to a socket.
pub(super) fn may_write(path: &Path) -> bool {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
    inside::look(parent).is_ok_and(|directory| {
        rustix::fs::accessat(&directory, name, Access::WRITE_OK, AtFlags::empty()).is_ok()
    })
}

const DEFAULT_DIRECTORY: &str = "/tmp";

/// Where processes in this process's own namespaces have their sockets unless they say otherwise.
pub(super) fn shared_directories() -> Vec<PathBuf> {
    let mut directories = vec![std::env::temp_dir()];
    if directories[0] != Path::new(DEFAULT_DIRECTORY) {
        directories.push(DEFAULT_DIRECTORY.into());
    }
    directories
}

/// Whether the process is in the same namespace of this kind as this one; `None` if that cannot be read.
fn shares_namespace(pid: u32, kind: &str) -> Option<bool> {
    let theirs = fs::read_link(proc(pid, "ns").join(kind)).ok()?;
    let ours = fs::read_link(Path::new("/proc/self/ns").join(kind)).ok()?;
    Some(theirs == ours)
}

/// From a whole environment, as `/proc` has it.
fn temporary_directory(environ: &[u8]) -> PathBuf {
    /// The kernel takes no path of more than 4096 bytes, so what is cut here is still too long.
    const LONGEST: usize = 8192;
    let value = split_nul(environ).find_map(|entry| entry.strip_prefix(b"TMPDIR=").filter(|v| !v.is_empty()));
    let value = value.map(|value| &value[..value.len().min(LONGEST)]);
    value.map_or_else(|| DEFAULT_DIRECTORY.into(), |value| OsStr::from_bytes(value).into())
}

/// The name of a directory of the target in this process's file system.
fn through_proc(pid: u32, directory: &Path) -> PathBuf {
    match directory.strip_prefix("/") {
        Ok(relative) => proc(pid, "root").join(relative),
        Err(_) => proc(pid, "cwd").join(directory),
    }
}

pub(super) fn view(pid: u32) -> View {
    let theirs = match read(pid, "environ") {
        Some(environ) => vec![temporary_directory(&environ)],
        None => shared_directories(),
    };
    let same_files = shares_namespace(pid, "mnt");
    let mut directories = Vec::new();
    for there in theirs {
        let seen = |here| ViewedDirectory { here, there: there.clone() };
        if same_files == Some(false) || there.is_relative() {
            directories.push(seen(through_proc(pid, &there)));
        }
        // Also where the mounts differ: the directory may be one that both share, and the name is exact.
        if there.is_absolute() {
            directories.push(seen(there.clone()));
        }
    }
    View {
        socket_pid: status(pid).and_then(|status| status.namespace_pid).unwrap_or(pid),
        // A process with a clock of its own counts its start time differently.
        key: start_key(pid).filter(|_| shares_namespace(pid, "time") != Some(false)),
        directories,
    }
}

/// Where this process stands, read once for a look at all others.
#[derive(Debug)]
pub(super) struct Standpoint {
    directories: Vec<PathBuf>,
    mounts: Option<PathBuf>,
    /// The namespace whose process ids `/proc` shows, if it is this process's own.
    pids: Option<PathBuf>,
}

impl Standpoint {
    pub(super) fn own() -> Self {
        let pid = std::process::id();
        let own = |kind: &str| fs::read_link(Path::new("/proc/self/ns").join(kind)).ok();
        let is_own = fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == &*pid.to_string())
            && status(pid).is_some_and(|status| status.namespace_pid == Some(pid));
        Self {
            directories: shared_directories(),
            mounts: own("mnt"),
            pids: if is_own { own("pid") } else { None },
        }
    }

    /// The view of a process whose socket is not in the shared directories, if that may be so.
    pub(super) fn other_view(&self, pid: u32) -> Option<View> {
        let namespace = |kind: &str| fs::read_link(proc(pid, "ns").join(kind)).ok();
        let elsewhere = || {
            read(pid, "environ")
                .is_some_and(|environ| !self.directories.contains(&temporary_directory(&environ)))
        };
        let other_files = || {
            let theirs = namespace("mnt");
            theirs.is_some() && self.mounts.is_some() && theirs != self.mounts
        };
        // What its namespace does not tell its list of ids does, which takes longer to read.
        let other_ids = || {
            (self.pids.is_none() || namespace("pid") != self.pids)
                && status(pid).is_some_and(|status| status.namespace_pid.is_some_and(|inner| inner != pid))
        };
        (elsewhere() || other_files() || other_ids()).then(|| view(pid))
    }
}

/// Whether the kernel knows a listening socket of this name in the process's network namespace.
pub(super) fn listens_on(pid: u32, path: &Path) -> bool {
    find_line(pid, "net/unix", |line| is_of(line, path).then_some(())).flatten().is_some()
}

/// Whether a line of the table of sockets is of this one.
fn is_of(line: &[u8], path: &Path) -> bool {
    line.strip_suffix(path.as_os_str().as_bytes()).is_some_and(|head| head.ends_with(b" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_start_time_stands_behind_the_last_parenthesis() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 424242 20 21";
        for name in ["(dotnet)", "(a) S 1 2)", "(x (y) z)", "() )"] {
            assert_eq!(parse_start_time(&format!("77 {name} {tail}")), Some(424_242), "{name}");
        }
        assert_eq!(parse_start_time("77 (dotnet) S 1"), None);
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
    fn the_runtime_is_recognised_among_mapped_files() {
        let of = |path: &str| {
            let mut in_executable = false;
            let line = format!("7f00-7f01 r-xp 0000 08:01 77      {path}");
            (mapped_library(line.as_bytes(), &mut in_executable), in_executable)
        };
        assert_eq!(of("/usr/lib/libc.so.6"), (None, false));
        assert_eq!(of("/opt/a b/libcoreclr.so (deleted)"), (Some("/opt/a b/libcoreclr.so".into()), false));
        assert_eq!(of("/memfd:doublemapper (deleted)"), (None, true));
        assert_eq!(of("/usr/bin/notlibcoreclr.so"), (None, false));
    }

    #[test]
    fn lines_are_found_whole() {
        let last = |bytes: &[u8], wanted: &[u8]| {
            find_line_in(bytes, |line| (line == wanted).then_some(())).unwrap().is_some()
        };
        assert!(last(b"a\nbc\n", b"bc") && last(b"a\nbc", b"bc") && last(b"\nbc", b""));
        assert!(!last(b"a\nbc\n", b"b") && !last(b"", b""));
    }

    /// What a process can make of its 64 MiB, though fewer are read.
    #[test]
    fn entries_without_end_are_cut() {
        let many = |entry: &[u8]| entry.repeat((64 << 20) / entry.len());
        assert_eq!(parse_environ(&many(b"=\0")).len(), MOST_ENTRIES);
        assert_eq!(parse_environ(&many(b"\0")).len(), 0);
        assert_eq!(parse_command_line(&many(b"\0")).len(), MOST_ENTRIES);
        assert_eq!(parse_command_line(b"").len(), 0);
        assert_eq!(parse_command_line(b"a\0\0"), ["a", ""]);
        let mut late = many(b"=\0");
        late.extend(b"PORT=here\0");
        assert!(has_value(&late, "PORT", |value| value == "here"));
        assert!(!has_value(&late, "PORT", |value| value == "there"));
        assert!(!has_value(&many(b"\0"), "PORT", |_| true));
        let long = [b"TMPDIR=/".as_slice(), &many(b"x")].concat();
        assert_eq!(temporary_directory(&long).as_os_str().len(), 8192);
    }

    #[test]
    fn a_variable_is_found_by_its_whole_name_in_any_place() {
        let has = |name, value: &str| has_value(b"XA=1\0A=1\0AB=2\0A=3\0B", name, |found| found == value);
        assert!(has("A", "1") && has("A", "3") && has("AB", "2"));
        assert!(!has("A", "2") && !has("B", "") && !has("", "XA"));
    }

    #[test]
    fn a_listed_name_must_match_as_a_whole() {
        let line = b"0000: 00000002 0 00010000 0001 01 99 /tmp/dotnet-diagnostic-1-2-socket";
        assert!(is_of(line, Path::new("/tmp/dotnet-diagnostic-1-2-socket")));
        assert!(!is_of(line, Path::new("dotnet-diagnostic-1-2-socket")));
    }

    #[test]
    fn directories_are_seen_through_the_process() {
        assert_eq!(through_proc(5, Path::new("/var/tmp/")), Path::new("/proc/5/root/var/tmp"));
        assert_eq!(through_proc(5, Path::new("sub")), Path::new("/proc/5/cwd/sub"));
    }

    #[test]
    fn the_first_directory_that_is_named_counts() {
        let of = |environ: &[u8]| temporary_directory(environ);
        assert_eq!(of(b"A=1\0TMPDIR=/var/tmp\0TMPDIR=/x\0"), Path::new("/var/tmp"));
        assert_eq!(of(b"TMPDIR=\0XTMPDIR=/x\0TMPDIR"), Path::new(DEFAULT_DIRECTORY));
        assert_eq!(of(b""), Path::new(DEFAULT_DIRECTORY));
    }

    #[test]
    fn this_process_is_where_it_is() {
        assert!(Standpoint::own().other_view(std::process::id()).is_none());
        let elsewhere = Standpoint { directories: Vec::new(), ..Standpoint::own() };
        assert!(elsewhere.other_view(std::process::id()).is_some());
        let other_files = Standpoint { mounts: Some("mnt:[1]".into()), ..Standpoint::own() };
        assert!(other_files.other_view(std::process::id()).is_some());
        let unsure = Standpoint { pids: None, ..Standpoint::own() };
        assert!(unsure.other_view(std::process::id()).is_none());
    }

    #[test]
    fn this_process_is_described_truly() {
        let facts = facts(std::process::id());
        assert!(facts.exists && facts.mappings_readable);
        assert_eq!(facts.runtime_library, None);
        assert_eq!(facts.executable, std::env::current_exe().ok());
        assert_eq!(facts.parent_pid, Some(std::os::unix::process::parent_id()));
        assert_eq!(facts.uid, Some(rustix::process::geteuid().as_raw()));
        assert_eq!(facts.command_line, Some(std::env::args_os().collect::<Vec<_>>()));
    }

    proptest! {
        #[test]
        fn anything_in_proc_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = parse_status(&text);
            let _ = parse_start_time(&text);
            let _ = parse_environ(&bytes);
            let _ = parse_command_line(&bytes);
            let _ = mapped_library(&bytes, &mut false);
        }
    }
}
