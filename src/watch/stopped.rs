//! Whether a process is stopped (SIGSTOP, a debugger).

use std::time::Duration;

use dotnet_diagnostics_client::process;
use tokio::time::sleep;

use super::control::NotWatched;
use crate::exit::Failure;
use crate::target;

const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// A process that is only being looked at goes on before that.
const LOOKS: u32 = 6;

/// Does something with a process, unless it turns out to be stopped: it would take every connection and answer none.
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

/// Waits until the process has been stopped for some time, and gives its id; for ever where it is not known.
async fn stopped_for_some_time(pid: Option<u32>) -> u32 {
    let Some(pid) = pid else { return std::future::pending().await };
    let mut looks = 0;
    while looks < LOOKS {
        sleep(LOOK_INTERVAL).await;
        looks = if process::is_stopped(pid) { looks + 1 } else { 0 };
    }
    pid
}
