//! The target that gcwatch is tested for, and how its programs run on this machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::clr::wine;
use crate::workspace;

/// The variable that names the target, such as `x86_64-unknown-linux-musl`. Without it gcwatch is tested as the tests
/// themselves are built.
pub const VARIABLE: &str = "GCWATCH_TEST_TARGET";

const ARM64_COMPILER: &str = "aarch64-linux-gnu-gcc";
const ARM64_EMULATORS: [&str; 2] = ["qemu-aarch64-static", "qemu-aarch64"];
/// Static programs for arm64 need no compiler to be linked, and no files of that system to run.
const ARM64_STATIC: &str = "aarch64-unknown-linux-musl";

/// The target that the environment names.
pub fn target() -> Option<String> {
    env::var(VARIABLE).ok().filter(|target| !target.is_empty())
}

/// Whether a target is Windows, and this machine is not.
pub(crate) fn is_windows(target: &str) -> bool {
    target.contains("-windows-") && !cfg!(windows)
}

fn is_foreign(target: &str) -> bool {
    target.starts_with("aarch64-") && !cfg!(target_arch = "aarch64")
}

/// The command that runs programs for Windows, or for arm64 with glibc, on this machine; empty if the target is of this
/// machine's system and architecture.
///
/// # Errors
/// If the emulator is missing, or the compiler, which brings the C library.
pub fn emulator(target: &str) -> Result<Vec<OsString>> {
    if is_windows(target) {
        return wine::emulator();
    }
    if !is_foreign(target) {
        return Ok(Vec::new());
    }
    let emulator = bare_emulator()?;
    let output = Command::new(ARM64_COMPILER)
        .arg("-print-file-name=libc.so.6")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{ARM64_COMPILER} cannot be run"))?;
    let library = PathBuf::from(String::from_utf8(output.stdout)?.trim()).canonicalize();
    let library = library.with_context(|| format!("{ARM64_COMPILER} finds no C library"))?;
    let root = library.ancestors().nth(2).context("a file in no directory")?;
    Ok(vec![emulator, "-L".into(), root.into()])
}

fn bare_emulator() -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut programs = env::split_paths(&path).flat_map(|dir| ARM64_EMULATORS.map(|name| dir.join(name)));
    let found = programs.find(|program| program.is_file());
    Ok(found.with_context(|| format!("{} is not on PATH", ARM64_EMULATORS.join(" or ")))?.into())
}

/// A Cargo command that builds or tests for a target.
///
/// # Errors
/// Those of [`emulator`].
pub fn cargo(subcommand: &str, target: &str) -> Result<Command> {
    let mut command = workspace::cargo();
    command.args([subcommand, "--target", target, "--target-dir"]).arg(workspace::target_dir());
    let variable = |what: &str| format!("CARGO_TARGET_{}_{what}", target.to_uppercase().replace('-', "_"));
    if is_windows(target) {
        command.env(variable("RUNNER"), emulator(target)?.join(" ".as_ref()));
    }
    if is_foreign(target) {
        let is_static = target == ARM64_STATIC;
        command.env(variable("LINKER"), if is_static { "rust-lld" } else { ARM64_COMPILER });
        let runner = if is_static { bare_emulator()? } else { emulator(target)?.join(" ".as_ref()) };
        command.env(variable("RUNNER"), runner);
    }
    Ok(command)
}

/// The command that runs the gcwatch to test: `own`, or one that is built for the target.
///
/// # Errors
/// Those of [`emulator`], or if it does not build.
pub fn gcwatch(own: &Path) -> Result<Vec<OsString>> {
    let Some(target) = target() else { return Ok(vec![own.into()]) };
    // With the C library of another system the emulator also shows gcwatch another root directory.
    let is_possible = !is_foreign(&target) || target == ARM64_STATIC;
    ensure!(is_possible, "for arm64, gcwatch is tested as {ARM64_STATIC}");
    let status = cargo("build", &target)?.args(["--quiet", "--package", "gcwatch"]).status();
    ensure!(status.context("cannot run cargo")?.success(), "gcwatch does not build for {target}");
    let name = if is_windows(&target) { "debug/gcwatch.exe" } else { "debug/gcwatch" };
    let program = workspace::target_dir().join(&target).join(name);
    let mut argv = match is_windows(&target) {
        true => emulator(&target)?,
        false => Vec::new(),
    };
    if is_foreign(&target) {
        argv.push(bare_emulator()?);
    }
    argv.push(program.into());
    Ok(argv)
}
