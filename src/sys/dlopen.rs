//! Loads the profiler library here, to see whether it is sound.
#![expect(unsafe_code, reason = "loading a library is outside what the compiler can check")]

use std::path::Path;

/// The schema version that the library at `path` speaks.
pub(super) fn abi(path: &Path) -> Result<u32, String> {
    // SAFETY: the library is our own (its name carries its hash) or one the user named for this
    // purpose; it has no constructors, so loading it runs no code of it.
    let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
    // SAFETY: every version of the library exports this name with this signature.
    let abi = unsafe { library.get::<unsafe extern "C" fn() -> u32>(b"gcwatch_profiler_abi\0") }
        .map_err(|_| "it is no gcwatch profiler (gcwatch_profiler_abi is missing)".to_owned())?;
    // SAFETY: it takes nothing, touches nothing and returns a constant.
    Ok(unsafe { abi() })
}
