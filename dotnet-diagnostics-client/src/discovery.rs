//! Finds the endpoints of runtimes, and the reason if there is none. No function of this module connects to an
//! endpoint.

pub(crate) mod listing;
pub(crate) mod not_found;

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::endpoint::Endpoint;
use crate::sys::search;

pub use listing::{Found, Listing, RejectReason, Rejected, SearchedDirectory};
pub(crate) use not_found::owner_suffix;
pub use not_found::{NotFound, NotFoundReason};

/// Finds the default endpoint of a process.
///
/// On Linux and macOS this is the socket with the exact name that the process uses: in its `TMPDIR`, with the process id
/// in its PID namespace, and with its start time. If the start time cannot be read, and on the BSDs, it is the newest
/// socket of the process id, on Windows the pipe with the process id in its name.
///
/// # Errors
/// [`NotFound`], with everything that was searched.
pub fn find(pid: u32) -> Result<Endpoint, Box<NotFound>> {
    search::find(pid).map(|found| found.endpoint)
}

/// How often [`wait_for`] looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Waits until a process has an endpoint, for example because it has just been started. It looks every 50 ms. Cancel
/// safe.
///
/// # Errors
/// [`NotFound`] as the last look has found, when `within` is over; at once if there is no such process.
pub async fn wait_for(pid: u32, within: Duration) -> Result<Endpoint, Box<NotFound>> {
    let started = Instant::now();
    loop {
        match find(pid) {
            Err(missing)
                if missing.reason() != NotFoundReason::NoSuchProcess && started.elapsed() < within =>
            {
                sleep(LOOK_INTERVAL).await;
            }
            found => return found,
        }
    }
}

/// Finds the default endpoints of all runtimes on this machine that this user can see. A connection to one of them can
/// still fail.
///
/// Routers for remote devices (`dotnet-dsrouter`) are left out.
pub fn list() -> Listing {
    search::list()
}
