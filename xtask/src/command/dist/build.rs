//! Builds the program of a platform, so that its bytes do not depend on where it is built.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use xtask::dist::Platform;
use xtask::workspace;

use super::super::check_targets::missing;
use super::{apple, tools};

/// The oldest macOS that the program runs on; .NET 8 and later need at least this one.
const MACOS: &str = "12.0";

/// The program's bytes, or the reason why it cannot be built here.
pub(super) fn program(platform: &Platform, time: i64) -> Result<Result<Vec<u8>, String>> {
    if let Some(reason) = missing(platform.triple) {
        return Ok(Err(format!("its standard library cannot be added: {reason}")));
    }
    let variable = format!("CARGO_TARGET_{}_LINKER", platform.triple.to_uppercase().replace('-', "_"));
    let mut flags = remapped()?;
    let (subcommand, variable, value) = match platform.triple.split('-').nth(2) {
        // Rust's own linker and its copy of musl: no other toolchain has a say in the bytes.
        Some("linux") => ("build", variable.as_str(), "rust-lld"),
        Some("windows") => {
            const LINKER: &str = "x86_64-w64-mingw32-gcc";
            if !tools::exists(LINKER) {
                return Ok(Err(format!("{LINKER} is not on PATH (Debian: gcc-mingw-w64-x86-64)")));
            }
            flags.push("-Clink-arg=-Wl,--no-insert-timestamp".into());
            ("build", variable.as_str(), LINKER)
        }
        Some("darwin") => {
            if !tools::exists("cargo-zigbuild") {
                return Ok(Err("cargo-zigbuild is not on PATH (pip install ziglang cargo-zigbuild)".into()));
            }
            ("zigbuild", "MACOSX_DEPLOYMENT_TARGET", MACOS)
        }
        _ => bail!("nobody knows how to link for {}", platform.triple),
    };
    let flags = flags.join(&OsString::from("\x1f"));
    let directory = workspace::target_dir().join("dist-build");
    let cargo = || {
        let mut cargo = workspace::cargo();
        cargo
            .args([subcommand, "--release", "--locked", "--target", platform.triple, "--target-dir"])
            .arg(&directory)
            .env(variable, value)
            .env("CARGO_ENCODED_RUSTFLAGS", &flags)
            .env("SOURCE_DATE_EPOCH", time.to_string());
        for variable in ["MAX_CALLBACK", "MEASURED", "PREBUILT", "SKIP"] {
            cargo.env_remove(format!("NETCORE_PROFILER_{variable}"));
        }
        cargo
    };
    let mut build = cargo();
    if subcommand == "zigbuild" {
        build.env(
            "NETCORE_PROFILER_PREBUILT",
            apple::library(&mut cargo(), &directory.join(platform.triple))?,
        );
    }
    let status = build
        .args(["--package", "gcwatch", "--bin", "gcwatch"])
        .stdin(Stdio::null())
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("gcwatch does not build for {}", platform.name);
    }
    let path = directory.join(platform.triple).join("release").join(platform.program);
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    Ok(Ok(if subcommand == "zigbuild" { apple::signed(bytes, "gcwatch")? } else { bytes }))
}

/// Flags that keep the paths of this machine out of the program. The last one that fits a path counts.
fn remapped() -> Result<Vec<OsString>> {
    let mut flags = Vec::new();
    let mut remap = |from: &Path, to: &str| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(from);
        flag.push("=");
        flag.push(to);
        flags.push(flag);
    };
    remap(workspace::root(), "/gcwatch");
    remap(&workspace::target_dir(), "/target");
    let home = cargo_home()?;
    remap(&home, "/cargo");
    // The folders of sources are named after the registry that they were fetched from.
    if let Ok(sources) = fs::read_dir(home.join("registry").join("src")) {
        for source in sources {
            remap(&source?.path(), "/cargo/registry");
        }
    }
    Ok(flags)
}

fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    let home = env::home_dir().context("there is no home directory; set CARGO_HOME")?;
    Ok(home.join(".cargo"))
}
