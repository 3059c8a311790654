//! Signs what runs on macOS: ad hoc, that is with hashes of the pages only. Apple silicon runs nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use arwen_codesign::{AdhocSignOptions, adhoc_sign};
use serde_json::Value;

/// Builds the profiler library with a Cargo command that lacks the package only, and signs it: gcwatch embeds it.
pub(super) fn library(cargo: &mut Command, directory: &Path) -> Result<PathBuf> {
    cargo.args(["--package", "netcore-profiler", "--lib", "--message-format", "json"]);
    let built = cargo.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(built.status.success(), "the profiler library does not build");
    let said = String::from_utf8_lossy(&built.stdout).into_owned();
    let library = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .flat_map(|message| message["env"].as_array().cloned().unwrap_or_default())
        .find(|pair| pair[0] == "NETCORE_PROFILER_LIBRARY")
        .and_then(|pair| pair[1].as_str().map(PathBuf::from))
        .context("cargo did not say where the library is")?;
    let path = directory.join("libnetcore_profiler.dylib");
    fs::write(&path, signed(fs::read(library)?, "netcore_profiler")?)?;
    Ok(path)
}

/// The same file with a signature.
pub(super) fn signed(bytes: Vec<u8>, name: &str) -> Result<Vec<u8>> {
    adhoc_sign(bytes, &AdhocSignOptions::new(name))
        .map_err(|error| anyhow!("{name} cannot be signed: {error}"))
}
