//! Finds out whether a process is stopped (SIGSTOP, a debugger).

use std::time::Duration;

use dotnet_diagnostics_client::process;
use tokio::time::sleep;

use super::control::NotWatched;
use crate::exit::Failure;
use crate::target;

const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// A process that a tool stops only to inspect it continues before that.
const MIN_CHECKS: u32 = 6;

/// Does `work` with a process, unless the process is stopped: then it would accept connections and never answer.
pub(crate) async fn unless_stopped<T>(
    pid: Option<u32>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, NotWatched> {
    tokio::select! {
        biased;
        done = work => Ok(done?),
        pid = stopped_for_some_time(pid) => Err(target::stopped(pid).into()),
    }
}

/// Waits until the process has been stopped for some time, and returns its id. `None`: waits for ever.
async fn stopped_for_some_time(pid: Option<u32>) -> u32 {
    let Some(pid) = pid else { return std::future::pending().await };
    let mut checks = 0;
    while checks < MIN_CHECKS {
        sleep(CHECK_INTERVAL).await;
        checks = if process::is_stopped(pid) { checks + 1 } else { 0 };
    }
    pid
}
