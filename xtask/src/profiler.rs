//! Builds of the profiler library for tests.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace;

/// A build of the library that answers for `ICorProfilerCallback` to `ICorProfilerCallback<latest>` alone: for
/// `gcwatch --profiler-path`. Cargo keeps it in a build directory of its own.
///
/// # Errors
/// Where it does not compile.
pub fn limited_to(latest: u32) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    cargo
        .args(["build", "--package", "netcore-profiler", "--lib", "--locked", "--message-format", "json"])
        .arg("--target-dir")
        .arg(workspace::target_dir().join(format!("profiler-{latest}")))
        .env("NETCORE_PROFILER_MAX_CALLBACK", latest.to_string())
        .env_remove("NETCORE_PROFILER_PREBUILT")
        .env_remove("NETCORE_PROFILER_SKIP")
        .stdin(Stdio::null());
    let built = cargo.output().with_context(|| format!("cannot run {cargo:?}"))?;
    if !built.status.success() {
        bail!(
            "the profiler does not compile ({}):\n{}",
            built.status,
            String::from_utf8_lossy(&built.stderr)
        );
    }
    let messages = String::from_utf8_lossy(&built.stdout).into_owned();
    let variables = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "build-script-executed")
        .flat_map(|message| message["env"].as_array().cloned().unwrap_or_default());
    let library = variables
        .into_iter()
        .find(|pair| pair[0] == "NETCORE_PROFILER_LIBRARY")
        .and_then(|pair| pair[1].as_str().map(PathBuf::from));
    library.context("cargo did not say where the library is")
}
