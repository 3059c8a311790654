//! Who may dial our port: our own user, and other users as whom programs of our tree run (`setpriv`, `gosu`, `su`).
//!
//! The port's socket belongs to us alone. A runtime of another user could not reach it, and would wait at its start for
//! ever. So the tree is looked through for processes of other users, and the socket is given to theirs. It lies in a
//! directory that only we can change, so that its name cannot lead anywhere else. Whoever dials is asked for by the
//! kernel's word (`SO_PEERCRED`), and hung up on if it is a user that nobody in our tree has become.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dotnet_diagnostics_client::{Endpoint, Error, Listener, Port, process};

use crate::sys;

/// How often the tree is to be looked through while its first runtime is waited for, and afterwards.
pub(crate) const STARTUP_INTERVAL: Duration = Duration::from_millis(200);
pub(crate) const TREE_INTERVAL: Duration = Duration::from_secs(1);
/// More processes than this are not looked at.
const MAX_PROCESSES: usize = 65_536;

/// The users that are let in beside our own.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    socket: PathBuf,
    users: Arc<Mutex<HashSet<u32>>>,
}

impl Admission {
    /// Opens the port.
    ///
    /// # Errors
    /// Those of [`Listener::bind`].
    pub(crate) fn open(socket: PathBuf) -> Result<(Port, Admission), Error> {
        let users = Arc::new(Mutex::new(HashSet::new()));
        let known = Arc::clone(&users);
        // Root may dial whatever the socket's mode is, and is to be trusted.
        let admit = move |uid: u32| uid == 0 || uid == sys::own_uid() || lock(&known).contains(&uid);
        let listener = Listener::bind(Endpoint::socket(&socket))?.admitting(move |peer| admit(peer.uid));
        Ok((Port::serve(listener), Admission { socket, users }))
    }

    /// Looks through the tree below a process.
    pub(crate) fn look(&self, root: u32) {
        let (mut seen, mut next) = (HashSet::new(), vec![root]);
        while let Some(pid) = next.pop() {
            if seen.len() < MAX_PROCESSES && seen.insert(pid) {
                self.look_at(pid);
                next.extend(process::children(pid));
            }
        }
    }

    /// Lets the user of a process in that has inherited the port.
    pub(crate) fn look_at(&self, pid: u32) {
        let Some(uid) = process::uid(pid).filter(|uid| *uid != 0 && *uid != sys::own_uid()) else { return };
        let mut users = lock(&self.users);
        if users.contains(&uid) {
            return;
        }
        tracing::debug!("process {pid} runs as user {uid}: it may dial the port");
        // One user owns the socket; where there are several, everybody may dial, and only they are heard.
        match sys::give_socket(&self.socket, uid, !users.is_empty()) {
            Ok(()) => {
                users.insert(uid);
            }
            Err(e) => tracing::debug!("{} cannot be given to user {uid}: {e}", self.socket.display()),
        }
    }
}

fn lock(users: &Mutex<HashSet<u32>>) -> std::sync::MutexGuard<'_, HashSet<u32>> {
    users.lock().unwrap_or_else(PoisonError::into_inner)
}
