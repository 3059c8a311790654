//! One .NET runtime, and how a program runs on it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::version::Version;
use crate::sys;

/// The variable that names the `DOTNET_ROOT` directories to use, one or several, separated as in `PATH`.
pub const ROOTS_VARIABLE: &str = "GCWATCH_DOTNET_ROOT";

/// The oldest major version that gcwatch supports. Older runtimes are ignored.
pub const OLDEST_MAJOR: u32 = 8;

/// A .NET runtime (Microsoft.NETCore.App) that applications can be run on.
#[derive(Clone, Debug)]
pub struct Clr {
    /// The directory that holds the `dotnet` host and `shared/`: a `DOTNET_ROOT`.
    pub root: PathBuf,
    /// The runtime's version.
    pub version: Version,
    /// The version as text, `9.0.18`: a short name for tests and reports.
    pub name: String,
    /// Whether it is the newest runtime below `root`, which `LatestMajor` picks.
    pub(super) newest: bool,
    /// The command that runs the host, for a runtime of another architecture; otherwise empty.
    pub(super) emulator: Vec<OsString>,
    /// It is a runtime for Windows, which Wine runs.
    pub(super) wine: bool,
}

impl Clr {
    /// Whether it needs an emulator of another processor. Such a runtime also has only a part of the class library.
    pub fn is_emulated(&self) -> bool {
        !self.emulator.is_empty() && !self.wine
    }

    /// Whether it is a runtime for Windows, which Wine runs.
    pub fn is_wine(&self) -> bool {
        self.wine
    }

    /// The `dotnet` host.
    pub fn dotnet(&self) -> PathBuf {
        self.root.join(if self.wine { "run.exe".to_owned() } else { sys::executable("dotnet") })
    }

    /// The directory of the runtime's assemblies, `shared/Microsoft.NETCore.App/VERSION`.
    pub fn framework_dir(&self) -> PathBuf {
        self.root.join("shared/Microsoft.NETCore.App").join(&self.name)
    }

    /// The command line that runs an application on this runtime, without its arguments: usually
    /// `dotnet app.dll`; if there is a newer runtime below the same root, `dotnet exec --fx-version … app.dll`. For a
    /// program that Wine runs already, such as gcwatch for Windows, it is without Wine.
    pub fn argv(&self, dll: &Path) -> Vec<OsString> {
        let mut argv = if self.wine { Vec::new() } else { self.emulator.clone() };
        argv.push(self.dotnet().into_os_string());
        if !self.newest {
            argv.extend(["exec", "--fx-version", &self.name].map(OsString::from));
        }
        argv.push(dll.as_os_str().to_os_string());
        argv
    }

    /// Copies this runtime to another directory, for a user who may not read the original.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn copy_to(&self, root: &Path) -> Result<Clr> {
        fs::create_dir_all(root)?;
        let copy = Clr { root: root.to_path_buf(), newest: true, ..self.clone() };
        fs::copy(self.dotnet(), copy.dotnet())?;
        copy_dir(&self.root.join("host"), &root.join("host"))?;
        copy_dir(&self.framework_dir(), &copy.framework_dir())?;
        Ok(copy)
    }

    /// Sets the environment that applications on this runtime need, and removes inherited variables that would change
    /// how a runtime behaves. For commands that start .NET processes of their own, such as gcwatch. Call it first: it
    /// removes every `DOTNET_*`, `CORECLR_*` and `COMPlus_*`.
    pub fn environment(&self, command: &mut Command) {
        remove_runtime_settings(command);
        command
            .env("DOTNET_ROOT", &self.root)
            .env("DOTNET_MULTILEVEL_LOOKUP", "0")
            .env("DOTNET_NOLOGO", "1")
            .env("DOTNET_CLI_TELEMETRY_OPTOUT", "1")
            // Without this, .NET needs ICU, which bare machines lack.
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            // For applications that were built for an older major version, such as the C# compiler.
            .env("DOTNET_ROLL_FORWARD", "LatestMajor");
        if self.is_emulated() {
            // The runtime would write code at another address than where it runs. The emulator does not notice that,
            // runs old code, and the heap breaks.
            command.env("DOTNET_EnableWriteXorExecute", "0");
        }
    }

    /// A command that runs an application on this runtime, in a clean [environment](Self::environment).
    pub fn command(&self, dll: &Path) -> Command {
        let wine = if self.wine { self.emulator.clone() } else { Vec::new() };
        let argv = [wine, self.argv(dll)].concat();
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]);
        self.environment(&mut command);
        command
    }
}

fn copy_dir(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        // Follow links: the user may not be able to read what they point to either.
        if fs::metadata(entry.path())?.is_dir() {
            copy_dir(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}

/// Removes every inherited variable that configures .NET from a command's environment.
pub(crate) fn remove_runtime_settings(command: &mut Command) {
    let configures = |name: &OsStr| {
        let name = name.to_string_lossy().to_uppercase();
        ["DOTNET_", "CORECLR_", "COMPLUS_"].iter().any(|prefix| name.starts_with(prefix))
    };
    for (name, _) in env::vars_os().filter(|(name, _)| configures(name)) {
        command.env_remove(name);
    }
}
