//! Where our diagnostic port is: a socket in a directory of its own.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dotnet_diagnostics_client::Endpoint;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::files::make_temp_dir;
use super::user::own_uid;

/// A directory that only we can change, and the socket in it.
#[derive(Debug, Clone)]
pub(crate) struct PortPlace {
    dir: PathBuf,
    socket: PathBuf,
}

impl PortPlace {
    /// Makes the directory. The path must be short: a socket's path has at most 108 bytes, and .NET 8 hangs at 108.
    pub(crate) fn make() -> io::Result<PortPlace> {
        let dir = make_temp_dir(Path::new("/tmp")).or_else(|_| make_temp_dir(&std::env::temp_dir()))?;
        Ok(PortPlace::of(dir.keep().as_os_str()))
    }

    /// The place with this [name](Self::name).
    pub(crate) fn of(name: &OsStr) -> PortPlace {
        let dir = PathBuf::from(name);
        PortPlace { socket: dir.join("port"), dir }
    }

    pub(crate) fn name(&self) -> &OsStr {
        self.dir.as_os_str()
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::socket(&self.socket)
    }

    /// How `DOTNET_DiagnosticPorts` names the port.
    pub(crate) fn address(&self) -> &OsStr {
        self.socket.as_os_str()
    }

    /// Removes the socket of a process that was killed, so that the port can be opened again.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn clear(&self) -> io::Result<()> {
        gone(fs::remove_file(&self.socket))
    }

    /// Removes the socket, and then the directory if it is empty.
    pub(crate) fn remove(&self) {
        for result in [self.clear(), gone(fs::remove_dir(&self.dir))] {
            if let Err(e) = result {
                tracing::debug!("{}: {e}", self.dir.display());
            }
        }
    }

    /// Gives the socket to another user, or with `to_all` opens it to every user.
    ///
    /// # Errors
    /// Others can change the directory, so the name may not be the socket's; and those of the system.
    pub(crate) fn give(&self, uid: u32, to_all: bool) -> io::Result<()> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let dir = rustix::fs::openat(CWD, &self.dir, flags, Mode::empty())?;
        let meta = rustix::fs::fstat(&dir)?;
        if meta.st_uid != own_uid() || meta.st_mode & 0o022 != 0 {
            return Err(io::Error::other("its directory can be changed by others"));
        }
        let name = self.socket.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let user = Some(rustix::fs::Uid::from_raw(uid));
        if !to_all && rustix::fs::chownat(&dir, name, user, None, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            return Ok(());
        }
        // Without the right to change the owner, let every user connect: gcwatch checks who does.
        Ok(rustix::fs::chmodat(&dir, name, Mode::from_raw_mode(0o666), AtFlags::empty())?)
    }
}

fn gone(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
}
