//! Work with the rights of a pinned process.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::pinned::Pinned;

use super::process_files::{ProcessFiles, RightsOf, enter, run_with, spawn};

impl Pinned {
    /// Runs work on a new thread that has the rights of the process: its user, its groups and no other capabilities.
    /// Wherever a path of the process leads, the work can do nothing there that the process's user could not do.
    ///
    /// Set a timeout: a file system of the process may never answer. Linux only.
    ///
    /// # Errors
    /// [`io::ErrorKind::PermissionDenied`] if this process cannot get those rights, [`io::ErrorKind::NotFound`] if the
    /// process has ended, and the errors of the work.
    pub async fn run_as_user<R: Send + 'static>(
        &self,
        work: impl FnOnce(&ProcessFiles) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        run_with(Arc::clone(&self.0), RightsOf::Process, work).await
    }

    /// As [`run_as_user`](Self::run_as_user), but blocks the calling thread for at most `timeout`. Linux only.
    ///
    /// # Errors
    /// Those of [`run_as_user`](Self::run_as_user), and [`io::ErrorKind::TimedOut`].
    pub fn run_as_user_within<R: Send + 'static>(
        &self,
        timeout: Duration,
        work: impl FnOnce(&ProcessFiles) -> io::Result<R> + Send + 'static,
    ) -> io::Result<R> {
        let pin = Arc::clone(&self.0);
        let (sender, receiver) = mpsc::channel();
        // If sending fails, the caller has stopped waiting.
        spawn(move || drop(sender.send(enter(&pin, RightsOf::Process).and_then(|files| work(&files)))))?;
        receiver.recv_timeout(timeout).map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}
