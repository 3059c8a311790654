//! Bringing the profiler into a target, and saying in words why it would not go.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dotnet_diagnostics_client::{Client, Error, Guid, HResult, Transport};
use netcore_profiler::config::Config;
use netcore_profiler::{hresult, wire};
use tokio::time::{Instant, sleep};

use super::library::{self, Placed};
use super::stream::Detail;
use crate::exit::{Code, Failure};
use crate::gc::record::Level;
use crate::sys::{self, Lease};

/// How long a background collection may delay an attach; the runtime gives up then.
const BACKGROUND_GC_WAIT_MS: u32 = 10_000;
/// An earlier profiler of ours may still be on its way out: 0.3 s as a rule, 5 s when a check was missed.
const STILL_LEAVING: Duration = Duration::from_secs(7);

/// Why roots cannot be watched here.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    /// A sentence without a full stop.
    pub(crate) reason: String,
    pub(crate) remedy: String,
    /// What can be watched instead.
    pub(crate) instead: Level,
}

impl Refusal {
    pub(crate) fn new(code: Code, reason: impl Into<String>, remedy: impl Into<String>) -> Refusal {
        Refusal { code, reason: reason.into(), remedy: remedy.into(), instead: Level::Moves }
    }
    /// When roots were demanded it is a failure.
    pub(crate) fn into_failure(self) -> Failure {
        Failure::new(self.code, format!("roots cannot be watched: {}", self.reason))
            .remedy(self.remedy)
            .remedy("or leave --level out: gcwatch then watches at the level that works")
    }
}

/// The library in its place, and the lease's socket listening.
#[derive(Debug)]
pub(crate) struct Ready {
    placed: Placed,
    lease: Lease,
    lease_path: PathBuf,
    dir: tempfile::TempDir,
}

/// Makes everything ready that the target will need.
///
/// # Errors
/// The library does not load here, or there is no place that both sides reach.
pub(crate) fn prepare(
    chosen: Option<&Path>,
    pid: Option<u32>,
    uid: Option<u32>,
    temp_dir: &Path,
) -> Result<Ready, Refusal> {
    let meeting = library::meeting_dir(pid, temp_dir);
    let no_place = |e: io::Error| {
        Refusal::new(
            Code::UNSUPPORTED,
            format!("the profiler library cannot be put into {}: {e}", meeting.0.display()),
            "give the process a temporary directory (TMPDIR) that gcwatch can write to",
        )
    };
    let placed = library::place(chosen, &meeting).map_err(no_place)?;
    match library::check(&placed) {
        Ok(seen) => tracing::debug!("profiler library {}: {seen:?}", placed.ours.display()),
        Err(e) => {
            let remedy = "is the directory mounted noexec? give another one with TMPDIR, or another build with --profiler-path";
            return Err(Refusal::new(Code::UNSUPPORTED, e, remedy));
        }
    }
    let dir = sys::make_temp_dir(&meeting.0).map_err(no_place)?;
    let socket = dir.path().join("lease");
    let lease = Lease::listen(&socket).map_err(no_place)?;
    if let Some(uid) = uid {
        sys::give_to(&socket, uid).map_err(no_place)?;
    }
    let lease_path = meeting.1.join(dir.path().file_name().unwrap_or_default()).join("lease");
    Ok(Ready { placed, lease, lease_path, dir })
}

impl Ready {
    /// The library's path as the target names it.
    pub(crate) fn library(&self) -> String {
        self.placed.theirs.to_string_lossy().into_owned()
    }

    /// The profiler's configuration.
    pub(crate) fn config(&self, detail: Detail, unset: Option<&str>, window: Option<wire::Window>) -> String {
        let Detail { blocks, names, .. } = detail;
        let (arming, lease) = (wire::Arming::LATE, self.lease_path.to_string_lossy());
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
    ) -> Result<(), Refusal> {
        let (config, library) = (self.config(detail, None, None), self.library());
        let started = Instant::now();
        loop {
            let attach = client.attach_profiler(BACKGROUND_GC_WAIT_MS, clsid(), &library, config.as_bytes());
            let error = match attach.await {
                Ok(()) => break,
                Err(e) => e,
            };
            let leaving = [HResult(hresult::STILL_LEAVING as u32), HResult::PROFILER_DETACHING];
            let again = error.hresult().is_some_and(|h| leaving.contains(&h));
            if !again || started.elapsed() > STILL_LEAVING {
                return Err(refusal(&error));
            }
            sleep(Duration::from_millis(100)).await;
        }
        // It connects before the runtime answers; where it cannot, its provider is its lease.
        self.came(Duration::from_millis(200)).await;
        Ok(())
    }

    /// Whether the profiler has come for its lease within this time.
    pub(crate) async fn came(&mut self, within: Duration) -> bool {
        matches!(tokio::time::timeout(within, self.lease.taken()).await, Ok(Ok(())))
    }

    /// The lease, where the profiler comes and goes.
    pub(crate) fn lease(&mut self) -> &mut Lease {
        &mut self.lease
    }

    /// The lease alone; its socket's name is needed no more.
    pub(crate) fn into_lease(self) -> Lease {
        drop(self.dir);
        self.lease
    }
}

/// Why a runtime has no `moves`: NativeAOT and Mono tell generation ranges and then none of their blocks.
pub(crate) async fn no_moves<T: Transport>(client: &Client<T>) -> Option<String> {
    let takes_profilers = client.supports_profilers().await.unwrap_or(true);
    (!takes_profilers).then(|| "this runtime tells no blocks (NativeAOT or Mono)".to_owned())
}

/// A runtime that takes no profiler at all says so at once.
pub(crate) async fn takes_profilers<T: Transport>(client: &Client<T>) -> Result<(), Refusal> {
    match client.supports_profilers().await {
        Ok(false) => Err(no_profilers()),
        _ => Ok(()),
    }
}

fn no_profilers() -> Refusal {
    let reason = "this runtime takes no profiler, and tells no blocks (NativeAOT or Mono)";
    Refusal { instead: Level::Basic, ..Refusal::new(Code::UNSUPPORTED, reason, "use --level basic") }
}

/// The profiler's class identifier.
pub(crate) fn clsid() -> Guid {
    Guid::from_bytes(wire::CLSID)
}

/// What an answer to a profiler command means.
pub(crate) fn refusal(error: &Error) -> Refusal {
    let unsupported = |reason: &str, remedy: &str| Refusal::new(Code::UNSUPPORTED, reason, remedy);
    let newer = "use --level moves, or run the program on a newer .NET";
    match error.hresult() {
        Some(HResult::PROFILER_ALREADY_ACTIVE) => Refusal::new(
            Code::OTHER_PROFILER,
            "another profiler is active in the process, and a runtime takes only one",
            "start the process without the other profiler (an APM agent?)",
        ),
        Some(HResult::NOT_SUPPORTED) => no_profilers(),
        Some(HResult(code)) if code == hresult::RUNTIME_TOO_OLD as u32 => {
            unsupported("the runtime is too old for it (.NET 5 is the first)", newer)
        }
        Some(HResult::UNKNOWN_COMMAND) => unsupported("the runtime is too old for it", newer),
        Some(HResult::MODULE_NOT_FOUND) => unsupported(
            "the process could not load the profiler library",
            "can its user read and execute files in its temporary directory?",
        ),
        Some(HResult::TIMEOUT_WAITING_FOR_CONCURRENT_GC) => {
            unsupported("a background collection ran for more than 10 s", "try again when it is over")
        }
        Some(code) => unsupported(&format!("the runtime answered {code}"), "use --level moves"),
        None => Refusal::new(Code::FAILED, error.to_string(), "try again, or use --level moves"),
    }
}
