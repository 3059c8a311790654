//! One file of a recording, complete at every instant.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::sys;

/// NullReference: the tag that ends a nettrace stream.
const END: &[u8] = &[1];
/// The end of a stream of version 6: an empty block of kind 0.
const END_6: &[u8] = &[0; 4];
/// Version 6 has zeros after the magic word.
const MAGIC_6: &[u8] = b"Nettrace\0\0\0\0";

/// A file that always ends with an end tag. The next write overwrites the tag.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    file: File,
    /// The length without the end tag. These bytes do not change any more.
    written: u64,
    end: &'static [u8],
}

impl Part {
    /// An empty file.
    pub(super) fn new(path: PathBuf, file: File) -> Part {
        Part { path, file, written: 0, end: END }
    }

    /// Creates a file that has its first bytes as soon as it has its name.
    pub(super) fn create(path: PathBuf, first: &[u8]) -> io::Result<Part> {
        let (file, early) = sys::replacement(&path, false)?.into_parts();
        let mut part = Part::new(path, file);
        part.append(first)?;
        early.persist(&part.path)?;
        Ok(part)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The length without the end tag.
    pub(super) fn len(&self) -> u64 {
        self.written
    }

    /// Appends complete objects. A signal can cut a write off between any two pages. So this first writes everything
    /// behind the old end tag, including the new end tag, and then the few bytes that overwrite the old one. The first
    /// write has no end tag before it, and should fit into a page.
    pub(super) fn append(&mut self, objects: &[u8]) -> io::Result<()> {
        if self.written == 0 && objects.starts_with(MAGIC_6) {
            self.end = END_6;
        }
        if self.written == 0 {
            self.file.write_all(&[objects, self.end].concat())?;
            self.written = objects.len() as u64;
            return Ok(());
        }
        let Some((first, rest)) = objects.split_at_checked(self.end.len()) else {
            return Ok(());
        };
        self.file.seek(SeekFrom::Start(self.written + first.len() as u64))?;
        self.file.write_all(&[rest, self.end].concat())?;
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(first)?;
        self.written += objects.len() as u64;
        Ok(())
    }
}
