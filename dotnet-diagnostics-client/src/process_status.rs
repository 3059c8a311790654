//! What the operating system says about a process.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// What the operating system says about a process. A field is `None` if it could not be read, because the process
/// belongs to another user or the platform does not have it.
///
/// | field | Linux | Windows | macOS | BSD |
/// |---|---|---|---|---|
/// | `exists` | yes | yes | yes | yes |
/// | `executable`, `parent_pid`, `environ`, `command_line` | yes | yes | yes | no |
/// | `uid`, `start_time_ticks` | yes | no | yes | no |
/// | all others | yes | yes | no | no |
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct ProcessStatus {
    /// The process id that was asked for.
    pub pid: u32,
    /// Whether the process is running. `false` for a zombie.
    pub exists: bool,
    /// Effective user id.
    pub uid: Option<u32>,
    /// The environment with which the process was started, on Windows the one that it has now; in its order, at most
    /// 16,384 variables.
    pub environ: Option<Vec<(OsString, OsString)>>,
    /// Whether the list of mapped files could be read. Only then does `runtime_library: None` mean that there is none.
    pub mappings_readable: bool,
    /// File of the .NET runtime in the process, usually `libcoreclr.so`. The executable for a single-file application.
    pub runtime_library: Option<PathBuf>,
    /// Path of the executable.
    pub executable: Option<PathBuf>,
    /// The arguments, at most 16,384.
    pub command_line: Option<Vec<OsString>>,
    /// The process id in the PID namespace of the process. Equal to `pid` outside of containers.
    pub namespace_pid: Option<u32>,
    /// Id of the parent process.
    pub parent_pid: Option<u32>,
    /// When the process started: in clock ticks since boot on Linux, in seconds since 1970 on macOS. The name of the
    /// runtime's socket has the same number.
    pub start_time_ticks: Option<u64>,
}

/// The setting that switches off all diagnostics.
const ALL_DIAGNOSTICS: &str = "EnableDiagnostics";

impl ProcessStatus {
    /// The value of a variable in [`environ`](Self::environ).
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let environ = self.environ.as_ref()?;
        let found = environ.iter().find(|(key, _)| key == name)?;
        Some(&found.1)
    }

    /// The variable that switches the diagnostics endpoint off, for example `DOTNET_EnableDiagnostics`.
    pub fn ipc_disabled_by(&self) -> Option<String> {
        self.switched_off(ALL_DIAGNOSTICS).or_else(|| self.switched_off("EnableDiagnostics_IPC"))
    }

    /// The variable that switches profilers off. The runtime may still accept AttachProfiler.
    pub fn profiler_disabled_by(&self) -> Option<String> {
        self.switched_off(ALL_DIAGNOSTICS).or_else(|| self.switched_off("EnableDiagnostics_Profiler"))
    }

    /// The runtime reads `DOTNET_x`, or else `COMPlus_x`, as a hexadecimal number.
    fn switched_off(&self, setting: &str) -> Option<String> {
        let names = ["DOTNET_", "COMPlus_"].map(|prefix| format!("{prefix}{setting}"));
        let name = names.into_iter().find(|name| self.variable(name).is_some())?;
        self.variable(&name).is_some_and(is_zero).then_some(name)
    }

    /// Version of the runtime from the name of its installation directory, for example "10.0.12". `None` for
    /// single-file applications.
    pub fn runtime_version(&self) -> Option<&str> {
        let directory = self.runtime_library.as_deref().and_then(Path::parent)?;
        let name = directory.file_name()?.to_str()?;
        (name.starts_with(|c: char| c.is_ascii_digit()) && name.contains('.')).then_some(name)
    }
}

/// Shows only the number of environment variables: their values can be secrets, and errors with these facts get into
/// logs.
impl fmt::Debug for ProcessStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let environ = self.environ.as_ref().map(Vec::len);
        f.debug_struct("ProcessStatus")
            .field("pid", &self.pid)
            .field("exists", &self.exists)
            .field("uid", &self.uid)
            .field("environ_variables", &environ)
            .field("mappings_readable", &self.mappings_readable)
            .field("runtime_library", &self.runtime_library)
            .field("executable", &self.executable)
            .field("command_line", &self.command_line)
            .field("namespace_pid", &self.namespace_pid)
            .field("parent_pid", &self.parent_pid)
            .field("start_time_ticks", &self.start_time_ticks)
            .finish()
    }
}

fn is_zero(value: &OsStr) -> bool {
    value.to_str().is_some_and(|text| {
        let text = text.trim();
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
        u64::from_str_radix(digits, 16) == Ok(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(environ: &[(&str, &str)]) -> ProcessStatus {
        let pairs = environ.iter().map(|(k, v)| (k.into(), v.into()));
        ProcessStatus { environ: Some(pairs.collect()), ..ProcessStatus::default() }
    }

    #[test]
    fn zero_switches_diagnostics_off_and_dotnet_goes_before_complus() {
        let off = |environ: &[_]| with(environ).ipc_disabled_by();
        for (name, zero) in [
            ("DOTNET_EnableDiagnostics", "0"),
            ("COMPlus_EnableDiagnostics", "0x0"),
            ("DOTNET_EnableDiagnostics_IPC", "00"),
        ] {
            assert_eq!(off(&[(name, zero)]).as_deref(), Some(name));
        }
        assert_eq!(off(&[("COMPlus_EnableDiagnostics", "0"), ("DOTNET_EnableDiagnostics", "1")]), None);
        assert_eq!(off(&[("DOTNET_EnableDiagnostics", "")]), None);
        assert_eq!(off(&[("DOTNET_EnableDiagnostics_Profiler", "0")]), None);
        assert_eq!(
            with(&[("DOTNET_EnableDiagnostics_Profiler", "0")]).profiler_disabled_by().as_deref(),
            Some("DOTNET_EnableDiagnostics_Profiler")
        );
        assert_eq!(ProcessStatus::default().ipc_disabled_by(), None);
    }

    #[test]
    fn values_of_the_environment_are_not_shown() {
        let shown = format!("{:?}", with(&[("TOKEN", "secret")]));
        assert!(shown.contains("environ_variables: Some(1)") && !shown.contains("secret"));
    }

    #[test]
    fn the_installation_directory_names_the_version() {
        let of =
            |path: &str| ProcessStatus { runtime_library: Some(path.into()), ..ProcessStatus::default() };
        let installed = of("/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so");
        assert_eq!(installed.runtime_version(), Some("10.0.12"));
        assert_eq!(of("/opt/app/libcoreclr.so").runtime_version(), None);
        assert_eq!(of("/app").runtime_version(), None);
    }
}
