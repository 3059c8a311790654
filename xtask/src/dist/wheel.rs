//! Python wheels that put the program into the environment's `bin`.

use anyhow::Result;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::entry::{Entry, zip};
use super::release::{Artifact, LICENCE, NAME, Release, SUMMARY};

pub(super) fn make(release: &Release) -> Result<Vec<Artifact>> {
    let mut wheels = Vec::new();
    for program in &release.programs {
        let stem = format!("{NAME}-{}", release.version);
        let info = format!("{stem}.dist-info");
        let tags = program.platform.wheel;
        let mut entries = vec![Entry::program(
            format!("{stem}.data/scripts/{}", program.platform.program),
            program.bytes.clone(),
        )];
        let mut metadata = format!(
            "Metadata-Version: 2.4\nName: {NAME}\nVersion: {}\nSummary: {SUMMARY}\n\
             License-Expression: {LICENCE}\n",
            release.version
        );
        for (name, text) in release.licences()? {
            metadata.push_str(&format!("License-File: {name}\n"));
            entries.push(Entry::file(format!("{info}/licenses/{name}"), text));
        }
        let readme = std::str::from_utf8(release.document("README.md")?)?;
        metadata.push_str(&format!("Description-Content-Type: text/markdown\n\n{readme}"));
        entries.push(Entry::file(format!("{info}/METADATA"), metadata));
        let mut wheel =
            format!("Wheel-Version: 1.0\nGenerator: {NAME} {}\nRoot-Is-Purelib: false\n", release.version);
        for tag in tags.split('.') {
            wheel.push_str(&format!("Tag: py3-none-{tag}\n"));
        }
        entries.push(Entry::file(format!("{info}/WHEEL"), wheel));
        // The list of all files comes last, and has no hash of itself.
        let record = format!("{info}/RECORD");
        let mut lines: String = entries.iter().map(line).collect();
        lines.push_str(&format!("{record},,\n"));
        entries.push(Entry::file(record, lines));
        wheels.push(Artifact { path: format!("{stem}-py3-none-{tags}.whl"), bytes: zip(&entries)? });
    }
    Ok(wheels)
}

fn line(entry: &Entry) -> String {
    let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&entry.bytes));
    format!("{},sha256={hash},{}\n", entry.path, entry.bytes.len())
}
