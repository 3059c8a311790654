//! Finds the runtimes that are already on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::runtime::{Clr, OLDEST_MAJOR, ROOTS_VARIABLE, remove_runtime_settings};
use super::version::Version;
use crate::sys;

/// The runtimes in a list of `DOTNET_ROOT` directories.
pub(super) fn in_roots(roots: &OsStr) -> Result<Vec<Clr>> {
    let mut found = Vec::new();
    for root in env::split_paths(roots).filter(|root| !root.as_os_str().is_empty()) {
        let root = std::path::absolute(root)?;
        if !root.join(sys::executable("dotnet")).is_file() {
            bail!("{ROOTS_VARIABLE} names {}, which does not hold a `dotnet` host", root.display());
        }
        let here = in_root(&root);
        if here.is_empty() {
            bail!(
                "{ROOTS_VARIABLE} names {}, which holds no runtime of .NET {OLDEST_MAJOR} or later \
                 (shared/Microsoft.NETCore.App/VERSION)",
                root.display()
            );
        }
        found.extend(here);
    }
    if found.is_empty() {
        bail!("{ROOTS_VARIABLE} is set but names no directory");
    }
    Ok(found)
}

/// The runtimes that the `dotnet` on `PATH` knows; it is no error if there are none.
pub(super) fn on_path() -> Result<Vec<Clr>> {
    let mut command = Command::new(sys::executable("dotnet"));
    remove_runtime_settings(&mut command);
    // The host lists the directories that it really uses, even if links or scripts lead to it.
    let output = command.arg("--list-runtimes").stdin(Stdio::null()).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        return Ok(Vec::new());
    };
    let listed = String::from_utf8_lossy(&output.stdout);
    let roots: BTreeSet<_> = listed.lines().filter_map(root_of_listed).collect();
    let usable = |root: &PathBuf| root.join(sys::executable("dotnet")).is_file();
    Ok(roots.into_iter().filter(usable).flat_map(|root| in_root(&root)).collect())
}

/// The root from a line such as `Microsoft.NETCore.App 9.0.18 [/usr/lib/dotnet/shared/Microsoft.NETCore.App]`.
fn root_of_listed(line: &str) -> Option<PathBuf> {
    let (_, dir) = line.trim().strip_prefix("Microsoft.NETCore.App ")?.split_once('[')?;
    let shared = Path::new(dir.strip_suffix(']')?).parent()?;
    shared.parent().map(Path::to_path_buf)
}

/// The runtimes below one root: the newest of each major version from .NET 8 on.
pub(super) fn in_root(root: &Path) -> Vec<Clr> {
    let frameworks = root.join("shared/Microsoft.NETCore.App");
    let entries = fs::read_dir(&frameworks).into_iter().flatten().flatten();
    let mut by_major = BTreeMap::<u32, Version>::new();
    for entry in entries {
        let version = entry.file_name().to_str().and_then(|name| name.parse::<Version>().ok());
        let complete = entry.path().join("System.Private.CoreLib.dll").is_file();
        if let Some(version) = version.filter(|v| complete && v.major >= OLDEST_MAJOR) {
            let newest = by_major.entry(version.major).or_insert(version);
            *newest = version.max(*newest);
        }
    }
    let newest = by_major.values().next_back().copied();
    let clr = |version: Version| Clr {
        root: root.to_path_buf(),
        version,
        name: version.to_string(),
        newest: Some(version) == newest,
        emulator: Vec::new(),
        wine: false,
    };
    by_major.into_values().map(clr).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_with(versions: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(sys::executable("dotnet")), "").unwrap();
        for version in versions {
            let dir = root.path().join("shared/Microsoft.NETCore.App").join(version);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("System.Private.CoreLib.dll"), "").unwrap();
        }
        root
    }

    #[test]
    fn the_newest_of_each_major_version() {
        let root = root_with(&["3.1.32", "8.0.3", "8.0.29", "10.0.12", "11.0.0-preview.1"]);
        let found = in_root(root.path());
        let names: Vec<_> = found.iter().map(|clr| clr.name.as_str()).collect();
        assert_eq!(names, ["8.0.29", "10.0.12"]);
        let argv = |index: usize| {
            let argv = found[index].argv(Path::new("app.dll"));
            argv[1..].iter().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(argv(0), ["exec", "--fx-version", "8.0.29", "app.dll"]);
        assert_eq!(argv(1), ["app.dll"]);
    }

    #[test]
    fn wrong_roots_are_named() {
        let empty = tempfile::tempdir().unwrap();
        let old = root_with(&["6.0.36"]);
        for (root, complaint) in [
            (empty.path(), "does not hold a `dotnet` host"),
            (old.path(), "holds no runtime of .NET 8 or later"),
        ] {
            let message = in_roots(root.as_os_str()).unwrap_err().to_string();
            assert!(message.contains(complaint), "{message}");
            assert!(message.contains(&root.display().to_string()), "{message}");
        }
    }

    #[test]
    fn the_hosts_own_list_is_read() {
        let line = "Microsoft.NETCore.App 9.0.18 [/opt/my dotnet/shared/Microsoft.NETCore.App]\r";
        assert_eq!(root_of_listed(line), Some(PathBuf::from("/opt/my dotnet")));
        let other = "Microsoft.AspNetCore.App 9.0.18 [/opt/dotnet/shared/Microsoft.AspNetCore.App]";
        assert_eq!(root_of_listed(other), None);
    }
}
