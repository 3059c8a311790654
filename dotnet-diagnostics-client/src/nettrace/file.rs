//! Reads a file, or any other source that blocks.

use std::io::{self, Read};

use super::error::Error;
use super::item::Item;
use super::reader::Reader;

const CHUNK_BYTES: usize = 128 * 1024;

/// Reads the items of a `.nettrace` file, or of any other [`Read`].
///
/// ```no_run
/// use dotnet_diagnostics_client::nettrace::{FileReader, Item};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut reader = FileReader::new(std::fs::File::open("app.nettrace")?);
/// while let Some(item) = reader.next_item()? {
///     if let Item::Event(event) = item {
///         println!("{:?} {} {:?}", event.time(), event.name(), event.fields());
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileReader<R> {
    input: R,
    reader: Reader,
    chunk: Box<[u8]>,
}

/// Why a [`FileReader`] could not give an item.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("reading the nettrace stream failed")]
    Io(#[from] io::Error),
    /// A part of the file is damaged. The next call goes on after it.
    #[error(transparent)]
    Damaged(#[from] Error),
}

impl<R: Read> FileReader<R> {
    /// A reader at the start of a stream, with the default [`Limits`](super::Limits). It reads in large chunks, so the
    /// input needs no buffer of its own.
    pub fn new(input: R) -> Self {
        Self::with_reader(input, Reader::new())
    }

    /// The same with another reader, for example one with other limits.
    pub fn with_reader(input: R, reader: Reader) -> Self {
        Self { input, reader, chunk: vec![0; CHUNK_BYTES].into_boxed_slice() }
    }

    /// The next item. `None` after [`Item::End`].
    ///
    /// # Errors
    /// [`FileError::Io`] from the input. [`FileError::Damaged`] says what is damaged, and where; the next call goes on
    /// after the damage, as [`Reader::next_item`] says.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, FileError> {
        let ready = loop {
            if let Some(ready) = self.reader.advance()? {
                break ready;
            }
            if self.reader.has_ended() {
                return Ok(None);
            }
            match self.input.read(&mut self.chunk) {
                Ok(0) => self.reader.finish(),
                Ok(read) => self.reader.feed(&self.chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        Ok(self.reader.item(ready))
    }

    /// The reader, which knows the trace object and the lost events so far.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }
}
