//! Loads the profiler into a target. If that fails, the refusal says why.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dotnet_diagnostics_client::{Client, Guid, HResult, Pinned};
use netcore_profiler::config::Config;
use netcore_profiler::{hresult, wire};
use tokio::time::{Instant, sleep};

use super::library;
use super::refusal::Refusal;
use super::stream::Detail;
use crate::exit::Code;
use crate::sys::{self, Lease, Meeting};

/// How long a background collection may delay an attach before the runtime gives up.
const MAX_GC_DELAY: Duration = Duration::from_secs(10);
/// An earlier profiler of ours may still be leaving: for 0.3 s as a rule, for 5 s if a check was missed.
const LEAVING_TIMEOUT: Duration = Duration::from_secs(7);

/// A profiler notices within 0.2 s that its gcwatch has gone, and leaves after the collection that runs.
const ABANDONED_TIMEOUT: Duration = Duration::from_secs(3);

/// The library and the lease's socket are where the target can reach them.
#[derive(Debug)]
pub(crate) struct Ready {
    meeting: Meeting,
    /// `None`: a program that we started, and that has our rights.
    process: Option<Pinned>,
}

/// The name of the lease's socket, which is removed when this is dropped.
pub(crate) type LeaseName = Box<dyn fmt::Debug>;

/// Puts what the target will need into its temporary directory, or into the one that every system has. `process`: the
/// target. `None`: a program that we start, and that has our rights.
///
/// # Errors
/// The library does not load, or no directory is safe and can be reached by both sides.
pub(crate) async fn prepare(
    chosen: Option<&Path>,
    process: Option<&Pinned>,
    temp_dir: &Path,
) -> Result<Ready, Refusal> {
    let library = library::find(chosen).map_err(|e| {
        Refusal::new(Code::UNSUPPORTED, e, "give another build of the library with --profiler-path")
    })?;
    let mut dirs = vec![temp_dir.to_owned()];
    dirs.extend(sys::SHARED_TEMP_DIR.map(PathBuf::from).filter(|shared| shared != temp_dir));
    match sys::meet(process, dirs, library.file_name, library.bytes).await {
        Ok(meeting) => Ok(Ready { meeting, process: process.cloned() }),
        Err(e) => Err(no_place(&e)),
    }
}

fn no_place(e: &io::Error) -> Refusal {
    let reason = format!("the profiler library cannot be put where the process could load it: {e}");
    match e.kind() {
        io::ErrorKind::NotFound => Refusal::gone(e),
        io::ErrorKind::PermissionDenied if sys::is_root() => Refusal::new(
            Code::NOT_PERMITTED,
            reason,
            "run gcwatch as the process's user, or give its container CAP_SETUID, CAP_SETGID and CAP_SYS_PTRACE (--cap-add)",
        ),
        io::ErrorKind::PermissionDenied => {
            Refusal::new(Code::NOT_PERMITTED, reason, "run gcwatch as that user or as root")
        }
        _ => Refusal::new(
            Code::UNSUPPORTED,
            reason,
            "give the process a temporary directory (TMPDIR) that is its user's own and not mounted noexec",
        ),
    }
}

impl Ready {
    /// The library's path as the target sees it.
    pub(crate) fn library(&self) -> String {
        self.meeting.library.to_string_lossy().into_owned()
    }

    /// The profiler's configuration.
    pub(crate) fn config(&self, detail: Detail, unset: Option<&str>, window: Option<wire::Window>) -> String {
        let Detail { blocks, names, .. } = detail;
        let (arming, lease) = (wire::Arming::LATE, self.meeting.lease_path.to_string_lossy());
        Config { arming, blocks, names, unset, window, lease: Some(&lease) }.to_text()
    }

    /// Loads the profiler into a running process.
    ///
    /// # Errors
    /// What the answer of the runtime or of the profiler means.
    pub(crate) async fn attach(
        &mut self,
        client: &Client,
        detail: Detail,
        window: Option<wire::Window>,
    ) -> Result<(), Refusal> {
        let (config, library) = (self.config(detail, None, window), self.library());
        let started = Instant::now();
        loop {
            // Another process may have its id by now.
            if let Some(process) = &self.process {
                process.check().map_err(|e| Refusal::gone(&e))?;
            }
            let attach = client.attach_profiler(MAX_GC_DELAY, clsid(), &library, config.as_bytes());
            let error = match attach.await {
                Ok(()) => break,
                Err(e) => e,
            };
            let leaving = [HResult(hresult::STILL_LEAVING as u32), HResult::PROFILER_DETACHING];
            // It is ours: its gcwatch was killed and it has not noticed that yet, or another gcwatch uses it.
            let active = error.hresult() == Some(HResult::PROFILER_ALREADY_ACTIVE)
                && self.process.as_ref().is_some_and(|process| has_our_profiler(process.pid()));
            let limit = match error.hresult() {
                Some(h) if leaving.contains(&h) => LEAVING_TIMEOUT,
                _ if active => ABANDONED_TIMEOUT,
                _ => Duration::ZERO,
            };
            if started.elapsed() >= limit {
                return Err(if active { Refusal::other_watch() } else { Refusal::of(&error) });
            }
            sleep(Duration::from_millis(100)).await;
        }
        // The profiler connects before the runtime answers. If it cannot, it stays until its provider is disabled.
        self.came(Duration::from_millis(200)).await;
        Ok(())
    }

    /// Waits at most this time for the profiler to connect. Returns whether it has.
    pub(crate) async fn came(&mut self, within: Duration) -> bool {
        matches!(tokio::time::timeout(within, self.meeting.lease.taken()).await, Ok(Ok(())))
    }

    /// The lease of a profiler that is loaded in windows.
    pub(crate) fn lease(&mut self) -> &mut Lease {
        &mut self.meeting.lease
    }

    /// The lease alone, and the name of its socket, which is needed for a second connection.
    pub(crate) fn into_lease(self) -> (Lease, LeaseName) {
        let Meeting { lease, name, .. } = self.meeting;
        (lease, Box::new(name))
    }
}

/// Whether the profiler in a process is ours: its lease thread runs for as long as it is loaded.
fn has_our_profiler(pid: u32) -> bool {
    sys::thread_names(pid).iter().any(|name| name == "gcwatch-lease")
}

/// Why a runtime has no level `moves`: NativeAOT and Mono send the ranges of generations, but none of their blocks.
pub(crate) async fn no_moves(client: &Client) -> Option<String> {
    let takes_profilers = client.supports_profilers().await.unwrap_or(true);
    (!takes_profilers).then(|| "this runtime tells no blocks (NativeAOT or Mono)".to_owned())
}

/// Refuses a runtime that cannot load any profiler.
pub(crate) async fn takes_profilers(client: &Client) -> Result<(), Refusal> {
    match client.supports_profilers().await {
        Ok(false) => Err(Refusal::no_profilers()),
        _ => Ok(()),
    }
}

/// The profiler's class identifier.
pub(crate) fn clsid() -> Guid {
    Guid::from_bytes(wire::CLSID)
}
