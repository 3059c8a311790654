//! The licences of what is compiled into the program: most of them ask that their text comes with it.

use std::collections::BTreeMap;
use std::fmt::Write;

/// A crate that is compiled into the program on some platform.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence, as an SPDX expression.
    pub licence: String,
    /// The names and versions of the crates that it needs itself.
    pub needs: Vec<(String, String)>,
    /// Whether it comes from the registry, and not from this repository.
    pub foreign: bool,
    /// Its files of licences.
    pub files: Vec<LicenceFile>,
}

/// A file of a crate with a licence in it.
#[derive(Debug, Clone)]
pub struct LicenceFile {
    /// The file's name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// All licences, equal texts once.
pub(super) fn text(dependencies: &[Dependency]) -> String {
    let mut all = String::from(
        "These libraries are compiled into gcwatch, besides the standard library of Rust (MIT OR Apache-2.0) and,\n\
         on Linux, the C library musl (MIT). Texts that several of them have in common are here once.\n\n",
    );
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for dependency in dependencies.iter().filter(|dependency| dependency.foreign) {
        let Dependency { name, version, licence, files, .. } = dependency;
        let _ = writeln!(all, "{name} {version}: {licence}");
        for file in files {
            let users = texts.entry(file.text.trim()).or_default();
            users.push(format!("{name} {version} ({})", file.name));
        }
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1));
    for (text, users) in texts {
        let _ = write!(all, "\n{}\n{}:\n\n{text}\n", "=".repeat(80), users.join("\n"));
    }
    all
}
