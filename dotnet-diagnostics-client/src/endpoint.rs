//! Addresses of diagnostics servers.

use std::fmt;
use std::path::PathBuf;

/// Address of a diagnostics server: of a runtime, or of a diagnostic port.
///
/// Both kinds exist on every platform. Connecting to a kind that the platform does not have is an error.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Endpoint {
    /// Path of a Unix domain socket.
    Socket(PathBuf),
    /// Name of a Windows named pipe, without the leading `\\.\pipe\`.
    Pipe(String),
}

/// The beginning of every full pipe name.
pub(crate) const PIPE_PREFIX: &str = r"\\.\pipe\";

impl Endpoint {
    /// The Unix domain socket at a path.
    pub fn socket(path: impl Into<PathBuf>) -> Self {
        Self::Socket(path.into())
    }

    /// The named pipe of this name. A leading `\\.\pipe\` is removed.
    pub fn pipe(name: impl AsRef<str>) -> Self {
        let name = name.as_ref();
        Self::Pipe(name.strip_prefix(PIPE_PREFIX).unwrap_or(name).to_owned())
    }

    /// The default endpoint of a process on Windows. Its name has only the process id in it.
    pub fn default_pipe(pid: u32) -> Self {
        Self::Pipe(format!("dotnet-diagnostic-{pid}"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Pipe(name) => write!(f, "{PIPE_PREFIX}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pipe_name_and_a_bare_one_are_the_same() {
        assert_eq!(Endpoint::pipe(r"\\.\pipe\dotnet-diagnostic-7"), Endpoint::default_pipe(7));
        assert_eq!(Endpoint::default_pipe(7).to_string(), r"\\.\pipe\dotnet-diagnostic-7");
        let Ok(parsed) = r"\\.\pipe\dotnet-diagnostic-7".parse::<Endpoint>();
        assert_eq!(parsed, Endpoint::default_pipe(7));
    }
}
