//! Everything that differs between operating systems, behind the same names.

#[cfg(not(target_env = "musl"))]
mod dlopen;
mod late;
#[cfg(target_os = "linux")]
mod leftover;
mod new_file;
mod os;
#[cfg(target_os = "linux")]
mod place;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "place_elsewhere.rs"]
mod place;
#[cfg(windows)]
#[path = "place_windows.rs"]
mod place;
mod shared;
#[cfg(unix)]
mod unix;
#[cfg(not(target_os = "linux"))]
mod whole_file;
#[cfg(windows)]
mod windows;

pub(crate) use late::LateFile;
pub(crate) use new_file::NewFile;
pub(crate) use os::{
    AsStream, GraphStream, Lease, PortPlace, SHARED_TEMP_DIR, Signals, close_inherited, create, exit_code,
    forward, free_bytes, is_root, memory_bytes, open_settings, others_can_change, own_group, own_uid,
    peak_memory_bytes, place, read_at, replaceable, replacement, shows_escapes, stdout, terminal_input,
    thread_names,
};
pub(crate) use place::{Meeting, meet, read_of};
pub(crate) use shared::{Settings, Signal, TerminalInput};

/// Whether a running process can be forked here, to take a graph of its heap.
pub(crate) const FORKS_PROCESSES: bool = cfg!(target_os = "linux");

/// Whether the profiler has a connection here over which a graph can leave the process.
pub(crate) const CARRIES_GRAPHS: bool = cfg!(unix);

/// The result of loading the profiler library into gcwatch, before it goes to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preflight {
    /// The library loads, and has this gcwatch's schema version.
    #[cfg_attr(target_env = "musl", expect(dead_code, reason = "a static build loads no libraries"))]
    Sound,
    /// This build of gcwatch cannot load libraries; the text says why.
    #[cfg_attr(not(target_env = "musl"), expect(dead_code, reason = "only a static build returns it"))]
    NotPossible(&'static str),
}

/// Loads a library into this process, asks for its schema version, and unloads it. It loads a copy of exactly these
/// bytes, which no other user can replace.
///
/// # Errors
/// The library does not load, or has another schema version.
#[cfg(not(target_env = "musl"))]
pub(crate) fn preflight(library: &[u8]) -> Result<Preflight, String> {
    dlopen::abi(library).and_then(|abi| {
        let ours = netcore_profiler::wire::ABI_VERSION;
        if abi == ours {
            Ok(Preflight::Sound)
        } else {
            Err(format!("it speaks version {abi} of the schema, this gcwatch version {ours}"))
        }
    })
}

/// A static musl program has no dynamic loader.
#[cfg(target_env = "musl")]
pub(crate) fn preflight(_library: &[u8]) -> Result<Preflight, String> {
    Ok(Preflight::NotPossible("a static musl build of gcwatch cannot load libraries"))
}
