//! Command set 3, Profiler: loading a profiler library into the target.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::error::Result;
use crate::guid::Guid;
use crate::hresult::HResult;
use crate::message::CommandCode;
use crate::transport::Transport;

use super::{prepare, succeeded};

const ATTACH_PROFILER: CommandCode = CommandCode { set: 3, id: 1, name: "AttachProfiler" };
const STARTUP_PROFILER: CommandCode = CommandCode { set: 3, id: 2, name: "StartupProfiler" };

/// A port dials before its runtime has reached the pause; until then a startup profiler is refused. At most 0.9 ms
/// were seen between the two.
const NOT_PAUSED_YET: Duration = Duration::from_secs(1);
const NOT_PAUSED_RETRY: Duration = Duration::from_millis(1);

/// The Profiler command set.
impl<T: Transport> Client<T> {
    /// Loads a profiler into a running runtime and returns when its `InitializeForAttach` and
    /// `ProfilerAttachComplete` are done (.NET Core 3.0 and later).
    ///
    /// `concurrent_gc_timeout_ms` bounds only the wait for a running background GC, and that only happens where the
    /// profiler asks for GC events. `path` is the library's path as the target sees it. `client_data` arrives in
    /// `InitializeForAttach`.
    ///
    /// # Errors
    /// Those of every command. The code may be the profiler's own. A runtime that is still starting answers
    /// [`HResult::NOT_YET_AVAILABLE`]; a library that cannot be loaded is [`HResult::MODULE_NOT_FOUND`] whatever the
    /// reason; where another profiler is loaded it is [`HResult::PROFILER_ALREADY_ACTIVE`].
    pub async fn attach_profiler(
        &self,
        concurrent_gc_timeout_ms: u32,
        clsid: Guid,
        path: &str,
        client_data: &[u8],
    ) -> Result<()> {
        let request = prepare(ATTACH_PROFILER, |payload| {
            payload
                .u32(concurrent_gc_timeout_ms)
                .guid(clsid)
                .required_str16("profiler path", path)
                .count(client_data.len())
                .bytes(client_data);
        });
        let (payload, _) = self.run(request, self.deadline()).await?;
        succeeded(ATTACH_PROFILER.name, &payload)
    }

    /// Names a profiler that a runtime suspended at its start loads when it is resumed (.NET 6 and later).
    ///
    /// Success means that the name was stored, **not** that the profiler was or will be loaded: a missing library,
    /// `DOTNET_EnableDiagnostics_Profiler=0`, and another profiler named in the environment are all silent, and so
    /// is a runtime that was never suspended. The profiler must report itself.
    ///
    /// A runtime that is just about to pause refuses with [`HResult::INVALID_ARGUMENT`]; that is tried again for up to
    /// one second. It is also the lasting answer of a runtime that was already resumed.
    ///
    /// # Errors
    /// Those of every command.
    pub async fn set_startup_profiler(&self, clsid: Guid, path: &str) -> Result<()> {
        let request = prepare(STARTUP_PROFILER, |payload| {
            payload.guid(clsid).required_str16("profiler path", path);
        });
        let deadline = self.deadline();
        let started = Instant::now();
        loop {
            match self.run(request.clone(), deadline).await {
                Ok((payload, _)) => return succeeded(STARTUP_PROFILER.name, &payload),
                Err(error)
                    if error.hresult() == Some(HResult::INVALID_ARGUMENT)
                        && started.elapsed() < NOT_PAUSED_YET =>
                {
                    deadline
                        .bound(STARTUP_PROFILER.name, async {
                            sleep(NOT_PAUSED_RETRY).await;
                            Ok(())
                        })
                        .await?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
