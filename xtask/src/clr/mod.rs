//! Finds the .NET runtimes that tests and demo run on.

mod bundle;
mod emulated;
mod find;
mod provision;
pub(crate) mod runtime;
mod version;
pub(crate) mod wine;

use std::env;
use std::sync::OnceLock;

use anyhow::Result;

use crate::tested;

pub(crate) use runtime::remove_runtime_settings;
pub use runtime::{Clr, OLDEST_MAJOR, ROOTS_VARIABLE};
pub use version::Version;
pub use wine::WINDOWS_ROOT_VARIABLE;

/// Every runtime to test on, the lowest version first; never empty.
///
/// # Errors
/// Those of [`find_for`].
pub fn find_all() -> Result<Vec<Clr>> {
    find_for(&tested::target().unwrap_or_default())
}

/// The same for a gcwatch that is built for a target: where that needs an emulator, a runtime of its architecture.
///
/// # Errors
/// If no runtime is found and none can be fetched, or if there is no emulator.
pub fn find_for(target: &str) -> Result<Vec<Clr>> {
    let emulator = tested::emulator(target)?;
    if emulator.is_empty() {
        return natives();
    }
    if tested::is_windows(target) {
        return Ok(vec![wine::clr(emulator)?]);
    }
    Ok(vec![emulated::clr(emulator, &native_lowest()?)?])
}

/// The runtimes that run here without an emulator.
///
/// These are the runtimes that `GCWATCH_DOTNET_ROOT` names; else those of the `dotnet` on `PATH`, from .NET 8 on, one
/// of each major version; else a .NET 9 from npm, which is fetched once and kept.
///
/// # Errors
/// If `GCWATCH_DOTNET_ROOT` names something that is no `DOTNET_ROOT`, or if no runtime is found and none can be
/// fetched. The message says what to do.
fn natives() -> Result<Vec<Clr>> {
    static FOUND: OnceLock<Vec<Clr>> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(found.clone());
    }
    let mut found = match env::var_os(ROOTS_VARIABLE).filter(|value| !value.is_empty()) {
        Some(roots) => find::in_roots(&roots)?,
        None => find::on_path()?,
    };
    if found.is_empty() {
        found = find::in_root(&provision::clr()?);
    }
    found.sort_by_key(|clr| clr.version);
    Ok(FOUND.get_or_init(|| found).clone())
}

/// The lowest version that was [found](find_all).
///
/// # Errors
/// Those of [`find_all`].
pub fn find_lowest() -> Result<Clr> {
    Ok(find_all()?.swap_remove(0))
}

/// The lowest version that runs here without an emulator.
pub(crate) fn native_lowest() -> Result<Clr> {
    Ok(natives()?.swap_remove(0))
}
