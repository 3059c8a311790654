//! Single-file .NET applications: a host with the application's files behind it, and a table of them.

use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};

/// Stands in the host behind the table's position.
const MARK: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13,
    0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];
/// The version of the format.
const MAJOR: u32 = 6;

/// A file of the application.
struct File {
    name: String,
    content: Range<usize>,
    /// Where the table has the file's size.
    size_at: usize,
}

pub(super) struct Bundle {
    bytes: Vec<u8>,
    files: Vec<File>,
}

impl Bundle {
    pub(super) fn parse(bytes: Vec<u8>) -> Result<Bundle> {
        let mark = bytes.windows(MARK.len()).position(|window| window == MARK);
        let mark = mark.context("it is no single-file application")?;
        let position = bytes[..mark].last_chunk().context("the table's position is missing")?;
        let mut table = Table { bytes: &bytes, at: usize::try_from(u64::from_le_bytes(*position))? };
        let [major, _minor, count] = [table.u32()?, table.u32()?, table.u32()?];
        ensure!(major == MAJOR, "version {major} of the format, not {MAJOR}");
        table.text()?;
        // Where two of the files are, and flags.
        table.take(40)?;
        let mut files = Vec::new();
        for _ in 0..count {
            let start = table.size()?;
            let size_at = table.at;
            let [size, compressed] = [table.size()?, table.size()?];
            let _kind = table.take(1)?;
            let name = table.text()?;
            ensure!(compressed == 0, "{name} is compressed");
            let content = start..start.checked_add(size).context("a file is too large")?;
            ensure!(bytes.get(content.clone()).is_some(), "{name} is cut off");
            files.push(File { name, content, size_at });
        }
        Ok(Bundle { bytes, files })
    }

    /// Names and contents.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|file| (file.name.as_str(), &self.bytes[file.content.clone()]))
    }

    /// Puts a file that is not larger in the place of another.
    pub(super) fn replace(&mut self, name: &str, content: &[u8]) -> Result<()> {
        let Some(file) = self.files.iter_mut().find(|file| file.name == name) else {
            bail!("{name} is not in it")
        };
        ensure!(content.len() <= file.content.len(), "{name} has room for {} bytes", file.content.len());
        file.content.end = file.content.start + content.len();
        self.bytes[file.content.clone()].copy_from_slice(content);
        self.bytes[file.size_at..][..8].copy_from_slice(&(content.len() as u64).to_le_bytes());
        Ok(())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Table<'_> {
    fn take(&mut self, length: usize) -> Result<&[u8]> {
        let part =
            self.bytes.get(self.at..).and_then(|rest| rest.get(..length)).context("the table is cut off")?;
        self.at += length;
        Ok(part)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into()?))
    }

    fn size(&mut self) -> Result<usize> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into()?).try_into()?)
    }

    /// A text of less than 16 KiB, behind its length in one or two bytes of 7 bits.
    fn text(&mut self) -> Result<String> {
        let byte = |table: &mut Self| table.take(1).map(|byte| usize::from(byte[0]));
        let mut length = byte(self)?;
        if length >= 0x80 {
            length = (length & 0x7f) | byte(self)? << 7;
        }
        Ok(String::from_utf8(self.take(length)?.to_vec())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; 24];
        bytes.extend(MARK);
        let mut table = Vec::new();
        for number in [MAJOR, 0, u32::try_from(files.len()).unwrap()] {
            table.extend(number.to_le_bytes());
        }
        table.extend(b"\x02id");
        table.extend([0; 40]);
        for (name, content) in files {
            for number in [bytes.len(), content.len(), 0] {
                table.extend((number as u64).to_le_bytes());
            }
            bytes.extend(*content);
            let length = name.len();
            table.extend([1, (length & 0x7f | 0x80) as u8, (length >> 7) as u8]);
            table.extend(name.bytes());
        }
        let position = bytes.len() as u64;
        bytes[16..24].copy_from_slice(&position.to_le_bytes());
        bytes.extend(table);
        bytes
    }

    #[test]
    fn files_are_found_and_replaced() {
        let long = "x".repeat(300);
        let mut read = Bundle::parse(bundle(&[("app.dll", b"old code"), (&long, b"other")])).unwrap();
        read.replace("app.dll", b"new").unwrap();
        assert!(read.replace("app.dll", b"larger").is_err());
        assert!(read.replace("none.dll", b"").is_err());
        let again = Bundle::parse(read.bytes().to_vec()).unwrap();
        let files: Vec<_> = again.files().collect();
        assert_eq!(files, [("app.dll", &b"new"[..]), (&long, b"other")]);
    }

    #[test]
    fn what_is_no_bundle_is_refused() {
        let whole = bundle(&[("app.dll", b"code")]);
        assert!(Bundle::parse(whole.clone()).is_ok());
        for length in [0, 40, 56, whole.len() - 1] {
            assert!(Bundle::parse(whole[..length].to_vec()).is_err(), "{length}");
        }
    }
}
