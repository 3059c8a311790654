//! Builds of the profiler library for tests and benchmarks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::workspace;

/// Builds a library for `gcwatch --profiler-path` that implements `ICorProfilerCallback` only up to
/// `ICorProfilerCallback<latest>`, in a build directory of its own.
///
/// # Errors
/// If it does not compile.
pub fn limited_to(latest: u32) -> Result<PathBuf> {
    build(&format!("profiler-{latest}"), "NETCORE_PROFILER_MAX_CALLBACK", &latest.to_string())
}

/// Builds a library that reports nothing, to measure against: `floor` arms late and has empty callbacks, `plain` keeps
/// `COR_PRF_MONITOR_GC` on and returns `S_OK` from all callbacks. Builds each kind only once per process, because Cargo
/// would disturb the next measurement.
///
/// # Errors
/// If it does not compile.
pub fn measured(kind: &str) -> Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = built.get(kind) {
        return Ok(library.clone());
    }
    let library = build(&format!("profiler-{kind}"), "NETCORE_PROFILER_MEASURED", kind)?;
    built.insert(kind.to_owned(), library.clone());
    Ok(library)
}

fn build(directory: &str, variable: &str, value: &str) -> Result<PathBuf> {
    let mut cargo = workspace::cargo();
    cargo
        .args(["build", "--package", "netcore-profiler", "--lib", "--locked", "--message-format", "json"])
        .arg("--target-dir")
        .arg(workspace::target_dir().join(directory))
        .env_remove("NETCORE_PROFILER_MAX_CALLBACK")
        .env_remove("NETCORE_PROFILER_MEASURED")
        .env(variable, value)
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
