//! Finds and runs the programs of other projects.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Whether a program is on `PATH`.
pub(super) fn exists(program: &str) -> bool {
    let directories: Vec<PathBuf> =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    directories.iter().any(|directory| directory.join(program).is_file())
}

/// Runs a command, and returns what it wrote to stdout.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{command:?} failed ({}): {}", output.status, String::from_utf8_lossy(&said).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
