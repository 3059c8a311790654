//! Real applications to watch, besides the C# compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::npm::AZURE_MCP_NET10;
use crate::{archive, cache, clr, sys};

/// The Azure MCP server, a single-file application of .NET 10 for linux-x64 with its own runtime. It is fetched from
/// npm if it is not in the cache. `azmcp server start` runs for as long as stdin is open.
///
/// # Errors
/// On other platforms, or if npm is missing, fails, or delivers another package than the known one.
pub fn azmcp() -> Result<PathBuf> {
    if !sys::NPM_CLR_RUNS_HERE {
        bail!("the single-file application runs on linux-x64 with glibc only");
    }
    let dir = cache::once(&cache::dir()?, &AZURE_MCP_NET10.cache_name("azmcp"), |dir| {
        let archive = AZURE_MCP_NET10.fetch(dir)?;
        let wanted = [Path::new("dist/azmcp"), Path::new("LICENSE"), Path::new("NOTICE.txt")];
        let place = |path: &Path| wanted.contains(&path).then(|| path.to_path_buf());
        let placed = archive::extract(&archive, dir, AZURE_MCP_NET10.holds, place)?;
        if !placed.contains(wanted[0]) {
            bail!("{} is not in the npm package {}", wanted[0].display(), AZURE_MCP_NET10.name);
        }
        sys::make_executable(&dir.join(wanted[0]))?;
        Ok(fs::remove_file(archive)?)
    })?;
    Ok(dir.join("dist/azmcp"))
}

/// A command that runs [`azmcp`] as a server, without telemetry.
///
/// # Errors
/// Those of [`azmcp`].
pub fn azmcp_server() -> Result<Command> {
    let executable = azmcp()?;
    let mut command = Command::new(&executable);
    clr::remove_runtime_settings(&mut command);
    command
        .args(["server", "start"])
        .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
        // It unpacks its native libraries here, not below the home directory.
        .env("DOTNET_BUNDLE_EXTRACT_BASE_DIR", executable.with_file_name("unpacked"))
        .env("AZURE_MCP_COLLECT_TELEMETRY", "false");
    Ok(command)
}
