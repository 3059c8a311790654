//! Reads npm's archives: gzipped tar, every path below `package/`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use tar::Archive;

use crate::progress;

/// Returns the content of one file, by its path below `package/`.
pub(crate) fn read(archive: &Path, path: &str) -> Result<Vec<u8>> {
    let mut tar = Archive::new(GzDecoder::new(File::open(archive)?));
    for entry in tar.entries()? {
        let mut entry = entry?;
        if inner_path(&entry.path()?) == Some(Path::new(path)) {
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            return Ok(content);
        }
    }
    bail!("{path} is not in {}", archive.display())
}

/// Unpacks the files for which `place` gives a path, relative to `dir`; returns which places were filled.
pub(crate) fn extract(
    archive: &Path,
    dir: &Path,
    title: &str,
    place: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<BTreeSet<PathBuf>> {
    let file = File::open(archive)?;
    let bar = progress::bytes(format!("Unpacking {title}"), file.metadata()?.len());
    let mut tar = Archive::new(GzDecoder::new(bar.wrap_read(file)));
    let mut placed = BTreeSet::new();
    for entry in tar.entries()? {
        let mut entry = entry?;
        let Some(to) = inner_path(&entry.path()?).and_then(&place) else {
            continue;
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = dir.join(&to);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        io::copy(&mut entry, &mut file).with_context(|| format!("cannot write {}", path.display()))?;
        placed.insert(to);
    }
    bar.finish_and_clear();
    Ok(placed)
}

fn inner_path(path: &Path) -> Option<&Path> {
    path.strip_prefix("package").ok()
}
