//! Bringing the profiler into a target, and saying in words why it would not go.

use std::io;
use std::path::Path;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, Guid, HResult, Pinned, Transport};
use netcore_profiler::config::Config;
use netcore_profiler::{hresult, wire};
use tokio::time::{Instant, sleep};

use super::library;
use super::refusal::Refusal;
use super::stream::Detail;
use crate::exit::Code;
use crate::sys::{self, Lease, Meeting};

/// How long a background collection may delay an attach; the runtime gives up then.
const BACKGROUND_GC_WAIT_MS: u32 = 10_000;
/// An earlier profiler of ours may still be on its way out: 0.3 s as a rule, 5 s when a check was missed.
const LEAVING_TIMEOUT: Duration = Duration::from_secs(7);

/// It notices within 0.2 s that gcwatch is gone, and first ends the collection that it is in.
const ABANDONED_TIMEOUT: Duration = Duration::from_secs(3);

/// The library in its place, and the lease's socket listening.
#[derive(Debug)]
pub(crate) struct Ready {
    meeting: Meeting,
    /// `None` for a program that we have started.
    process: Option<Pinned>,
}

/// Makes everything ready that the target will need: in its temporary directory, or in the one that every system has.
/// `process` is that of an attach; `None` for a program that we start ourselves, which has our rights.
///
/// # Errors
/// The library is not sound, or there is no place that both sides reach and that is safe.
pub(crate) async fn prepare(
    chosen: Option<&Path>,
    process: Option<&Pinned>,
    temp_dir: &Path,
) -> Result<Ready, Refusal> {
    let library = library::find(chosen).map_err(|e| {
        Refusal::new(Code::UNSUPPORTED, e, "give another build of the library with --profiler-path")
    })?;
    let mut dirs = vec![temp_dir.to_owned()];
    if cfg!(unix) && temp_dir != Path::new(SHARED_TEMP_DIR) {
        dirs.push(SHARED_TEMP_DIR.into());
    }
    match sys::meet(process, dirs, library.file_name, library.bytes).await {
        Ok(meeting) => Ok(Ready { meeting, process: process.cloned() }),
        Err(e) => Err(no_place(&e)),
    }
}

/// Where names belong to those who made them.
const SHARED_TEMP_DIR: &str = "/tmp";

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
    /// The library's path as the target names it.
    pub(crate) fn library(&self) -> String {
        self.meeting.library.to_string_lossy().into_owned()
    }

    /// The profiler's configuration.
    pub(crate) fn config(&self, detail: Detail, unset: Option<&str>, window: Option<wire::Window>) -> String {
        let Detail { blocks, names, .. } = detail;
        let (arming, lease) = (wire::Arming::LATE, self.meeting.lease_path.to_string_lossy());
        Config { arming, blocks, names, unset, window, lease: Some(&lease) }.to_text()
    }

    /// Loads it into a running process.
    ///
    /// # Errors
    /// The runtime's or the profiler's answer, in words.
    pub(crate) async fn attach<T: Transport>(
        &mut self,
        client: &Client<T>,
        detail: Detail,
        window: Option<wire::Window>,
    ) -> Result<(), Refusal> {
        let (config, library) = (self.config(detail, None, window), self.library());
        let started = Instant::now();
        loop {
            // Whoever has its id by now was not asked for.
            if let Some(process) = &self.process {
                process.check().map_err(|e| Refusal::gone(&e))?;
            }
            let attach = client.attach_profiler(BACKGROUND_GC_WAIT_MS, clsid(), &library, config.as_bytes());
            let error = match attach.await {
                Ok(()) => break,
                Err(e) => e,
            };
            let leaving = [HResult(hresult::STILL_LEAVING as u32), HResult::PROFILER_DETACHING];
            // Our own that has not noticed yet that its gcwatch was killed, or one that another gcwatch has there.
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
        // It connects before the runtime answers; where it cannot, its provider is its lease.
        self.came(Duration::from_millis(200)).await;
        Ok(())
    }

    /// Whether the profiler has come for its lease within this time.
    pub(crate) async fn came(&mut self, within: Duration) -> bool {
        matches!(tokio::time::timeout(within, self.meeting.lease.taken()).await, Ok(Ok(())))
    }

    /// The lease, where the profiler comes and goes.
    pub(crate) fn lease(&mut self) -> &mut Lease {
        &mut self.meeting.lease
    }

    /// The lease alone; its socket's name is needed no more.
    pub(crate) fn into_lease(self) -> Lease {
        let Meeting { lease, name, .. } = self.meeting;
        drop(name);
        lease
    }
}

/// The profiler in a process is ours as long as its thread runs.
fn has_our_profiler(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .map(|thread| std::fs::read(thread.path().join("comm")))
        .any(|name| name.is_ok_and(|name| name.trim_ascii_end() == b"gcwatch-lease"))
}

/// Why a runtime has no `moves`: NativeAOT and Mono tell generation ranges and then none of their blocks.
pub(crate) async fn no_moves<T: Transport>(client: &Client<T>) -> Option<String> {
    let takes_profilers = client.supports_profilers().await.unwrap_or(true);
    (!takes_profilers).then(|| "this runtime tells no blocks (NativeAOT or Mono)".to_owned())
}

/// A runtime that takes no profiler at all says so at once.
pub(crate) async fn takes_profilers<T: Transport>(client: &Client<T>) -> Result<(), Refusal> {
    match client.supports_profilers().await {
        Ok(false) => Err(Refusal::no_profilers()),
        _ => Ok(()),
    }
}

/// The profiler's class identifier.
pub(crate) fn clsid() -> Guid {
    Guid::from_bytes(wire::CLSID)
}
