//! The test applications in `tests/apps/*.cs`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::npm::Hash;
use crate::testkit::skip::Skip;
use crate::{cache, clr, compiler, workspace};

/// Those that need no more of the class library than the emulated runtime has.
const TRIMMED: [&str; 4] = ["churn", "lambdas", "named", "roots"];

/// The names of all test applications.
///
/// # Errors
/// If their directory cannot be read.
pub fn names() -> Result<Vec<String>> {
    let dir = source_dir();
    let mut names = Vec::new();
    for entry in fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cs")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The path of a test application's assembly, compiled once into Cargo's build directory.
///
/// It is compiled against the lowest runtime that was [found](clr::find_all), so that it runs on all.
///
/// # Errors
/// If there is no such application, no runtime, no compiler, or it does not compile; a [`Skip`] if the runtime lacks
/// what it uses.
pub fn build(name: &str) -> Result<PathBuf> {
    let lowest = clr::find_lowest()?;
    // The code is the same on Windows.
    let clr = if lowest.is_wine() { clr::native_lowest()? } else { lowest };
    let mut sources = vec![source_dir().join(format!("{name}.cs")), source_dir().join("shared/App.cs")];
    if clr.is_emulated() {
        if !TRIMMED.contains(&name) {
            return Err(Skip::because(format!(
                "the emulated runtime's class library lacks what {name}.cs uses"
            ))
            .into());
        }
        sources.push(source_dir().join("shared/Trimmed.cs"));
    }
    let mut hash = Hash::default();
    hash.write_all(compiler::fingerprint(&clr).as_bytes())?;
    for source in &sources {
        let content = fs::read(source)
            .with_context(|| format!("cannot read the test application's {}", source.display()))?;
        hash.write_all(&content)?;
    }
    let dir_name = format!("{name}-{}", &hash.hex()[..16]);
    let file_name = format!("{name}.dll");
    let dir = cache::once(&workspace::target_dir().join("test-apps"), &dir_name, |dir| {
        compiler::compile(&clr::native_lowest()?, &clr, &sources, &dir.join(&file_name))
    })?;
    Ok(dir.join(file_name))
}

fn source_dir() -> PathBuf {
    workspace::root().join("tests/apps")
}
