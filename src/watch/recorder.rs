//! A recording is the stream, byte for byte. Every write ends where an object of the stream ends,
//! followed by an end tag that the next write overwrites: whatever happens to us, the file is whole.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// NullReference: the tag that ends a nettrace stream.
const END_TAG: u8 = 1;

/// Writes one recording.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: File,
    path: PathBuf,
    /// Bytes in the file that will not change, from the stream's start.
    written: u64,
    /// Stream bytes after `written`: an object that is not whole yet.
    rest: Vec<u8>,
}

impl Recorder {
    /// Creates the file, or empties it.
    pub(crate) fn create(path: &Path) -> io::Result<Recorder> {
        let file = File::create(path)?;
        Ok(Recorder { file, path: path.to_owned(), written: 0, rest: Vec::new() })
    }

    /// Where it goes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in the next bytes of the stream; `boundary` is the offset in the stream up to which
    /// objects are whole.
    pub(crate) fn write(&mut self, bytes: &[u8], boundary: u64) -> io::Result<()> {
        self.rest.extend_from_slice(bytes);
        let whole = usize::try_from(boundary.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let whole = whole.min(self.rest.len());
        if whole == 0 {
            return Ok(());
        }
        // One call: the tag is there whenever the bytes are.
        let mut block: Vec<u8> = self.rest.drain(..whole).collect();
        block.push(END_TAG);
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(&block)?;
        self.written += whole as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_at_every_instant() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("r");
        let mut r = Recorder::create(&path)?;
        r.write(b"abcd", 0)?;
        assert_eq!(std::fs::read(&path)?, b"");
        r.write(b"efg", 5)?;
        assert_eq!(std::fs::read(&path)?, b"abcde\x01");
        r.write(b"hi", 9)?;
        assert_eq!(std::fs::read(&path)?, b"abcdefghi\x01");
        r.write(b"\x01", 9)?;
        assert_eq!(std::fs::read(&path)?, b"abcdefghi\x01");
        Ok(())
    }
}
