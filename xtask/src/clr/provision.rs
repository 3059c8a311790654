//! Assembles a .NET runtime from npm packages, for machines without one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

use super::runtime::ROOTS_VARIABLE;
use crate::npm::AZURE_MCP_NET9;
use crate::{archive, cache, compiler, sys};

const VERSION: &str = "9.0.7";
const TARGET: &str = ".NETCoreApp,Version=v9.0/linux-x64";
const RUNTIME_PACK: &str = "runtimepack.Microsoft.NETCore.App.Runtime.linux-x64/9.0.7";

/// The root of the runtime from npm, which is fetched and assembled if it is not in the cache.
pub(super) fn clr() -> Result<PathBuf> {
    if !sys::NPM_CLR_RUNS_HERE {
        bail!(
            "no .NET runtime was found. Install .NET 8 or later so that `dotnet` is on PATH, or set \
             {ROOTS_VARIABLE} (only linux-x64 with glibc can fetch one from npm)"
        );
    }
    let sdk = compiler::package_dir()?;
    cache::once(&cache::dir()?, &AZURE_MCP_NET9.cache_name(&format!("clr-{VERSION}")), |root| {
        let archive = AZURE_MCP_NET9.fetch(root)?;
        lay_out(&archive, root).with_context(|| format!("cannot lay out .NET {VERSION}"))?;
        let host = root.join("dotnet");
        fs::copy(sdk.join("dotnet"), &host)?;
        sys::make_executable(&host)?;
        // The runtime has the same licence as the SDK package.
        fs::copy(sdk.join("LICENSE.txt"), root.join("LICENSE.txt"))?;
        Ok(fs::remove_file(archive)?)
    })
}

/// Puts the runtime's files, which are among an application's, where a `dotnet` host looks for them.
fn lay_out(archive: &Path, root: &Path) -> Result<()> {
    let deps: Value = serde_json::from_slice(&archive::read(archive, "dist/azmcp.deps.json")?)?;
    let pack = deps["targets"][TARGET]
        .get(RUNTIME_PACK)
        .ok_or_else(|| anyhow!("the application's deps.json names no {RUNTIME_PACK}"))?;
    let framework = Path::new("shared/Microsoft.NETCore.App").join(VERSION);
    let mut places = BTreeMap::new();
    for name in ["runtime", "native"].iter().filter_map(|kind| pack[kind].as_object()) {
        for file in name.keys() {
            let to = match file.as_str() {
                "libhostfxr.so" => Path::new("host/fxr").join(VERSION).join(file),
                _ => framework.join(file),
            };
            places.insert(Path::new("dist").join(file), to);
        }
    }
    let placed =
        archive::extract(archive, root, &format!(".NET {VERSION}"), |path| places.get(path).cloned())?;
    if let Some(missing) = places.values().find(|place| !placed.contains(*place)) {
        bail!("{} is not in the package", missing.display());
    }
    let library = format!("Microsoft.NETCore.App.Runtime.linux-x64/{VERSION}");
    let framework_deps = json!({
        "runtimeTarget": { "name": TARGET, "signature": "" },
        "targets": { TARGET: { &library: pack } },
        "libraries": { library: { "type": "package", "serviceable": true, "sha512": "" } },
    });
    let path = root.join(framework).join("Microsoft.NETCore.App.deps.json");
    Ok(fs::write(path, serde_json::to_vec_pretty(&framework_deps)?)?)
}
