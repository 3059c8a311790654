//! What the packages are made from, and what they are.

use anyhow::{Context, Result};

use super::licences::{self, Dependency};
use super::platform::Platform;

/// The name of the program and of its packages.
pub(super) const NAME: &str = "gcwatch";
/// One line about the program, at most 80 characters.
pub(super) const SUMMARY: &str = "Shows every garbage collection of an unmodified .NET process";
/// Where the project lives. It has no public place yet, and nobody can own a name that ends in `.invalid`.
pub(super) const HOME: &str = "https://gcwatch.invalid";
/// Who packages it.
pub(super) const MAINTAINER: &str = "The gcwatch developers <packages@gcwatch.invalid>";
/// Its licence, as an SPDX expression.
pub(super) const LICENCE: &str = "MIT OR Apache-2.0";
/// The name of the licences of all that is compiled in.
pub(super) const DEPENDENCIES: &str = "LICENSES-OF-DEPENDENCIES.txt";

/// The files of the repository that packages contain.
pub const DOCUMENTS: [&str; 10] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "completions/_gcwatch",
    "completions/_gcwatch.ps1",
    "completions/gcwatch.bash",
    "completions/gcwatch.elv",
    "completions/gcwatch.fish",
    "docs/gcwatch.1",
];

/// What the packages are made from.
#[derive(Debug, Clone)]
pub struct Release {
    /// The version of the program.
    pub version: String,
    /// The time of all files, in seconds since 1970.
    pub time: i64,
    /// The built programs.
    pub programs: Vec<Program>,
    /// The files named by [`DOCUMENTS`], each with its content.
    pub documents: Vec<(String, Vec<u8>)>,
    /// What is compiled into the programs.
    pub dependencies: Vec<Dependency>,
}

/// A built program.
#[derive(Debug, Clone)]
pub struct Program {
    /// The platform that it runs on.
    pub platform: &'static Platform,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A finished package, or another file of the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The path below the directory of the release.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// All files of a release, and why some kinds are not among them.
#[derive(Debug, Clone, Default)]
pub struct Artifacts {
    /// The files, sorted by path.
    pub files: Vec<Artifact>,
    /// The kinds of packages that were not made, each with the reason.
    pub skipped: Vec<String>,
}

impl Release {
    /// The content of a document.
    pub(super) fn document(&self, path: &str) -> Result<&[u8]> {
        let found = self.documents.iter().find(|(name, _)| name == path);
        found.map(|(_, bytes)| bytes.as_slice()).with_context(|| format!("{path} is missing"))
    }

    /// The licences of the program and of all that is compiled into it, each with its file name.
    pub(super) fn licences(&self) -> Result<Vec<(&'static str, Vec<u8>)>> {
        let mut all = Vec::new();
        for path in ["LICENSE-APACHE", "LICENSE-MIT"] {
            all.push((path, self.document(path)?.to_vec()));
        }
        all.push((DEPENDENCIES, licences::text(&self.dependencies).into_bytes()));
        Ok(all)
    }

    /// The file name of an archive, without its extension.
    pub(super) fn stem(&self, platform: &Platform) -> String {
        format!("{NAME}-{}-{}", self.version, platform.name)
    }
}

/// SHA-256, in lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
