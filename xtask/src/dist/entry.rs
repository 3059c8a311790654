//! Writes archives whose bytes depend only on their content: sorted, owned by root, all files of one time.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use zip::write::{SimpleFileOptions, ZipWriter};

/// A file in an archive.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) program: bool,
    pub(super) bytes: Vec<u8>,
}

impl Entry {
    pub(super) fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), program: false, bytes: bytes.into() }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), program: true, bytes: bytes.into() }
    }

    pub(super) fn mode(&self) -> u32 {
        if self.program { 0o755 } else { 0o644 }
    }
}

/// The directories above the entries, sorted, each with a slash at its end.
pub(super) fn directories(entries: &[Entry]) -> BTreeSet<String> {
    let ends = |path: &str| path.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
    entries
        .iter()
        .flat_map(|entry| ends(&entry.path).into_iter().map(|at| entry.path[..=at].to_owned()))
        .collect()
}

/// A tar archive of the entries and their directories.
pub(super) fn tar(mut entries: Vec<Entry>, time: i64) -> Result<Vec<u8>> {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let mut archive = ::tar::Builder::new(Vec::new());
    let header = |kind, mode, size: usize| -> Result<::tar::Header> {
        let mut header = ::tar::Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(u64::try_from(size)?);
        header.set_mtime(u64::try_from(time)?);
        header.set_uid(0);
        header.set_gid(0);
        header.set_username("root")?;
        header.set_groupname("root")?;
        Ok(header)
    };
    for directory in directories(&entries) {
        archive.append_data(&mut header(::tar::EntryType::Directory, 0o755, 0)?, directory, &[][..])?;
    }
    for entry in &entries {
        let mut header = header(::tar::EntryType::Regular, entry.mode(), entry.bytes.len())?;
        archive.append_data(&mut header, &entry.path, entry.bytes.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

/// Compresses with gzip, without a time or a name.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// A compressed tar archive.
pub(super) fn tar_gz(entries: Vec<Entry>, time: i64) -> Result<Vec<u8>> {
    gzip(&tar(entries, time)?)
}

/// A zip archive, in the order of the entries. Zip has no time zones, so all files are of the first day that it knows.
pub(super) fn zip(entries: &[Entry]) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        let options = SimpleFileOptions::default()
            .compression_method(::zip::CompressionMethod::Deflated)
            .last_modified_time(::zip::DateTime::default())
            .unix_permissions(entry.mode());
        archive.start_file(entry.path.as_str(), options)?;
        archive.write_all(&entry.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}
