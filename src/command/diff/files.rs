//! The files that an argument stands for: a file, all recordings and documents of a directory, or a pattern.

use std::path::{Path, PathBuf};

use crate::exit::{Code, Failure};

/// Runs of a side. Each is read whole.
const MAX_FILES: usize = 1_000;
/// What recordings and documents are called; each may have the name of a compression behind it.
const NAMES: [&str; 2] = [".json", ".nettrace"];
const COMPRESSIONS: [&str; 4] = ["", ".gz", ".xz", ".zst"];

/// The files of a side, each once, in the order of the arguments and of their names.
///
/// # Errors
/// An argument stands for no file, or there are too many.
pub(super) fn of(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for argument in arguments {
        let files = match argument.to_str() {
            _ if argument.is_dir() => in_directory(argument)?,
            Some(pattern) if pattern.contains(['*', '?', '[']) && !argument.exists() => matching(pattern)?,
            _ => vec![argument.clone()],
        };
        if all.len() + files.len() > MAX_FILES {
            let what = format!("there are more than {MAX_FILES} files on a side");
            return Err(Failure::new(Code::USAGE, what).remedy("compare fewer runs"));
        }
        all.extend(files);
    }
    Ok(all)
}

fn in_directory(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |e: &dyn std::fmt::Display| {
        Failure::new(Code::BAD_INPUT, format!("cannot read {}: {e}", directory.display()))
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|e| unreadable(&e))? {
        let path = entry.map_err(|e| unreadable(&e))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let is_run = NAMES
            .iter()
            .any(|end| COMPRESSIONS.iter().any(|compression| name.ends_with(&format!("{end}{compression}"))));
        if is_run && path.is_file() {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            break;
        }
    }
    files.sort();
    if files.is_empty() {
        let what = format!("there is no recording and no document in {}", directory.display());
        return Err(Failure::new(Code::BAD_INPUT, what)
            .remedy("their names end with .nettrace or .json, or with .gz, .xz or .zst behind that"));
    }
    Ok(files)
}

fn matching(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let paths = glob::glob(pattern).map_err(|e| {
        Failure::new(Code::USAGE, format!("{pattern} is no pattern: {e}")).remedy("as in: before/*.json")
    })?;
    let files: Vec<PathBuf> =
        paths.filter_map(Result::ok).filter(|path| path.is_file()).take(MAX_FILES + 1).collect();
    if files.is_empty() {
        return Err(Failure::new(Code::BAD_INPUT, format!("no file matches {pattern}")));
    }
    Ok(files)
}
