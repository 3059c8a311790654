//! The file that `sha256sum --check` reads.

use super::release::{Artifact, sha256};

pub(super) fn make(files: &[Artifact]) -> Artifact {
    let lines = files.iter().map(|file| format!("{}  {}\n", sha256(&file.bytes), file.path));
    Artifact { path: "SHA256SUMS".to_owned(), bytes: lines.collect::<String>().into_bytes() }
}
