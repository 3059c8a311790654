//! Where our diagnostic port is: a named pipe.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::hash::BuildHasher;
use std::io;

use dotnet_diagnostics_client::Endpoint;

/// The name of the pipe, without `\\.\pipe\`.
#[derive(Debug, Clone)]
pub(crate) struct PortPlace(OsString);

/// A name that nobody can guess, so that nobody can take it before us.
pub(super) fn pipe_name(what: &str) -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    format!("gcwatch-{what}-{:016x}{:016x}", random(), random())
}

impl PortPlace {
    pub(crate) fn make() -> io::Result<PortPlace> {
        Ok(PortPlace(pipe_name("port").into()))
    }

    /// The place with this [name](Self::name).
    pub(crate) fn of(name: &OsStr) -> PortPlace {
        PortPlace(name.to_owned())
    }

    pub(crate) fn name(&self) -> &OsStr {
        &self.0
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::pipe(self.0.to_string_lossy())
    }

    /// How `DOTNET_DiagnosticPorts` names the port.
    pub(crate) fn address(&self) -> &OsStr {
        &self.0
    }

    /// Nothing to do: a pipe disappears with the last process that has it.
    pub(crate) fn clear(&self) -> io::Result<()> {
        Ok(())
    }

    /// Nothing to do, as in [`clear`](Self::clear).
    pub(crate) fn remove(&self) {}

    /// Other users cannot connect.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn give(&self, _uid: u32, _to_all: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
