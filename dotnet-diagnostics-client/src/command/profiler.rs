//! Command set 3, Profiler: loading a profiler library into the target.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::client::{Client, Deadline, Prepared, decode_result, prepare};
use crate::error::Result;
use crate::guid::Guid;
use crate::hresult::HResult;
use crate::message::CommandCode;
use crate::transport::Transport;

const ATTACH_PROFILER: CommandCode = CommandCode { set: 3, id: 1, name: "AttachProfiler" };
const STARTUP_PROFILER: CommandCode = CommandCode { set: 3, id: 2, name: "StartupProfiler" };

/// A port dials before its runtime has reached the pause; until then a startup profiler is refused. At most 0.9 ms
/// were seen between the two.
const NOT_PAUSED_YET: Duration = Duration::from_secs(1);
const NOT_PAUSED_RETRY: Duration = Duration::from_millis(1);

/// Nothing can ever be there: below a file on Unix, with characters that Windows does not allow in a name.
const NO_LIBRARY: &str = "/dev/null/<none>";

/// The Profiler command set.
impl<T: Transport> Client<T> {
    /// Whether the runtime can load profilers at all: CoreCLR can, NativeAOT and Mono cannot.
    ///
    /// Asks for a library that cannot exist and looks at the refusal. (An unknown command of the set would tell too,
    /// but costs CoreCLR a file descriptor each time.)
    ///
    /// # Errors
    /// Those of every command, the runtime's refusal excepted.
    pub async fn supports_profilers(&self) -> Result<bool> {
        self.probe_profilers(self.deadline()).await
    }

    pub(super) async fn probe_profilers(&self, deadline: Deadline) -> Result<bool> {
        let request = attach_request(0, Guid::default(), NO_LIBRARY, &[]);
        match self.run(request, deadline).await {
            Ok(_) => Ok(true),
            Err(error) => match error.hresult() {
                Some(code) => Ok(code != HResult::NOT_SUPPORTED),
                None => Err(error),
            },
        }
    }

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
        let request = attach_request(concurrent_gc_timeout_ms, clsid, path, client_data);
        let (payload, _) = self.run(request, self.deadline()).await?;
        decode_result(ATTACH_PROFILER.name, &payload)
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
                Ok((payload, _)) => return decode_result(STARTUP_PROFILER.name, &payload),
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

fn attach_request(timeout_ms: u32, clsid: Guid, path: &str, client_data: &[u8]) -> Prepared {
    prepare(ATTACH_PROFILER, |payload| {
        payload
            .u32(timeout_ms)
            .guid(clsid)
            .required_str16("profiler path", path)
            .count(client_data.len())
            .bytes(client_data);
    })
}
