//! Unix: searches directories for the sockets of runtimes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::discovery::listing::{Found, Listing, RejectReason, Rejected, SearchedDirectory};
use crate::discovery::not_found::NotFound;
use crate::endpoint::Endpoint;
use crate::sys::{self, MAX_SOCKET_PATH, SocketDirectory, SocketPlace};

/// Anybody can create files whose names look like those of sockets.
const MAX_REJECTED: usize = 1000;

/// Parses `dotnet-diagnostic-{pid}-{start time}-socket`. Every other name is refused, also the names of dsrouter's
/// sockets.
fn parse_name(name: &str) -> Option<(u32, u64)> {
    let (pid, time) = name.strip_prefix("dotnet-diagnostic-")?.strip_suffix("-socket")?.split_once('-')?;
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (number(pid) && number(time)).then_some(())?;
    Some((pid.parse().ok()?, time.parse().ok()?))
}

fn socket_name(pid: u32, start_time: u64) -> String {
    format!("dotnet-diagnostic-{pid}-{start_time}-socket")
}

/// A socket with the name of a runtime's socket.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    start_time: u64,
    owner_uid: u32,
    modified: SystemTime,
}

impl Candidate {
    fn new(path: PathBuf, start_time: u64) -> Option<Self> {
        let (owner_uid, modified) = sys::socket(&path)?;
        Some(Self { path, start_time, owner_uid, modified })
    }
}

/// The name of a file that may be a runtime's socket. There can be hundreds of old ones, so only those of the right
/// process are looked at more closely.
#[derive(Debug)]
struct Name {
    path: PathBuf,
    pid: u32,
    start_time: u64,
}

/// What a search has come across so far.
#[derive(Debug, Default)]
struct Search {
    searched: Vec<SearchedDirectory>,
    rejected: Vec<Rejected>,
}

impl Search {
    fn reject(&mut self, path: PathBuf, reason: RejectReason) {
        if self.rejected.len() < MAX_REJECTED {
            self.rejected.push(Rejected { path, reason });
        }
    }

    fn accept(&mut self, pid: u32, candidate: Candidate) -> Option<Found> {
        let Candidate { path, owner_uid, .. } = candidate;
        if !sys::may_connect(&path) {
            self.reject(path, RejectReason::NotPermitted { owner_uid });
            return None;
        }
        Some(Found { pid, endpoint: Endpoint::Socket(path), owner_uid: Some(owner_uid) })
    }

    fn names(&mut self, directory: &Path) -> Vec<Name> {
        let sockets = sys::sockets(directory, |name| parse_name(name.to_str()?));
        self.searched.push(SearchedDirectory {
            path: directory.to_owned(),
            problem: sockets.as_ref().err().map(io::Error::kind),
        });
        let name = |(name, (pid, start_time))| Name { path: directory.join(name), pid, start_time };
        sockets.unwrap_or_default().into_iter().map(name).collect()
    }

    /// The sockets in a directory that have a process id in their names, the newest first.
    fn candidates(&mut self, directory: &Path, pid: u32) -> Vec<Candidate> {
        let names = self.names(directory).into_iter().filter(|name| name.pid == pid);
        let mut found: Vec<_> = names.filter_map(|name| Candidate::new(name.path, name.start_time)).collect();
        found.sort_by_key(|candidate| Reverse(candidate.modified));
        found
    }

    /// The socket of a process. What else has a fitting name is rejected.
    fn find(&mut self, pid: u32, place: &SocketPlace) -> Option<Found> {
        place.directories.iter().find_map(|directory| match place.start_time {
            Some(start_time) => {
                let found = self.find_exact(pid, place.pid, start_time, &directory.path);
                if found.is_none() {
                    self.explain_absence(pid, place.pid, start_time, directory);
                }
                found
            }
            None => self.find_newest(pid, place.pid, directory),
        })
    }

    /// As [`find`](Self::find), but where the name is known, it does not look for reasons if the socket is absent.
    fn find_only(&mut self, pid: u32, place: &SocketPlace) -> Option<Found> {
        let Some(start_time) = place.start_time else { return self.find(pid, place) };
        let mut directories = place.directories.iter();
        directories.find_map(|directory| self.find_exact(pid, place.pid, start_time, &directory.path))
    }

    fn find_exact(&mut self, pid: u32, socket_pid: u32, start_time: u64, dir: &Path) -> Option<Found> {
        let path = dir.join(socket_name(socket_pid, start_time));
        self.accept(pid, Candidate::new(path, start_time)?)
    }

    fn find_newest(&mut self, pid: u32, socket_pid: u32, directory: &SocketDirectory) -> Option<Found> {
        let mut newest = None;
        for candidate in self.candidates(&directory.path, socket_pid) {
            match newest {
                None => newest = self.accept(pid, candidate),
                Some(_) => self.reject(candidate.path, RejectReason::Older),
            }
        }
        newest
    }

    /// Looks for reasons why the socket is not where it should be.
    fn explain_absence(&mut self, pid: u32, socket_pid: u32, expected: u64, directory: &SocketDirectory) {
        for candidate in self.candidates(&directory.path, socket_pid) {
            let found = candidate.start_time;
            if found != expected {
                self.reject(candidate.path, RejectReason::StaleKey { expected, found });
            }
        }
        let path = directory.path_in_process.join(socket_name(socket_pid, expected));
        let length = path.as_os_str().len();
        if length > MAX_SOCKET_PATH {
            self.reject(path, RejectReason::NameTooLong { length, max: MAX_SOCKET_PATH });
        } else if sys::is_listening(pid, &path) && !self.rejected.iter().any(|other| other.path == path) {
            self.reject(path, RejectReason::Removed);
        }
    }
}

pub(crate) fn find(pid: u32) -> Result<Found, Box<NotFound>> {
    let mut search = Search::default();
    if sys::exists(pid)
        && let Some(found) = search.find(pid, &sys::socket_place(pid))
    {
        return Ok(found);
    }
    Err(Box::new(NotFound {
        pid,
        facts: sys::facts(pid),
        searched: search.searched,
        rejected: search.rejected,
    }))
}

pub(crate) fn list() -> Listing {
    let mut search = Search::default();
    let mut newest: BTreeMap<u32, (SystemTime, Found)> = BTreeMap::new();
    let names: Vec<Vec<Name>> = sys::shared_directories().iter().map(|path| search.names(path)).collect();
    // Read after the sockets, so that a process that started meanwhile is among them. Empty if they cannot be listed.
    let mut pids = sys::pids();
    pids.sort_unstable();
    let is_running = |pid| (pids.is_empty() || pids.binary_search(&pid).is_ok()) && sys::exists(pid);
    for Name { path, pid, start_time } in names.into_iter().flatten() {
        if !is_running(pid) {
            search.reject(path, RejectReason::ProcessEnded { pid });
            continue;
        }
        let Some(Candidate { path, owner_uid, modified, .. }) = Candidate::new(path, start_time) else {
            continue;
        };
        if let Some(expected) = sys::start_time(pid)
            && expected != start_time
        {
            search.reject(path, RejectReason::StaleKey { expected, found: start_time });
            continue;
        }
        let found = Found { pid, endpoint: Endpoint::Socket(path.clone()), owner_uid: Some(owner_uid) };
        match newest.get_mut(&pid) {
            Some((known, _)) if *known >= modified => search.reject(path, RejectReason::Older),
            Some(known) => {
                let (_, older) = std::mem::replace(known, (modified, found));
                if let Endpoint::Socket(path) = older.endpoint {
                    search.reject(path, RejectReason::Older);
                }
            }
            None => {
                newest.insert(pid, (modified, found));
            }
        }
    }
    pids.retain(|pid| !newest.contains_key(pid));
    let mut all: Vec<Found> = newest.into_values().map(|(_, found)| found).collect();
    let own = sys::OwnNamespaces::read();
    // Most of these are not .NET processes, so the directories searched for them are not noted.
    all.extend(
        pids.into_iter().filter_map(|pid| Search::default().find_only(pid, &own.place_elsewhere(pid)?)),
    );
    all.sort_by_key(|found| found.pid);
    Listing { found: all, searched: search.searched, rejected: search.rejected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::net::UnixListener;

    #[test]
    fn only_default_endpoints_have_such_names() {
        assert_eq!(parse_name("dotnet-diagnostic-12-345-socket"), Some((12, 345)));
        for other in [
            "dotnet-diagnostic-dsrouter-12-345-socket",
            "dotnet-diagnostic-12-socket",
            "dotnet-diagnostic-12-345-socket.old",
            "dotnet-diagnostic-+12-345-socket",
            "dotnet-diagnostic-12--socket",
            "dotnet-diagnostic-99999999999-1-socket",
            "clr-debug-pipe-12-345-in",
        ] {
            assert_eq!(parse_name(other), None, "{other}");
        }
    }

    fn place(directory: &Path, start_time: Option<u64>) -> SocketPlace {
        let directory = SocketDirectory { path: directory.to_owned(), path_in_process: directory.to_owned() };
        SocketPlace { pid: 7, start_time, directories: vec![directory] }
    }

    #[test]
    fn the_exact_name_is_taken_and_a_stale_one_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = |start_time| directory.path().join(socket_name(7, start_time));
        let _old = UnixListener::bind(path(100)).unwrap();
        let mut search = Search::default();
        assert_eq!(search.find(7, &place(directory.path(), Some(200))), None);
        assert_eq!(
            search.rejected,
            [Rejected { path: path(100), reason: RejectReason::StaleKey { expected: 200, found: 100 } }]
        );
        let _new = UnixListener::bind(path(200)).unwrap();
        let found = Search::default().find(7, &place(directory.path(), Some(200)));
        assert_eq!(found.unwrap().endpoint, Endpoint::socket(path(200)));
    }

    #[test]
    fn without_a_start_time_the_newest_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = |start_time| directory.path().join(socket_name(7, start_time));
        let _sockets = [300, 200].map(|key| UnixListener::bind(path(key)).unwrap());
        let future = SystemTime::now() + std::time::Duration::from_secs(60);
        let times =
            rustix::fs::Timestamps { last_access: timespec(future), last_modification: timespec(future) };
        let flags = rustix::fs::AtFlags::empty();
        rustix::fs::utimensat(rustix::fs::CWD, path(300), &times, flags).unwrap();
        fs::write(path(400), "not a socket").unwrap();
        let mut search = Search::default();
        let found = search.find(7, &place(directory.path(), None)).unwrap();
        assert_eq!(found.endpoint, Endpoint::socket(path(300)));
        assert_eq!(search.rejected, [Rejected { path: path(200), reason: RejectReason::Older }]);
    }

    fn timespec(time: SystemTime) -> rustix::fs::Timespec {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        rustix::fs::Timespec { tv_sec: since.as_secs().try_into().unwrap(), tv_nsec: 0 }
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let long = directory.path().join("x".repeat(100));
        fs::create_dir(&long).unwrap();
        let mut search = Search::default();
        assert_eq!(search.find(7, &place(&long, Some(1))), None);
        assert!(
            matches!(search.rejected[0].reason, RejectReason::NameTooLong { length, .. } if length > 107)
        );
    }

    #[test]
    fn a_missing_directory_is_noted() {
        let mut search = Search::default();
        assert_eq!(search.find(7, &place(Path::new("/nonexistent"), None)), None);
        assert_eq!(search.searched[0].problem, Some(io::ErrorKind::NotFound));
    }
}
