//! Finds the workspace and its build directory.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The root of the workspace.
pub fn root() -> &'static Path {
    let member = Path::new(env!("CARGO_MANIFEST_DIR"));
    member.parent().unwrap_or(member)
}

/// A Cargo command in the workspace, with the Cargo that runs this program, if one does.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root());
    command
}

/// Cargo's build directory: the one that holds this program, wherever the configuration puts it. Cargo marks it with a
/// `CACHEDIR.TAG`.
pub fn target_dir() -> PathBuf {
    let from_executable = env::current_exe().ok().and_then(|exe| {
        let marked = |dir: &&Path| dir.join("CACHEDIR.TAG").is_file();
        exe.ancestors().find(marked).map(Path::to_path_buf)
    });
    from_executable
        .or_else(|| env::var_os("CARGO_TARGET_DIR").map(PathBuf::from))
        .unwrap_or_else(|| root().join("target"))
}

/// Builds gcwatch in release mode, and returns its path.
///
/// # Errors
/// If it does not build.
pub fn release_gcwatch() -> Result<PathBuf> {
    let status = cargo()
        .args(["build", "--release", "--package", "gcwatch", "--target-dir"])
        .arg(target_dir())
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("gcwatch does not build");
    }
    let name = format!("gcwatch{}", env::consts::EXE_SUFFIX);
    Ok(target_dir().join("release").join(name))
}

/// Builds an example of a crate of the workspace with optimization, and returns the executable.
///
/// # Errors
/// If it does not build.
pub fn release_example(package: &str, name: &str) -> Result<PathBuf> {
    let status = cargo()
        .args(["build", "--release", "--all-features", "--package", package, "--example", name])
        .arg("--target-dir")
        .arg(target_dir())
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the example {name} does not build");
    }
    Ok(target_dir().join("release/examples").join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}
