//! Compiles this crate's own source a second time, as the library that .NET processes load, and embeds it in the crate.
//! It runs plain `rustc`, because a nested `cargo` would compete for the target directory, and the published package
//! would lack the source.
//!
//! - `NETCORE_PROFILER_PREBUILT=<file>` embeds that file instead (a signed build, a distribution's).
//! - `NETCORE_PROFILER_SKIP=1` embeds nothing, for `cargo check` of a target without its linker.
//! - `DOCS_RS`, which docs.rs sets, embeds nothing, because documentation has no use for the library.
//! - `NETCORE_PROFILER_MAX_CALLBACK=<n>` answers only to `ICorProfilerCallback` up to `ICorProfilerCallback<n>`.
//! - `NETCORE_PROFILER_MEASURED=floor|plain` builds a library that reports nothing, to compare with in benchmarks:
//!   late arming with empty callbacks, or the flag always on and `S_OK` from every callback.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PREBUILT: &str = "NETCORE_PROFILER_PREBUILT";
const SKIP: &str = "NETCORE_PROFILER_SKIP";
const DOCS_RS: &str = "DOCS_RS";
const MAX_CALLBACK: &str = "NETCORE_PROFILER_MAX_CALLBACK";
const MEASURED: &str = "NETCORE_PROFILER_MEASURED";

fn main() -> Result<()> {
    let target = env::var("TARGET")?;
    let linker_variable = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace(['-', '.'], "_"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=discard.ld");
    for variable in [PREBUILT, SKIP, DOCS_RS, MAX_CALLBACK, MEASURED, &linker_variable] {
        println!("cargo::rerun-if-env-changed={variable}");
    }

    let os = env::var("CARGO_CFG_TARGET_OS")?;
    let (prefix, extension) = match os.as_str() {
        "windows" => ("", "dll"),
        "macos" => ("lib", "dylib"),
        _ => ("lib", "so"),
    };
    let library = PathBuf::from(env::var("OUT_DIR")?).join(format!("profiler.{extension}"));
    if let Some(prebuilt) = env::var_os(PREBUILT) {
        println!("cargo::rerun-if-changed={}", prebuilt.display());
        fs::copy(&prebuilt, &library)
            .map_err(|error| format!("{PREBUILT}={}: {error}", prebuilt.display()))?;
    } else if env::var_os(SKIP).is_some_and(|value| value != "0") {
        println!("cargo::warning={SKIP} is set: the profiler library is not embedded");
        fs::write(&library, [])?;
    } else if env::var_os(DOCS_RS).is_some() {
        fs::write(&library, [])?;
    } else {
        compile(&target, &os, &linker_variable, &library)?;
    }

    let hash = format!("{:032x}", fnv1a_128(&fs::read(&library)?));
    println!("cargo::rustc-env=NETCORE_PROFILER_LIBRARY={}", library.display());
    println!("cargo::rustc-env=NETCORE_PROFILER_HASH={hash}");
    let name = format!("{prefix}netcore_profiler-{hash}.{extension}");
    println!("cargo::rustc-env=NETCORE_PROFILER_FILE_NAME={name}");
    Ok(())
}

fn compile(target: &str, os: &str, linker_variable: &str, library: &Path) -> Result<()> {
    let mut rustc = Command::new(env::var_os("RUSTC").ok_or("cargo did not say which rustc to use")?);
    rustc.args(["--crate-name", "netcore_profiler", "--edition", "2024", "--crate-type", "cdylib"]);
    rustc.args(["--cfg", "agent", "--check-cfg", "cfg(agent, no_std_agent, test)"]);
    rustc.args(["--check-cfg", "cfg(max_callback, values(any()))", "--cap-lints", "warn"]);
    rustc.args(["--check-cfg", "cfg(measured, values(\"floor\", \"plain\"))"]);
    rustc.args(["--target", target]);
    // Optimising for size does not slow the loops over ranges and roots, which are written for that.
    for option in ["opt-level=s", "panic=abort", "strip=symbols", "lto=fat", "codegen-units=1"] {
        rustc.arg(format!("-C{option}"));
    }
    // `agent/names/stack.rs` walks stacks along frame pointers.
    rustc.arg("-Cforce-frame-pointers=yes");
    let linker = env::var_os("RUSTC_LINKER").or_else(|| env::var_os(linker_variable));
    if os != "windows" {
        rustc.args(["--cfg", "no_std_agent"]);
    }
    match os {
        "windows" => {
            rustc.arg("-Ctarget-feature=+crt-static");
        }
        "macos" => {
            // Otherwise the library is named after the place where it is built.
            rustc.arg("-Clink-arg=-Wl,-install_name,libnetcore_profiler.dylib");
        }
        "linux" => {
            // One file for glibc and musl: no library, no start files, no packed relocations.
            rustc.arg("-Ctarget-feature=-crt-static");
            if target.starts_with("aarch64") {
                // Outline atomics choose instructions at run time, which needs an initialiser.
                rustc.arg("-Ctarget-feature=-outline-atomics");
            }
            if target.contains("musl") {
                rustc.arg("-Clink-self-contained=no");
            }
            // A bare linker adds neither start files nor libraries, and takes options without the compiler's prefix.
            let stem = linker.as_deref().and_then(|path| Path::new(path).file_stem());
            let bare = stem.is_some_and(|stem| stem.to_string_lossy().ends_with("ld"));
            rustc.arg("-Cforce-unwind-tables=no");
            if !bare {
                rustc.arg("-Clink-args=-nostartfiles -nostdlib");
            }
            let script = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("discard.ld");
            let script = script.to_str().ok_or("the path of the package is not UTF-8")?.to_owned();
            let options = ["-z", "nopack-relative-relocs", "--hash-style=gnu", "--no-eh-frame-hdr"];
            for option in options.into_iter().chain(["--build-id=none", "-T", &script]) {
                if !bare {
                    rustc.arg("-Clink-arg=-Xlinker");
                }
                rustc.arg(format!("-Clink-arg={option}"));
            }
        }
        _ => {}
    }
    if let Ok(version) = env::var(MAX_CALLBACK) {
        rustc.args(["--cfg", &format!("max_callback=\"{version}\"")]);
    }
    if let Ok(measured) = env::var(MEASURED) {
        rustc.args(["--cfg", &format!("measured=\"{measured}\"")]);
    }
    if let Some(linker) = linker {
        let mut option = OsString::from("-Clinker=");
        option.push(linker);
        rustc.arg(option);
    }
    rustc.args(user_flags());
    rustc.arg("-o").arg(library).arg("src/lib.rs");
    let status = rustc.status().map_err(|error| format!("rustc could not be run: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!(
        "the profiler library could not be compiled for {target} ({status}); \
         without a linker for it, set {PREBUILT} or {SKIP}"
    )
    .into())
}

/// The user's own compiler flags, without those that need a runtime library or make warnings fatal.
fn user_flags() -> Vec<String> {
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let unwanted = |flag: &str| {
        ["instrument-coverage", "sanitizer", "warnings", "crt-static", "profile-generate", "sancov"]
            .iter()
            .any(|word| flag.contains(word))
    };
    let mut kept: Vec<String> = Vec::new();
    let mut flags = flags.split('\x1f').filter(|flag| !flag.is_empty()).peekable();
    while let Some(flag) = flags.next() {
        let takes_next =
            matches!(flag, "-C" | "-Z" | "-D" | "-W" | "-A" | "-F" | "-L" | "--cfg" | "--codegen");
        let value = if takes_next { flags.next() } else { None };
        if unwanted(flag) || value.is_some_and(unwanted) {
            continue;
        }
        kept.push(flag.to_owned());
        kept.extend(value.map(str::to_owned));
    }
    kept
}

/// A content hash for a file name. It need not resist forgery.
fn fnv1a_128(bytes: &[u8]) -> u128 {
    const PRIME: u128 = (1 << 88) + 0x13b;
    let basis = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    bytes.iter().fold(basis, |hash: u128, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}
