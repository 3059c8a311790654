//! Everything that differs between operating systems, behind the same names.

#[cfg(not(target_env = "musl"))]
mod dlopen;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as os;
#[cfg(windows)]
use windows as os;

pub(crate) use os::{
    Lease, Signals, exit_code, forward, free_bytes, give_to, is_root, made_by_us, make_shared_dir,
    make_temp_dir, own_group, read_at, readable_by_all, same_mounts,
};

/// A request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ctrl-C. `to_group`: the terminal sends it to the whole foreground group, children included.
    Interrupt { to_group: bool },
    /// SIGTERM.
    Terminate,
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

/// Loads the library into this process, asks its schema version, and lets it go again. Loading runs
/// no code of it: it has no constructors.
///
/// # Errors
/// Why it does not load, or that it is of another version.
#[cfg(not(target_env = "musl"))]
pub(crate) fn preflight(library: &std::path::Path) -> Result<Preflight, String> {
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
pub(crate) fn preflight(_library: &std::path::Path) -> Result<Preflight, String> {
    Ok(Preflight::NotPossible("a static musl build of gcwatch cannot load libraries"))
}
