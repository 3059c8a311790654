//! A .NET runtime for Linux on arm64, assembled from an application on npm. An emulator runs it.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::bundle::Bundle;
use super::runtime::Clr;
use super::version::Version;
use crate::npm::{AZURE_MCP_NET10_ARM64, Hash};
use crate::{archive, cache, compiler, sys, workspace};

const VERSION: Version = Version { major: 10, minor: 0, patch: 9 };
/// The application's program. A launcher for any program takes its place.
const PROGRAM: &str = "azmcp.dll";

/// The runtime. `emulator` is what runs it, `native` the runtime that the C# compiler runs on.
///
/// Its host runs `dotnet app.dll` as other hosts do. Its class library is that of the application, without what the
/// application does not need.
pub(super) fn clr(emulator: Vec<OsString>, native: &Clr) -> Result<Clr> {
    let launcher = workspace::root().join("tests/apps/shared/Launcher.cs");
    let mut hash = Hash::default();
    hash.write_all(&fs::read(&launcher)?)?;
    let name = format!("clr-{VERSION}-arm64-{}", &hash.hex()[..8]);
    let at = |root: &Path| Clr {
        root: root.to_path_buf(),
        version: VERSION,
        name: VERSION.to_string(),
        newest: true,
        emulator: emulator.clone(),
        wine: false,
    };
    let root = cache::once(&cache::dir()?, &AZURE_MCP_NET10_ARM64.cache_name(&name), |root| {
        let package = AZURE_MCP_NET10_ARM64.fetch(root)?;
        let licences = [Path::new("LICENSE"), Path::new("NOTICE.txt")];
        let place = |path: &Path| licences.contains(&path).then(|| path.to_path_buf());
        archive::extract(&package, root, "licences", place)?;
        let mut bundle = Bundle::parse(archive::read(&package, "dist/azmcp")?)?;
        fs::remove_file(package)?;
        let clr = at(root);
        lay_out(&bundle, &clr.framework_dir())?;
        let program = root.join(PROGRAM);
        compiler::compile(native, &clr, &[launcher], &[], &program)?;
        bundle.replace(PROGRAM, &fs::read(&program)?)?;
        fs::write(clr.dotnet(), bundle.bytes())?;
        Ok(sys::make_executable(&clr.dotnet())?)
    })?;
    Ok(at(&root))
}

/// Writes the class library, for the C# compiler.
fn lay_out(bundle: &Bundle, framework: &PathBuf) -> Result<()> {
    fs::create_dir_all(framework)?;
    for (name, content) in bundle.files() {
        if name.starts_with("System.") && name.ends_with(".dll") {
            fs::write(framework.join(name), content).with_context(|| format!("cannot write {name}"))?;
        }
    }
    Ok(())
}
