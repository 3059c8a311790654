//! `cargo xtask public-api`: compares the public interface of the client crate with the list in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use xtask::workspace;

const CRATE: &str = "dotnet-diagnostics-client";
/// All features but `fuzz`, which is no part of the interface.
const FEATURES: [&str; 2] = ["client", "clr-events"];
/// The list, below the root of the workspace.
const FILE: &str = "dotnet-diagnostics-client/public-api.txt";
/// The program that makes the list, below the root of the workspace.
const LISTER: &str = "xtask/public-api/Cargo.toml";
/// Other releases of Rust name some items of the standard library by other paths.
const RUST: &str = env!("CARGO_PKG_RUST_VERSION");

/// Compare the public interface of dotnet-diagnostics-client with the list in the repository.
#[derive(Debug, clap::Args)]
pub(crate) struct PublicApi {
    /// Write the list
    #[arg(long)]
    write: bool,
}

impl PublicApi {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut out = io::stdout();
        if let Some(reason) = cannot_list()? {
            if self.write {
                bail!("the list cannot be made: {reason}");
            }
            writeln!(out, "public-api: 1 list skipped: {reason}")?;
            return Ok(ExitCode::SUCCESS);
        }
        let current = list()?;
        let count = current.lines().count();
        let path = workspace::root().join(FILE);
        if self.write {
            fs::write(path, current).context(FILE)?;
            writeln!(out, "public-api: wrote {count} items to {FILE}")?;
            return Ok(ExitCode::SUCCESS);
        }
        // Git may have checked it out with other ends of lines.
        let listed = fs::read_to_string(path).context(FILE)?.replace("\r\n", "\n");
        if listed == current {
            writeln!(out, "public-api: {count} items, all as listed")?;
            return Ok(ExitCode::SUCCESS);
        }
        let changes = changes(&listed, &current);
        for (mark, line) in &changes {
            writeln!(out, "{mark} {line}")?;
        }
        if changes.is_empty() {
            writeln!(out, "only the order of the items differs")?;
        }
        bail!("the public interface of {CRATE} is not that of {FILE}; if it is meant to change, see --write")
    }
}

/// The reason why this machine cannot make the list, if it cannot.
fn cannot_list() -> Result<Option<String>> {
    if !cfg!(target_os = "linux") {
        return Ok(Some("the list is that of Linux, and other systems have other items".to_owned()));
    }
    let rustc = Command::new("rustc").arg("--version").output().context("cannot run rustc")?;
    let version = String::from_utf8_lossy(&rustc.stdout);
    if !is_release(&version, RUST) {
        return Ok(Some(format!("the list is made with Rust {RUST}, and this is {}", version.trim())));
    }
    let cargo = |arguments: &[&str]| {
        let mut command = workspace::cargo();
        command.args(arguments).args(["--manifest-path", LISTER]).stdin(Stdio::null());
        command.output().context("cannot run cargo")
    };
    // Only a missing crate is the fault of the machine; a wrong manifest or lock file is not.
    let manifest = cargo(&["metadata", "--no-deps", "--format-version=1"])?;
    if !manifest.status.success() {
        bail!("{LISTER} is not valid:\n{}", String::from_utf8_lossy(&manifest.stderr));
    }
    let fetched = cargo(&["fetch", "--locked"])?;
    if fetched.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&fetched.stderr);
    if said.contains("--locked") {
        bail!("the lock file beside {LISTER} is not current:\n{said}");
    }
    let reason = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("cargo fetch failed");
    Ok(Some(format!("its crates cannot be fetched: {reason}")))
}

/// Whether the output of `rustc --version` names a stable compiler of a release such as `1.95`.
fn is_release(version: &str, release: &str) -> bool {
    let number = version.split_whitespace().nth(1).unwrap_or_default();
    let patch = number.strip_prefix(release).and_then(|rest| rest.strip_prefix('.'));
    patch.is_some_and(|patch| patch.parse::<u32>().is_ok())
}

/// Lists the interface as it is, one item per line.
fn list() -> Result<String> {
    // Not the directory of other builds: the flags for the JSON would build everything there anew.
    let target = workspace::target_dir().join("public-api");
    let output = workspace::cargo()
        .args(["run", "--quiet", "--locked", "--manifest-path", LISTER, "--target-dir"])
        .arg(target.join("lister"))
        .arg("--")
        .arg(workspace::root().join(CRATE).join("Cargo.toml"))
        .arg(target)
        .args(FEATURES)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the public interface of {CRATE} cannot be listed");
    }
    String::from_utf8(output.stdout).context("the list is not UTF-8")
}

/// The lines that differ: `-` for each that only `listed` has, `+` for each that only `current` has.
fn changes<'a>(listed: &'a str, current: &'a str) -> Vec<(char, &'a str)> {
    // The lines of implementations repeat for a type with two paths, so they are counted.
    let mut surplus: BTreeMap<&str, i64> = BTreeMap::new();
    for line in current.lines() {
        *surplus.entry(line).or_default() += 1;
    }
    for line in listed.lines() {
        *surplus.entry(line).or_default() -= 1;
    }
    let changed = surplus.into_iter().filter(|(_, count)| *count != 0);
    changed.map(|(line, count)| (if count < 0 { '-' } else { '+' }, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_marks() {
        assert_eq!(changes("a\nb\nc\n", "a\nc\nd\n"), [('-', "b"), ('+', "d")]);
        assert_eq!(changes("a\na\n", "a\n"), [('-', "a")]);
        assert_eq!(changes("a\nb\n", "b\na\n"), []);
    }

    #[test]
    fn only_stable_compilers_of_the_release_count() {
        assert!(is_release("rustc 1.95.0 (59807616e 2026-04-14)\n", "1.95"));
        assert!(is_release("rustc 1.95.1\n", "1.95"));
        for other in ["rustc 1.95.0-nightly (e50aa6fba)", "rustc 1.96.0", "rustc 1.950.0", "rustc", ""] {
            assert!(!is_release(other, "1.95"), "{other}");
        }
    }
}
