//! Reads what the packages contain besides the programs.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::dist::{DOCUMENTS, Dependency, LicenceFile, PLATFORMS};
use xtask::workspace;

use super::tools::output;

/// The time of all files: `SOURCE_DATE_EPOCH`, or that of the commit.
pub(super) fn time() -> Result<i64> {
    const VARIABLE: &str = "SOURCE_DATE_EPOCH";
    if let Some(seconds) = env::var_os(VARIABLE) {
        let seconds = seconds.to_str().context(VARIABLE)?.parse().context(VARIABLE)?;
        return Ok(seconds);
    }
    let mut git = Command::new("git");
    let log = output(git.args(["log", "-1", "--format=%ct"]).current_dir(workspace::root()));
    Ok(log.with_context(|| format!("the time of the commit is unknown; set {VARIABLE}"))?.trim().parse()?)
}

pub(super) fn documents() -> Result<Vec<(String, Vec<u8>)>> {
    let read = |path: &str| {
        let bytes = fs::read(workspace::root().join(path)).with_context(|| path.to_owned())?;
        Ok((path.to_owned(), bytes))
    };
    DOCUMENTS.into_iter().map(read).collect()
}

/// The crates that are compiled into gcwatch on any platform.
pub(super) fn dependencies() -> Result<Vec<Dependency>> {
    let metadata = output(workspace::cargo().args(["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let mut needs = Needs::new();
    for platform in &PLATFORMS {
        let mut tree = workspace::cargo();
        tree.args(["tree", "--locked", "--package", "gcwatch", "--edges", "normal", "--prefix", "depth"]);
        add(&output(tree.args(["--format", " {p}", "--target", platform.triple]))?, &mut needs)?;
    }
    let mut dependencies = Vec::new();
    for ((name, version), needed) in needs {
        let fits = |package: &&Value| package["name"] == *name && package["version"] == *version;
        let package = packages.iter().find(fits).with_context(|| format!("{name} {version}"))?;
        let foreign = !package["source"].is_null();
        let manifest = Path::new(package["manifest_path"].as_str().context("no manifest")?);
        let directory = manifest.parent().context("a manifest without a directory")?;
        let files = if foreign { licence_files(directory)? } else { Vec::new() };
        // Old manifests have a slash for "or".
        let licence = package["license"].as_str().with_context(|| format!("{name} has no licence"))?;
        let licence = licence.replace('/', " OR ");
        let needs = needed.into_iter().collect();
        dependencies.push(Dependency { name, version, licence, needs, foreign, files });
    }
    Ok(dependencies)
}

/// A crate's name and version.
type Crate = (String, String);
/// What each crate needs at run time.
type Needs = BTreeMap<Crate, BTreeSet<Crate>>;

/// Reads what `cargo tree` prints: a crate per line behind its depth, those that it needs below it. Procedural macros run
/// in the compiler, so that nothing of theirs gets into the program.
fn add(tree: &str, needs: &mut Needs) -> Result<()> {
    let mut above: Vec<Crate> = Vec::new();
    let mut macro_depth = usize::MAX;
    for line in tree.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().with_context(|| format!("cargo tree says {line:?}"));
        let depth: usize = word()?.parse()?;
        let name = word()?.to_owned();
        let version = word()?.trim_start_matches('v').to_owned();
        if depth > macro_depth {
            continue;
        }
        macro_depth = if line.contains("(proc-macro)") { depth } else { usize::MAX };
        if macro_depth == depth {
            continue;
        }
        above.truncate(depth);
        let found = (name, version);
        if let Some(parent) = above.last() {
            needs.entry(parent.clone()).or_default().insert(found.clone());
        }
        needs.entry(found.clone()).or_default();
        above.push(found);
    }
    Ok(())
}

/// The files beside a manifest whose names say that they are about the licence.
fn licence_files(directory: &Path) -> Result<Vec<LicenceFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        let about = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
        if entry.file_type()?.is_file() && about.iter().any(|start| upper.starts_with(start)) {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n");
            files.push(LicenceFile { name, text });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_and_what_they_need_are_left_out() -> Result<()> {
        let tree = "0 gcwatch v0.1.0 (/somewhere)\n1 serde v1.2.3\n2 serde_derive v1.2.3 (proc-macro)\n\
                    3 syn v2.0.0\n2 core v0.3.0\n1 core v0.3.0 (*)\n";
        let mut needs = Needs::new();
        add(tree, &mut needs)?;
        let shown: Vec<String> = needs
            .iter()
            .map(|((name, _), needed)| {
                let needed: Vec<&str> = needed.iter().map(|(name, _)| name.as_str()).collect();
                format!("{name}: {}", needed.join(" "))
            })
            .collect();
        assert_eq!(shown, ["core: ", "gcwatch: core serde", "serde: core"]);
        Ok(())
    }
}
