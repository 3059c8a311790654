//! The platforms, how each is built, and which tests can run for it here.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use xtask::{clr, tested, workspace};

use super::outcome::{Outcome, Results};
use crate::command::check_targets::missing;
use crate::command::dist;

/// A platform, and what this machine can do for it.
pub(super) struct Platform {
    /// Its name in .NET.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    target: &'static str,
    /// What runs the tests. `None`: nothing does.
    pub(super) ran_on: Option<&'static str>,
    tests: fn(&str) -> Result<Vec<Test>>,
}

/// A command that runs tests, and what the names of these tests are prefixed by.
struct Test {
    program: &'static str,
    command: Command,
}

pub(super) const PLATFORMS: [Platform; 6] = [
    Platform {
        name: "linux-x64",
        title: "Linux x64, glibc",
        target: "x86_64-unknown-linux-gnu",
        ran_on: Some("Linux"),
        tests: |_| Ok(vec![workspace_tests()]),
    },
    Platform {
        name: "linux-x64-musl",
        title: "Linux x64, musl, static",
        target: "x86_64-unknown-linux-musl",
        ran_on: Some("Linux, glibc"),
        tests: |target| Ok(vec![integration(target)?]),
    },
    Platform {
        name: "linux-arm64",
        title: "Linux arm64, musl, static",
        target: "aarch64-unknown-linux-musl",
        ran_on: Some("QEMU"),
        tests: |target| Ok(vec![profiler_arm64()?, integration(target)?]),
    },
    Platform {
        name: "win-x64",
        title: "Windows x64",
        target: "x86_64-pc-windows-gnu",
        ran_on: Some("Wine"),
        tests: |target| {
            Ok(vec![
                package(target, "dotnet-diagnostics-client", &["--lib"])?,
                package(target, "gcwatch", &["--lib"])?,
                package(target, "netcore-profiler", &["--lib", "--test", "mock_clr"])?,
                integration(target)?,
            ])
        },
    },
    Platform {
        name: "osx-x64",
        title: "macOS x64",
        target: "x86_64-apple-darwin",
        ran_on: None,
        tests: |_| Ok(Vec::new()),
    },
    Platform {
        name: "osx-arm64",
        title: "macOS arm64",
        target: "aarch64-apple-darwin",
        ran_on: None,
        tests: |_| Ok(Vec::new()),
    },
];

fn workspace_tests() -> Test {
    let mut command = workspace::cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]);
    Test { program: "workspace", command }
}

fn package(target: &str, package: &'static str, what: &[&str]) -> Result<Test> {
    let mut command = tested::cargo("test", target)?;
    command.args(["--no-fail-fast", "--package", package]).args(what);
    Ok(Test { program: package, command })
}

/// The profiler's tests, linked against glibc. One needs numbers of sockets, which the emulator does not pass on.
fn profiler_arm64() -> Result<Test> {
    const WITHOUT: &str = "a_descriptor_of_the_program_is_neither_read_nor_closed";
    let mut test = package("aarch64-unknown-linux-gnu", "netcore-profiler", &["--", "--skip", WITHOUT])?;
    test.program = "netcore-profiler";
    Ok(test)
}

fn integration(target: &str) -> Result<Test> {
    clr::find_for(target)?;
    let mut command = workspace::cargo();
    command.args(["test", "--test", "integration"]).env(tested::VARIABLE, target);
    Ok(Test { program: "integration", command })
}

/// Builds gcwatch for a platform, and runs the tests that fit.
pub(super) fn try_out(platform: &Platform) -> Result<Outcome> {
    if let Some(reason) = missing(platform.target) {
        return Ok(Outcome::Skipped(format!("it cannot be added: {reason}")));
    }
    let mut results = Results::default();
    match dist::build(platform.target) {
        Ok(Ok(())) => results.is_built = true,
        Ok(Err(reason)) => return Ok(Outcome::Skipped(reason)),
        Err(error) => writeln!(io::stderr(), "{error:#}")?,
    }
    match (platform.tests)(platform.target) {
        Ok(tests) => tests.into_iter().try_for_each(|test| test.run(&mut results))?,
        Err(error) => return Ok(Outcome::Skipped(format!("{error:#}"))),
    }
    Ok(Outcome::Tried(results))
}

impl Test {
    fn run(mut self, results: &mut Results) -> Result<()> {
        let mut child = self.command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let child = child.as_mut().map_err(|error| anyhow::anyhow!("cannot run cargo: {error}"))?;
        let stdout = child.stdout.take().context("the output of cargo")?;
        let mut failed = false;
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            writeln!(io::stderr(), "{line}")?;
            failed |= results.read(self.program, &line);
        }
        if !child.wait()?.success() && !failed {
            results.broken += 1;
        }
        Ok(())
    }
}
