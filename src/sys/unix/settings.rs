//! Settings files that gcwatch finds in a directory. Anyone may be able to write to that directory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::user::own_uid;
use crate::sys::shared::Settings;

/// The mode bits that let others than the owner write to a file.
const OTHERS_WRITE: u32 = 0o022;

/// Opens a settings file if only the caller or root can have written it. It does not follow a link, and does not wait
/// for a FIFO.
///
/// # Errors
/// There is no file (`NotFound`), or it belongs to the caller or root and cannot be opened.
pub(crate) fn open_settings(path: &Path) -> io::Result<Settings> {
    let trusted = |uid: u32| uid == own_uid() || uid == 0;
    let no_file = || Settings::Refused {
        why: "it is not a regular file (a symbolic link is not followed)".to_owned(),
        remedy: "put the file itself there".to_owned(),
    };
    let belongs = |uid: u32| Settings::Refused {
        why: format!("it belongs to user {uid}, and may set options for that user only"),
        remedy: "use a copy of your own if you agree with what it says, or work in another directory"
            .to_owned(),
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file: File = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file.into(),
        Err(e) => {
            return match fs::symlink_metadata(path) {
                Ok(there) if !trusted(there.uid()) => Ok(belongs(there.uid())),
                Ok(there) if !there.is_file() => Ok(no_file()),
                Ok(_) => Err(e.into()),
                Err(_) => Err(io::ErrorKind::NotFound.into()),
            };
        }
    };
    let there = file.metadata()?;
    Ok(match there {
        there if !trusted(there.uid()) => belongs(there.uid()),
        there if !there.is_file() => no_file(),
        there if there.mode() & OTHERS_WRITE != 0 => Settings::Refused {
            why: format!("others can write to it (its mode is {:04o})", there.mode() & 0o7777),
            remedy: format!("chmod go-w {}", path.display()),
        },
        there => Settings::Open { file, own: there.uid() == own_uid() },
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_a_file_that_others_cannot_write_is_opened() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let at = |name: &str| dir.path().join(name);
        let refused = |name: &str| match open_settings(&at(name)) {
            Ok(Settings::Refused { why, .. }) => why,
            Ok(Settings::Open { .. }) => "opened".to_owned(),
            Err(e) => e.to_string(),
        };
        fs::write(at("file"), "")?;
        fs::create_dir(at("dir"))?;
        symlink("file", at("link"))?;
        for (mode, said) in [(0o644, "opened"), (0o664, "0664"), (0o602, "0602"), (0o400, "opened")] {
            fs::set_permissions(at("file"), Permissions::from_mode(mode))?;
            assert!(refused("file").contains(said), "{mode:o}: {}", refused("file"));
        }
        for name in ["link", "dir"] {
            assert!(refused(name).contains("not a regular file"), "{name}: {}", refused(name));
        }
        assert_eq!(open_settings(&at("none")).err().map(|e| e.kind()), Some(io::ErrorKind::NotFound));
        Ok(())
    }
}
