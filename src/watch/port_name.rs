//! The variable that names our diagnostic port to the runtimes of a tree.

use std::ffi::OsStr;
use std::path::Path;

/// A runtime connects to the ports that this variable names.
pub(crate) const PORTS: &str = "DOTNET_DiagnosticPorts";

/// Whether a value of [`PORTS`] names this port, alone or among others.
pub(crate) fn names_port(value: &OsStr, port: &Path) -> bool {
    let port = port.as_os_str().as_encoded_bytes();
    value.as_encoded_bytes().windows(port.len()).any(|part| part == port)
}
