//! The test applications in `tests/apps/*.cs`, and the programs in `tests/apps/peers`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::clr::Clr;
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
    let sources = sources_in(&source_dir())?;
    Ok(sources.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect())
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
    compiled(name, &clr, &sources, &[])
}

/// The path of the assembly of a program in `tests/apps/peers`, which uses assemblies of another tool. It is compiled
/// once into Cargo's build directory, and runs on every runtime that needs no emulator. The other tool's assemblies are
/// not copied: the program must find them when it runs.
///
/// Its sources are `NAME.cs` and those in the directory `NAME`, if there is one.
///
/// # Errors
/// If there is no such program, no runtime, no compiler, or it does not compile.
pub fn build_peer(name: &str, references: &[PathBuf]) -> Result<PathBuf> {
    let clr = clr::native_lowest()?;
    let dir = source_dir().join("peers");
    let mut sources = vec![dir.join(format!("{name}.cs"))];
    if dir.join(name).is_dir() {
        sources.extend(sources_in(&dir.join(name))?);
    }
    let mut references = references.to_vec();
    // Assemblies for .NET Standard have the base types from there.
    references.push(clr.framework_dir().join("netstandard.dll"));
    compiled(name, &clr, &sources, &references)
}

fn compiled(name: &str, clr: &Clr, sources: &[PathBuf], references: &[PathBuf]) -> Result<PathBuf> {
    let mut hash = Hash::default();
    hash.write_all(compiler::fingerprint(clr).as_bytes())?;
    for file in sources.iter().chain(references) {
        let content = fs::read(file).with_context(|| format!("cannot read {name}'s {}", file.display()))?;
        hash.write_all(&content)?;
    }
    let dir_name = format!("{name}-{}", &hash.hex()[..16]);
    let file_name = format!("{name}.dll");
    let dir = cache::once(&workspace::target_dir().join("test-apps"), &dir_name, |dir| {
        compiler::compile(&clr::native_lowest()?, clr, sources, references, &dir.join(&file_name))
    })?;
    Ok(dir.join(file_name))
}

/// The C# files of a directory, sorted.
fn sources_in(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cs") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

fn source_dir() -> PathBuf {
    workspace::root().join("tests/apps")
}
