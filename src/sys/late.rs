//! An output file that keeps its old contents until the first write, so that a command that fails earlier does not
//! change it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::os::{Place, create_kept, place};

/// The first write or flush empties the file. If neither happens, dropping this removes a file that it created.
#[derive(Debug)]
pub(crate) struct LateFile {
    file: File,
    /// The file's path, if [`LateFile::create`] created the file.
    made: Option<PathBuf>,
    begun: bool,
}

impl LateFile {
    /// Opens the file at once, so that a bad path is an error at the start.
    ///
    /// # Errors
    /// Those of [`create`](super::os::create).
    pub(crate) fn create(path: &Path) -> io::Result<LateFile> {
        let (file, made) = create_kept(path)?;
        Ok(LateFile { file, made, begun: false })
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.begun {
            // Devices and pipes cannot be truncated.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.begun = true;
        }
        Ok(())
    }
}

impl Write for LateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        self.file.write(bytes)
    }

    /// Empties the file too: an empty report also replaces the old contents.
    fn flush(&mut self) -> io::Result<()> {
        self.begin()?;
        self.file.flush()
    }
}

impl Drop for LateFile {
    fn drop(&mut self) {
        let Some(path) = self.made.take().filter(|_| !self.begun) else { return };
        let still_ours = place(&path).is_some_and(|there| Place::of(&self.file, &path) == Some(there));
        if still_ours {
            // If this fails, an empty file is left, which does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_emptied_by_the_first_byte_only() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        fs::write(&old, "of before")?;
        for path in [&old, &new] {
            drop(LateFile::create(path)?);
        }
        assert_eq!((fs::read(&old)?, new.exists()), (b"of before".to_vec(), false));
        for path in [&old, &new] {
            LateFile::create(path)?.write_all(b"now")?;
            assert_eq!(fs::read(path)?, b"now");
        }
        LateFile::create(&old)?.flush()?;
        assert!(fs::read(&old)?.is_empty(), "an empty report empties the file");
        Ok(())
    }
}
