//! What differs between operating systems in finding processes and their endpoints.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod inside;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod macos;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod pin;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod rights;
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

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use os::{Pin, connect};
pub(crate) use os::{children, cpu_ticks, environ, exists, facts, has_variable, is_stopped, pids, uid};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use pin::{Inside, Later};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use pin::{Pin, With, act, act_within, connect};
pub(crate) use search::{find, list};
