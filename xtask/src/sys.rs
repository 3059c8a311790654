//! The few places where platforms differ.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The npm client's program name: on Windows it is a script, which is only found with its extension.
pub(crate) const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// Whether the CLR of the npm package runs here. It is built for linux-x64 with glibc.
pub(crate) const NPM_CLR_RUNS_HERE: bool =
    cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"));

/// The file name of an executable, with the platform's extension.
pub(crate) fn executable(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}

/// The user's cache directory, by the platform's convention.
pub(crate) fn user_cache_dir() -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    if cfg!(windows) {
        return env::var_os("LOCALAPPDATA").and_then(absolute);
    }
    let below_home = if cfg!(target_os = "macos") {
        "Library/Caches"
    } else {
        if let Some(dir) = env::var_os("XDG_CACHE_HOME").and_then(absolute) {
            return Some(dir);
        }
        ".cache"
    };
    env::var_os("HOME").and_then(absolute).map(|home| home.join(below_home))
}

/// Makes a file executable, on Unix.
pub(crate) fn make_executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
