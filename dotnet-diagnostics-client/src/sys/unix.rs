//! Searching directories for the sockets of runtimes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::discovery::{Found, Listing, NotFound, Rejected, Rejection, SearchedDirectory};
use crate::endpoint::Endpoint;

use super::os;

/// Longest name that fits a socket address, without its NUL.
const MAX_NAME: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// How a process's socket is named, and from where that name can be reached.
#[derive(Debug)]
pub(super) struct View {
    /// Process id that the target knows itself by.
    pub(super) socket_pid: u32,
    /// Start time in the socket's name; `None` where it cannot be known, so that the newest socket is taken.
    pub(super) key: Option<u64>,
    /// Directories to search, best first.
    pub(super) directories: Vec<ViewedDirectory>,
}

/// One directory under its two names.
#[derive(Debug)]
pub(super) struct ViewedDirectory {
    /// As this process reaches it.
    pub(super) here: PathBuf,
    /// As the target calls it.
    pub(super) there: PathBuf,
}

#[derive(Debug, Default)]
struct Search {
    searched: Vec<SearchedDirectory>,
    rejected: Vec<Rejected>,
}

/// `dotnet-diagnostic-{pid}-{key}-socket`; anything else, dsrouter's sockets among it, is none.
fn parse_name(name: &str) -> Option<(u32, u64)> {
    let (pid, key) = name.strip_prefix("dotnet-diagnostic-")?.strip_suffix("-socket")?.split_once('-')?;
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (number(pid) && number(key)).then_some(())?;
    Some((pid.parse().ok()?, key.parse().ok()?))
}

fn socket_name(pid: u32, key: u64) -> String {
    format!("dotnet-diagnostic-{pid}-{key}-socket")
}

/// A socket's fitting name in a directory. There may be hundreds that are left over, so no more is asked for here.
#[derive(Debug)]
struct Name {
    path: PathBuf,
    pid: u32,
    key: u64,
}

impl Name {
    fn candidate(self) -> Option<Candidate> {
        candidate(self.path, self.key)
    }
}

/// A socket with a fitting name.
#[derive(Debug)]
struct Candidate {
    path: PathBuf,
    key: u64,
    owner_uid: u32,
    modified: SystemTime,
}

impl Search {
    /// Notes the directory and returns the sockets in it.
    fn read(&mut self, directory: &Path) -> Vec<Name> {
        let sockets = os::sockets(directory, |name| parse_name(name.to_str()?));
        self.searched.push(SearchedDirectory {
            path: directory.to_owned(),
            problem: sockets.as_ref().err().map(io::Error::kind),
        });
        let named = |(name, (pid, key))| Name { path: directory.join::<OsString>(name), pid, key };
        sockets.unwrap_or_default().into_iter().map(named).collect()
    }

    fn reject(&mut self, path: PathBuf, reason: Rejection) {
        /// Anybody can make names that fit.
        const MOST: usize = 1000;
        if self.rejected.len() == MOST {
            return;
        }
        self.rejected.push(Rejected { path, reason });
    }

    /// The socket of a process, where `view` says that it must be.
    fn look(&mut self, pid: u32, view: &View) -> Option<Found> {
        for directory in &view.directories {
            let name_is_exact = view.key.map(|key| socket_name(view.socket_pid, key));
            if let Some(found) = self.look_for_exact(pid, view, directory) {
                return Some(found);
            }
            let named = self.read(&directory.here).into_iter().filter(|other| other.pid == view.socket_pid);
            let mut others: Vec<Candidate> = named.filter_map(Name::candidate).collect();
            others.sort_by_key(|other| std::cmp::Reverse(other.modified));
            let mut newest = None;
            for other in others {
                match view.key {
                    Some(expected) if other.key == expected => {}
                    Some(expected) => {
                        let found = other.key;
                        self.reject(other.path, Rejection::StaleKey { expected, found });
                    }
                    None if newest.is_none() => newest = self.accept(pid, other),
                    None => self.reject(other.path, Rejection::Older),
                }
            }
            if newest.is_some() {
                return newest;
            }
            if let Some(name) = name_is_exact {
                self.explain_absence(pid, &directory.there.join(name));
            }
        }
        None
    }

    /// The socket whose name is known, where it is.
    fn look_for_exact(&mut self, pid: u32, view: &View, directory: &ViewedDirectory) -> Option<Found> {
        let key = view.key?;
        let path = directory.here.join(socket_name(view.socket_pid, key));
        self.accept(pid, candidate(path, key)?)
    }

    /// The same as [`look`](Self::look), without looking for reasons where there is none.
    fn look_only(&mut self, pid: u32, view: &View) -> Option<Found> {
        match view.key {
            Some(_) => {
                view.directories.iter().find_map(|directory| self.look_for_exact(pid, view, directory))
            }
            None => self.look(pid, view),
        }
    }

    /// Says why the name that the target should be listening on is not there, where that can be known.
    fn explain_absence(&mut self, pid: u32, path: &Path) {
        let length = path.as_os_str().len();
        if length > MAX_NAME {
            let max = MAX_NAME;
            self.reject(path.to_owned(), Rejection::NameTooLong { length, max });
        } else if os::listens_on(pid, path) && !self.names(path) {
            self.reject(path.to_owned(), Rejection::Removed);
        }
    }

    fn names(&self, path: &Path) -> bool {
        self.rejected.iter().any(|rejected| rejected.path == path)
    }

    fn accept(&mut self, pid: u32, candidate: Candidate) -> Option<Found> {
        let Candidate { path, owner_uid, .. } = candidate;
        if !os::may_write(&path) {
            self.reject(path, Rejection::NotPermitted { owner_uid });
            return None;
        }
        Some(Found { pid, endpoint: Endpoint::Socket(path), owner_uid: Some(owner_uid) })
    }
}

fn candidate(path: PathBuf, key: u64) -> Option<Candidate> {
    let (owner_uid, modified) = os::socket(&path)?;
    Some(Candidate { key, owner_uid, modified, path })
}

pub(crate) fn find(pid: u32) -> Result<Found, Box<NotFound>> {
    let mut search = Search::default();
    if os::exists(pid)
        && let Some(found) = search.look(pid, &os::view(pid))
    {
        return Ok(found);
    }
    Err(Box::new(NotFound {
        pid,
        facts: os::facts(pid),
        searched: search.searched,
        rejected: search.rejected,
    }))
}

pub(crate) fn list() -> Listing {
    let mut search = Search::default();
    let mut found: BTreeMap<u32, (SystemTime, Found)> = BTreeMap::new();
    let names: Vec<Vec<Name>> = os::shared_directories().iter().map(|dir| search.read(dir)).collect();
    // Behind the sockets: whoever has started meanwhile is among them. Empty where there is no such list.
    let mut pids = os::pids();
    pids.sort_unstable();
    let is_running = |pid| (pids.is_empty() || pids.binary_search(&pid).is_ok()) && os::exists(pid);
    for names in names {
        for name in names {
            let pid = name.pid;
            if !is_running(pid) {
                search.reject(name.path, Rejection::ProcessEnded { pid });
                continue;
            }
            let Some(Candidate { path, key, owner_uid, modified, .. }) = name.candidate() else { continue };
            if let Some(expected) = os::start_key(pid)
                && expected != key
            {
                search.reject(path, Rejection::StaleKey { expected, found: key });
                continue;
            }
            let new = Found { pid, endpoint: Endpoint::Socket(path.clone()), owner_uid: Some(owner_uid) };
            match found.get_mut(&pid) {
                Some((known, _)) if *known >= modified => search.reject(path, Rejection::Older),
                Some(known) => {
                    let (_, old) = std::mem::replace(known, (modified, new));
                    if let Endpoint::Socket(path) = old.endpoint {
                        search.reject(path, Rejection::Older);
                    }
                }
                None => {
                    found.insert(pid, (modified, new));
                }
            }
        }
    }
    pids.retain(|pid| !found.contains_key(pid));
    let mut all: Vec<Found> = found.into_values().map(|(_, found)| found).collect();
    let standpoint = os::Standpoint::own();
    // Most of these are no .NET processes: what was searched for them in vain is of no interest.
    all.extend(pids.into_iter().filter_map(|pid| {
        let view = standpoint.other_view(pid)?;
        Search::default().look_only(pid, &view)
    }));
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

    fn view(directory: &Path, key: Option<u64>) -> View {
        View {
            socket_pid: 7,
            key,
            directories: vec![ViewedDirectory { here: directory.to_owned(), there: directory.to_owned() }],
        }
    }

    #[test]
    fn the_exact_key_is_taken_and_a_stale_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = |key| directory.path().join(socket_name(7, key));
        let _old = UnixListener::bind(path(100)).unwrap();
        let mut search = Search::default();
        assert_eq!(search.look(7, &view(directory.path(), Some(200))), None);
        assert_eq!(
            search.rejected,
            [Rejected { path: path(100), reason: Rejection::StaleKey { expected: 200, found: 100 } }]
        );
        let _new = UnixListener::bind(path(200)).unwrap();
        let found = Search::default().look(7, &view(directory.path(), Some(200)));
        assert_eq!(found.unwrap().endpoint, Endpoint::socket(path(200)));
    }

    #[test]
    fn without_a_key_the_newest_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let path = |key| directory.path().join(socket_name(7, key));
        let _sockets = [300, 200].map(|key| UnixListener::bind(path(key)).unwrap());
        let future = SystemTime::now() + std::time::Duration::from_secs(60);
        let times =
            rustix::fs::Timestamps { last_access: timespec(future), last_modification: timespec(future) };
        let flags = rustix::fs::AtFlags::empty();
        rustix::fs::utimensat(rustix::fs::CWD, path(300), &times, flags).unwrap();
        fs::write(path(400), "not a socket").unwrap();
        let mut search = Search::default();
        let found = search.look(7, &view(directory.path(), None)).unwrap();
        assert_eq!(found.endpoint, Endpoint::socket(path(300)));
        assert_eq!(search.rejected, [Rejected { path: path(200), reason: Rejection::Older }]);
    }

    fn timespec(time: SystemTime) -> rustix::fs::Timespec {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        rustix::fs::Timespec { tv_sec: since.as_secs().try_into().unwrap(), tv_nsec: 0 }
    }

    #[test]
    fn a_name_that_cannot_be_a_socket_is_explained() {
        let directory = tempfile::tempdir().unwrap();
        let long = directory.path().join("x".repeat(100));
        fs::create_dir(&long).unwrap();
        let mut search = Search::default();
        assert_eq!(search.look(7, &view(&long, Some(1))), None);
        assert!(matches!(search.rejected[0].reason, Rejection::NameTooLong { length, .. } if length > 107));
    }

    #[test]
    fn a_missing_directory_is_noted() {
        let mut search = Search::default();
        assert_eq!(search.look(7, &view(Path::new("/nonexistent"), None)), None);
        assert_eq!(search.searched[0].problem, Some(io::ErrorKind::NotFound));
    }
}
