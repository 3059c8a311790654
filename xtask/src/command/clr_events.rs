//! `cargo xtask clr-events`

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use xtask::{clr_events, workspace};

/// Check the table of the CLR's events against the manifest of dotnet/runtime, or make it from that.
#[derive(Debug, clap::Args)]
pub(crate) struct ClrEvents {
    /// The manifest: src/coreclr/vm/ClrEtwAll.man of dotnet/runtime
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,

    /// Write the table
    #[arg(long)]
    write: bool,
}

impl ClrEvents {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let manifest =
            fs::read_to_string(&self.manifest).with_context(|| self.manifest.display().to_string())?;
        match self.write {
            true => clr_events::write(&manifest, workspace::root())?,
            false => clr_events::check(&manifest, workspace::root())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
