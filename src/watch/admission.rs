//! Decides who may connect to our port: root, our user, and users that programs of our tree become (`su`, `setpriv`).
//!
//! The port's socket belongs to our user. A runtime of another user could not connect, and would wait at its start for
//! ever. So gcwatch searches the tree for processes of other users and gives the socket to them. It is in a directory
//! that only we can change, so its name cannot lead anywhere else. The kernel says which user connects (`SO_PEERCRED`);
//! a connection of a user that nobody in our tree has become is closed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dotnet_diagnostics_client::{DiagnosticPort, Error, Listener, process};

use crate::sys::{self, PortPlace};

/// How often to search the tree for other users, before its first runtime has connected and afterwards.
pub(crate) const STARTUP_INTERVAL: Duration = Duration::from_millis(200);
pub(crate) const TREE_INTERVAL: Duration = Duration::from_secs(1);
/// No more processes than this are looked at.
const MAX_PROCESSES: usize = 65_536;

/// The users that may connect beside root and our own.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    place: PortPlace,
    users: Arc<Mutex<HashSet<u32>>>,
}

impl Admission {
    /// Opens the port.
    ///
    /// # Errors
    /// Those of [`Listener::bind`].
    pub(crate) fn open(place: PortPlace) -> Result<(DiagnosticPort, Admission), Error> {
        let users = Arc::new(Mutex::new(HashSet::new()));
        let known = Arc::clone(&users);
        // Root can connect whatever the socket's mode is, and is trusted.
        let admit = move |uid: u32| uid == 0 || uid == sys::own_uid() || lock(&known).contains(&uid);
        let listener = Listener::bind(place.endpoint())?.admitting(move |peer| admit(peer.uid));
        Ok((DiagnosticPort::serve(listener), Admission { place, users }))
    }

    /// Looks at all processes of the tree below `root`.
    pub(crate) fn look(&self, root: u32) {
        let (mut seen, mut next) = (HashSet::new(), vec![root]);
        while let Some(pid) = next.pop() {
            if seen.len() < MAX_PROCESSES && seen.insert(pid) {
                self.look_at(pid);
                next.extend(process::children(pid));
            }
        }
    }

    /// Admits the user of a process that has inherited the port.
    pub(crate) fn look_at(&self, pid: u32) {
        let Some(uid) = process::uid(pid).filter(|uid| *uid != 0 && *uid != sys::own_uid()) else { return };
        let mut users = lock(&self.users);
        if users.contains(&uid) {
            return;
        }
        tracing::debug!("process {pid} runs as user {uid}: it may connect to the port");
        // Only one user can own the socket. With several, every user can connect, and `admit` decides.
        match self.place.give(uid, !users.is_empty()) {
            Ok(()) => {
                users.insert(uid);
            }
            Err(e) => tracing::debug!("cannot give the port to user {uid}: {e}"),
        }
    }
}

fn lock(users: &Mutex<HashSet<u32>>) -> std::sync::MutexGuard<'_, HashSet<u32>> {
    users.lock().unwrap_or_else(PoisonError::into_inner)
}
