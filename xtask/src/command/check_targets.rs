//! `cargo xtask check-targets`

use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

const TARGETS: [&str; 6] = [
    "x86_64-pc-windows-gnu",
    "x86_64-pc-windows-msvc",
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
];

pub(crate) fn run() -> Result<ExitCode> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for target in TARGETS {
        let result = if let Some(reason) = missing(target) {
            skipped += 1;
            format!("skipped, it cannot be added: {reason}")
        } else if check(target)? {
            passed += 1;
            "ok".to_owned()
        } else {
            failed += 1;
            "FAILED".to_owned()
        };
        writeln!(io::stdout(), "{target}: {result}")?;
    }
    writeln!(io::stdout(), "targets: {passed} ok, {failed} failed, {skipped} skipped")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Adds a target's standard library. Returns the reason if that fails.
pub(super) fn missing(target: &str) -> Option<String> {
    let added = Command::new("rustup").args(["target", "add", target]).stdin(Stdio::null()).output();
    match added {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("rustup failed").to_owned())
        }
        Err(error) => Some(format!("rustup: {error}")),
    }
}

fn check(target: &str) -> Result<bool> {
    let status = xtask::workspace::cargo()
        .args(["check", "--workspace", "--quiet", "--target", target])
        // Without the profiler library, which would need the target's linker.
        .env("NETCORE_PROFILER_SKIP", "1")
        .stdin(Stdio::null())
        .status()
        .context("cannot run cargo")?;
    Ok(status.success())
}
