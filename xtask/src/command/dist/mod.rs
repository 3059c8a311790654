//! `cargo xtask dist`: builds gcwatch for each platform, makes the packages, and tries them on this machine.

mod apple;
mod build;
mod gather;
mod tools;
mod trial;

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use xtask::dist::{PLATFORMS, Program, Release};
use xtask::workspace;

/// Make the packages of a release, in target/dist.
#[derive(Debug, clap::Args)]
pub(crate) struct Dist {
    /// Only for these platforms
    #[arg(long, value_name = "PLATFORM", value_delimiter = ',', value_parser = PLATFORMS.map(|platform| platform.name))]
    targets: Vec<String>,

    /// Install the packages into temporary directories, and run the program from there
    #[arg(long)]
    check: bool,
}

/// Builds and links the program for a target as a release has it; for a target that has no packages, as the tests have it.
/// The inner error is the reason why this machine cannot.
///
/// # Errors
/// It does not build.
pub(super) fn build(target: &str) -> Result<Result<(), String>> {
    match PLATFORMS.iter().find(|platform| platform.triple == target) {
        Some(platform) => Ok(build::program(platform, gather::time()?)?.map(drop)),
        None => workspace::release_gcwatch().map(|_| Ok(())),
    }
}

impl Dist {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut out = io::stdout();
        let time = gather::time()?;
        let (mut programs, mut skipped) = (Vec::new(), 0);
        let wanted = |name: &str| self.targets.is_empty() || self.targets.iter().any(|target| target == name);
        for platform in PLATFORMS.iter().filter(|platform| wanted(platform.name)) {
            match build::program(platform, time)? {
                Ok(bytes) => {
                    writeln!(out, "{}: built, {} KiB", platform.name, bytes.len() / 1024)?;
                    programs.push(Program { platform, bytes });
                }
                Err(reason) => {
                    skipped += 1;
                    writeln!(out, "{}: skipped: {reason}", platform.name)?;
                }
            }
        }
        let release = Release {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            time,
            programs,
            documents: gather::documents()?,
            dependencies: gather::dependencies()?,
        };
        let artifacts = xtask::dist::make(&release)?;
        let directory = workspace::target_dir().join("dist");
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        for file in &artifacts.files {
            let path = directory.join(&file.path);
            fs::create_dir_all(path.parent().context("a path without a directory")?)?;
            fs::write(&path, &file.bytes).with_context(|| path.display().to_string())?;
        }
        for reason in &artifacts.skipped {
            writeln!(out, "skipped: {reason}")?;
        }
        skipped += artifacts.skipped.len();
        writeln!(out, "dist: {} files in {}, {skipped} skipped", artifacts.files.len(), directory.display())?;
        if self.check { trial::all(&release, &artifacts, &directory) } else { Ok(ExitCode::SUCCESS) }
    }
}
