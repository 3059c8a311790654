//! Command set 3, Profiler: loads a profiler library into the target.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::error::Result;
use crate::exchange::{Deadline, decode_result, prepare};
use crate::guid::Guid;
use crate::hresult::HResult;
use crate::message::{Command, Request};

/// A runtime connects to its port before it is suspended, and until then refuses a startup profiler. At most 0.9 ms
/// have been measured between the two.
const SUSPEND_TIMEOUT: Duration = Duration::from_secs(1);
const SUSPEND_RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// A path that cannot exist: below a file on Unix, and with characters that Windows does not allow.
const IMPOSSIBLE_PATH: &str = "/dev/null/<none>";

/// The Profiler command set.
impl Client {
    /// Whether the runtime can load profilers. CoreCLR can; NativeAOT and Mono cannot.
    ///
    /// It sends AttachProfiler with a path that cannot exist and reads the error code. (An unknown command would also
    /// show it, but CoreCLR leaks a file descriptor for each one.)
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command), except [`Error::Runtime`](crate::Error::Runtime).
    pub async fn supports_profilers(&self) -> Result<bool> {
        self.probe_profilers(self.deadline()).await
    }

    pub(super) async fn probe_profilers(&self, deadline: Deadline) -> Result<bool> {
        let request = attach_request(0, Guid::default(), IMPOSSIBLE_PATH, &[])?;
        match self.run(&request, deadline).await {
            Ok(_) => Ok(true),
            Err(error) => match error.hresult() {
                Some(code) => Ok(code != HResult::NOT_SUPPORTED),
                None => Err(error),
            },
        }
    }

    /// Whether the runtime is suspended at its start, as far as AttachProfiler shows it.
    pub(super) async fn is_suspended(&self, deadline: Deadline) -> Result<bool> {
        let request = attach_request(0, Guid::default(), IMPOSSIBLE_PATH, &[])?;
        match self.run(&request, deadline).await {
            Ok(_) => Ok(false),
            Err(error) => match error.hresult() {
                Some(code) => Ok(code == HResult::NOT_YET_AVAILABLE),
                None => Err(error),
            },
        }
    }

    /// Loads a profiler into a running runtime (.NET Core 3.0 and later). Returns when the profiler's
    /// `InitializeForAttach` and `ProfilerAttachComplete` have returned.
    ///
    /// - `concurrent_gc_timeout`: how long the runtime waits for the end of a running background GC, in whole
    ///   milliseconds. It waits only if the profiler asks for GC events.
    /// - `clsid`: class id of the profiler.
    /// - `path`: path of the library as the target sees it.
    /// - `client_data`: passed to `InitializeForAttach`.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command). The codes are: [`HResult::NOT_YET_AVAILABLE`] if the
    /// runtime is still starting, [`HResult::MODULE_NOT_FOUND`] if the library cannot be loaded for whatever reason,
    /// [`HResult::PROFILER_ALREADY_ACTIVE`] if another profiler is loaded, and any code that the profiler returns.
    pub async fn attach_profiler(
        &self,
        concurrent_gc_timeout: Duration,
        clsid: Guid,
        path: &str,
        client_data: &[u8],
    ) -> Result<()> {
        let timeout_ms = u32::try_from(concurrent_gc_timeout.as_millis()).unwrap_or(u32::MAX);
        let request = attach_request(timeout_ms, clsid, path, client_data)?;
        let (payload, _) = self.run(&request, self.deadline()).await?;
        decode_result(Command::ATTACH_PROFILER.into(), &payload)
    }

    /// Sets the profiler that a runtime loads when it is resumed after the suspension at its start (.NET 6 and later).
    ///
    /// Success means that the runtime has stored the path, **not** that it will load the profiler. It reports no error
    /// if the library is missing, if `DOTNET_EnableDiagnostics_Profiler=0` is set, if the environment names another
    /// profiler, or if the runtime was never suspended. Only the profiler itself can report that it was loaded.
    ///
    /// A runtime that is not yet suspended answers [`HResult::INVALID_ARGUMENT`], so the command is repeated for up to
    /// one second after this answer. A runtime that was already resumed always answers that.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn set_startup_profiler(&self, clsid: Guid, path: &str) -> Result<()> {
        let request = prepare(Command::STARTUP_PROFILER, |payload| {
            payload.guid(clsid).required_str16("profiler path", path)
        })?;
        let deadline = self.deadline();
        let started = Instant::now();
        loop {
            match self.run(&request, deadline).await {
                Ok((payload, _)) => return decode_result(Command::STARTUP_PROFILER.into(), &payload),
                Err(error)
                    if error.hresult() == Some(HResult::INVALID_ARGUMENT)
                        && started.elapsed() < SUSPEND_TIMEOUT =>
                {
                    deadline
                        .bound(Command::STARTUP_PROFILER.into(), async {
                            sleep(SUSPEND_RETRY_INTERVAL).await;
                            Ok(())
                        })
                        .await?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn attach_request(timeout_ms: u32, clsid: Guid, path: &str, client_data: &[u8]) -> Result<Request> {
    prepare(Command::ATTACH_PROFILER, |payload| {
        payload
            .u32(timeout_ms)
            .guid(clsid)
            .required_str16("profiler path", path)
            .count(client_data.len())
            .bytes(client_data)
    })
}
