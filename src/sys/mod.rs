//! Everything that differs between operating systems, behind the same names.

#[cfg(not(target_env = "musl"))]
mod dlopen;
mod late;
mod os;
#[cfg(target_os = "linux")]
mod place;
#[cfg(not(target_os = "linux"))]
#[path = "place_elsewhere.rs"]
mod place;
mod shared;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub(crate) use late::LateFile;
pub(crate) use os::{
    Lease, Signals, close_inherited, create, exit_code, forward, free_bytes, give_socket, is_root,
    make_temp_dir, open_settings, others_can_change, own_group, own_uid, place, read_at, replaceable,
    replacement,
};
pub(crate) use place::{Meeting, meet, read_of};
pub(crate) use shared::{Settings, Signal};

/// Memory that a process has, swapped out parts included; `None` where the system does not tell it in /proc.
pub(crate) fn memory_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let swapped = kib("VmSwap:").unwrap_or(0);
    kib("VmRSS:").map(|resident| resident.saturating_add(swapped).saturating_mul(1024))
}

/// What loading the profiler library here, before it goes to another process, has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preflight {
    /// It loads, and speaks this version's schema.
    #[cfg_attr(target_env = "musl", expect(dead_code, reason = "a static build cannot find out"))]
    Sound,
    /// This build cannot try.
    #[cfg_attr(not(target_env = "musl"), expect(dead_code, reason = "only a static build says so"))]
    NotPossible(&'static str),
}

/// Loads a library into this process, asks its schema version, and lets it go again. What is loaded are these bytes, by
/// no name that anybody else could give to another file.
///
/// # Errors
/// Why it does not load, or that it is of another version.
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

/// A static musl program has no dynamic loader in it.
#[cfg(target_env = "musl")]
pub(crate) fn preflight(_library: &[u8]) -> Result<Preflight, String> {
    Ok(Preflight::NotPossible("a static musl build of gcwatch cannot load libraries"))
}
