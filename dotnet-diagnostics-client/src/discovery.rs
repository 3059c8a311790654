//! Finding the endpoints of runtimes, and telling where was looked when there is none.

mod listing;
mod not_found;
#[cfg_attr(unix, path = "discovery/sockets.rs")]
#[cfg_attr(windows, path = "discovery/pipes.rs")]
mod search;

use crate::endpoint::Endpoint;

pub use listing::{Found, Listing, Rejected, Rejection, SearchedDirectory};
pub use not_found::{NotFound, NotFoundReason};

/// Finds the default endpoint of a process. Nothing is connected to.
///
/// On Linux the name is exact: directory and process id as the target sees them (its `TMPDIR`, its namespaces), and
/// its start time. Elsewhere on Unix the newest socket of that process id is taken.
///
/// # Errors
/// [`NotFound`] with everything that was looked at.
pub fn find(pid: u32) -> Result<Endpoint, Box<NotFound>> {
    search::find(pid).map(|found| found.endpoint)
}

/// Finds the default endpoints of all runtimes on this machine that this user can see. Nothing is connected to, so an
/// endpoint may turn out to be stale or forbidden.
///
/// Routers for remote devices (`dotnet-dsrouter`) are no .NET processes and left out.
pub fn list() -> Listing {
    search::list()
}
