//! Reads a whole file, and writes one at once, on systems without descriptors of directories.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Reads a file that a process names.
pub(crate) fn read_of(_pid: u32, path: PathBuf, most: u64) -> io::Result<Vec<u8>> {
    let meta = fs::metadata(&path)?;
    if !meta.is_file() || meta.len() > most {
        return Err(io::Error::other("it is no regular file, or too long"));
    }
    fs::read(path)
}

/// Writes a file that appears complete, unless somebody was faster: the caller checks what is there. `prepare` changes
/// the file before it appears.
///
/// # Errors
/// Those of the system and of `prepare`.
pub(super) fn write_once(
    dir: &Path,
    path: &Path,
    bytes: &[u8],
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let mut temp = tempfile::NamedTempFile::new_in(dir)?;
    temp.write_all(bytes)?;
    prepare(temp.as_file())?;
    match temp.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e.error),
    }
}
