//! What differs between operating systems in finding processes and their endpoints.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "linux", target_os = "android"))]
use linux as os;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
use macos as os;
#[cfg(unix)]
use unix as search;
#[cfg(windows)]
use windows as os;
#[cfg(windows)]
use windows as search;

pub(crate) use os::{exists, facts, pids};
pub(crate) use search::{find, list};
