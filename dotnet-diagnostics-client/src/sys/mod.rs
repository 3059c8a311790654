//! What differs between operating systems in finding processes and their endpoints.

#[cfg_attr(
    all(not(test), any(windows, target_os = "linux", target_os = "android")),
    expect(dead_code, reason = "other systems have no such block; the tests run everywhere")
)]
mod arguments;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod basic;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod inside;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod macos;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod pin;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod process_files;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod rights;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod run_as_user;
#[cfg_attr(unix, path = "search_sockets.rs")]
#[cfg_attr(windows, path = "search_pipes.rs")]
pub(crate) mod search;
#[cfg(unix)]
mod socket_place;
#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "linux", target_os = "android"))]
use linux as os;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
use macos as os;
#[cfg(windows)]
use windows as os;

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) use basic::{Pin, children, cpu_ticks, environ, has_variable, is_stopped, uid};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux::{children, cpu_ticks, environ, has_variable, is_stopped, uid};
#[cfg(unix)]
pub(crate) use os::{OwnNamespaces, is_listening, may_connect, socket, socket_place, sockets, start_time};
#[cfg(windows)]
pub(crate) use os::{
    Pin, children, cpu_ticks, environ, has_variable, is_stopped, pipe_exists, pipe_names, uid,
};
pub(crate) use os::{exists, facts, pids};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use pin::Pin;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use process_files::connect;
#[cfg(unix)]
pub(crate) use socket_place::{MAX_SOCKET_PATH, SocketDirectory, SocketPlace, shared_directories};

/// What this crate offers on some systems only.
pub(crate) mod public {
    #[cfg(windows)]
    pub use crate::sys::os::{PipeAccess, SecurityDescriptor, own_user_sid, sid_text, user_sid};
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub use crate::sys::process_files::{ProcessFiles, ProcessRights};
}

/// Whether the system hides the variables of some of this user's own processes, but not their arguments.
pub(crate) const HIDES_OWN_ENVIRONMENT: bool = cfg!(target_os = "macos");
