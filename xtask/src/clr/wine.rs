//! A .NET runtime for Windows, which Wine runs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::Value;

use super::runtime::Clr;
use super::version::Version;
use crate::cache;
use crate::npm::Hash;

/// The variable that names a directory with a .NET runtime for 64-bit Windows and `run.exe`, which runs the application
/// that its first argument names.
pub const WINDOWS_ROOT_VARIABLE: &str = "GCWATCH_WINDOWS_ROOT";

/// Where distributions put the 64-bit loader, besides the directories of `PATH`.
const LOADERS: [&str; 4] = ["wine64", "/usr/lib/wine/wine64", "/usr/lib64/wine/wine64", "wine"];
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// The random numbers of Rust's standard library come from a library that Wine 8 lacks.
const RANDOM_LIBRARY: (&str, &str) = (
    "bcryptprimitives.dll",
    "#include <windows.h>\n\
     BOOLEAN WINAPI SystemFunction036(PVOID, ULONG);\n\
     __declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *to, SIZE_T bytes) {\n\
         for (; bytes > 0; to++, bytes--) if (!SystemFunction036(to, 1)) return FALSE;\n\
         return TRUE;\n\
     }\n",
);
/// A setting without which the runtime of .NET 10 crashes under Wine 8, with any event session: it destroys a dynamic
/// method that its managed event sources have made.
const NO_EVENT_SOURCES: &str = "System.Diagnostics.Tracing.EventSource.IsSupported";

/// The command that runs Windows programs, with a Wine prefix of its own.
///
/// # Errors
/// If Wine is missing, or the compiler that makes the library which Wine lacks.
pub(crate) fn emulator() -> Result<Vec<OsString>> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut loaders =
        LOADERS.iter().flat_map(|loader| env::split_paths(&path).map(move |dir| dir.join(loader)));
    let loader = loaders.find(|loader| loader.is_file()).context("Wine is not installed")?;
    let prefix = cache::once(&cache::dir()?, "wine-prefix", |prefix| prepare(&loader, prefix))?;
    keep_running(&loader, &prefix);
    let variable = |name: &str, value: &Path| {
        let mut variable = OsString::from(name);
        variable.push(value);
        variable
    };
    Ok(vec!["env".into(), variable("WINEPREFIX=", &prefix), "WINEDEBUG=-all".into(), loader.into()])
}

fn prepare(loader: &Path, prefix: &Path) -> Result<()> {
    let wine = |program: &Path, argument: &str| {
        let mut command = Command::new(program);
        command.arg(argument).env("WINEPREFIX", prefix).env("WINEDEBUG", "-all").env_remove("DISPLAY");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    wine(loader, "wineboot").with_context(|| format!("cannot run {}", loader.display()))?;
    let system = prefix.join("drive_c/windows/system32");
    ensure!(system.is_dir(), "Wine has made no Windows directory");
    let (library, source) = RANDOM_LIBRARY;
    if !system.join(library).is_file() {
        let file = prefix.join("library.c");
        fs::write(&file, source)?;
        let made = Command::new(COMPILER)
            .args(["-O2", "-shared", "-o"])
            .arg(system.join(library))
            .arg(&file)
            .arg("-ladvapi32")
            .output()
            .with_context(|| format!("{COMPILER} cannot be run"))?;
        ensure!(made.status.success(), "{library}: {}", String::from_utf8_lossy(&made.stderr));
    }
    // Wine's server knows the prefix by its path, which is about to change.
    server(loader, "-k", prefix);
    Ok(())
}

/// Wine's services start with the first program, end with the last, and hold the output of the one that started them
/// open. So one program without output runs until its input ends, with this process.
fn keep_running(loader: &Path, prefix: &Path) {
    static KEPT: OnceLock<Option<Child>> = OnceLock::new();
    KEPT.get_or_init(|| {
        let mut command = Command::new(loader);
        command.args(["cmd", "/c", "pause"]).env("WINEPREFIX", prefix).env("WINEDEBUG", "-all");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
    });
}

/// Runs Wine's server, which is beside the loader or on `PATH`. If it cannot be run, Wine starts it itself.
fn server(loader: &Path, option: &str, prefix: &Path) {
    let beside = loader.with_file_name("wineserver");
    let program = if beside.is_file() { beside } else { "wineserver".into() };
    let mut command = Command::new(program);
    command.arg(option).env("WINEPREFIX", prefix);
    let _status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// The runtime that [`WINDOWS_ROOT_VARIABLE`] names.
///
/// # Errors
/// If the variable names no such directory.
pub(super) fn clr(emulator: Vec<OsString>) -> Result<Clr> {
    let root = env::var_os(WINDOWS_ROOT_VARIABLE).filter(|root| !root.is_empty());
    let root = root.map(PathBuf::from).ok_or_else(|| {
        anyhow!("{WINDOWS_ROOT_VARIABLE} names no directory with a .NET runtime for Windows and run.exe")
    })?;
    let (host, settings) = (root.join("run.exe"), root.join("run.runtimeconfig.json"));
    if !host.is_file() || !root.join("coreclr.dll").is_file() {
        bail!("{WINDOWS_ROOT_VARIABLE} names {}, which lacks run.exe or coreclr.dll", root.display());
    }
    let mut settings: Value = serde_json::from_slice(&fs::read(settings)?)?;
    let version = settings["runtimeOptions"]["includedFrameworks"][0]["version"].as_str();
    let version = version.context("run.runtimeconfig.json names no runtime")?.to_owned();
    settings["runtimeOptions"]["configProperties"][NO_EVENT_SOURCES] = Value::Bool(false);
    let mut hash = Hash::default();
    hash.write_all(root.as_os_str().as_encoded_bytes())?;
    let name = format!("clr-{version}-windows-{}", &hash.hex()[..12]);
    let copy = cache::once(&cache::dir()?, &name, |copy| {
        for entry in fs::read_dir(&root)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), copy.join(entry.file_name()))?;
            }
        }
        Ok(fs::write(copy.join("run.runtimeconfig.json"), serde_json::to_vec_pretty(&settings)?)?)
    })?;
    let version: Version = version.parse().map_err(|_| anyhow!("{version} is no version of .NET"))?;
    Ok(Clr { root: copy, version, name: format!("{version}-windows"), newest: true, emulator, wine: true })
}
