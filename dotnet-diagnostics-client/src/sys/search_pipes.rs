//! Windows: the id of a process determines the name of its pipe.

use std::io;

use crate::discovery::listing::{Found, Listing, RejectReason, Rejected, SearchedDirectory};
use crate::discovery::not_found::NotFound;
use crate::endpoint::{Endpoint, PIPE_PREFIX};
use crate::sys;

fn found(pid: u32) -> Found {
    Found { pid, endpoint: Endpoint::default_pipe(pid), owner_uid: None }
}

fn pipe_exists(pid: u32) -> bool {
    sys::pipe_exists(&Endpoint::default_pipe(pid).to_string())
}

pub(crate) fn find(pid: u32) -> Result<Found, Box<NotFound>> {
    if pipe_exists(pid) {
        return Ok(found(pid));
    }
    Err(Box::new(NotFound {
        pid,
        facts: sys::facts(pid),
        searched: vec![SearchedDirectory { path: PIPE_PREFIX.into(), problem: None }],
        rejected: Vec::new(),
    }))
}

pub(crate) fn list() -> Listing {
    let running = sys::pids();
    let mut listing = Listing::default();
    let names = sys::pipe_names();
    listing.searched.push(SearchedDirectory {
        path: PIPE_PREFIX.into(),
        problem: names.as_ref().err().map(io::Error::kind),
    });
    let mut candidates: Vec<u32> = match names {
        Ok(names) => {
            names.iter().filter_map(|name| name.strip_prefix("dotnet-diagnostic-")?.parse().ok()).collect()
        }
        // Pipes that cannot be listed, as in Wine, can still be asked for one by one.
        Err(_) => running.iter().copied().filter(|pid| pipe_exists(*pid)).collect(),
    };
    candidates.sort_unstable();
    candidates.dedup();
    for pid in candidates {
        if running.contains(&pid) {
            listing.found.push(found(pid));
        } else {
            listing.rejected.push(Rejected {
                path: Endpoint::default_pipe(pid).to_string().into(),
                reason: RejectReason::ProcessEnded { pid },
            });
        }
    }
    listing
}
