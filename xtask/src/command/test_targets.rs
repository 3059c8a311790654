//! `cargo xtask test-targets`

use std::io::{self, Write};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use xtask::{clr, tested, workspace};

use super::check_targets::missing;

/// The profiler's own tests run as this target.
const PROFILER: &str = "aarch64-unknown-linux-gnu";
/// Needs numbers of sockets, which the emulator does not pass on.
const PROFILER_WITHOUT: &str = "a_descriptor_of_the_program_is_neither_read_nor_closed";

/// On Windows the unit tests of all crates run, and the profiler's tests in the mock runtime.
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// Targets of gcwatch, and which integration tests run for them; none: all that fit.
const GCWATCH: [(&str, &[&str]); 3] = [
    (WINDOWS, &[""]),
    (
        "x86_64-unknown-linux-musl",
        &["levels::", "roots::known", "names::known", "attach::", "detach::by", "sampled::by_count"],
    ),
    (
        "aarch64-unknown-linux-musl",
        &["dynamic_methods::", "levels::", "names::known", "roots::known", "sampled::by_count"],
    ),
];

pub(crate) fn run() -> Result<ExitCode> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut told = Vec::new();
    let profiler = |target: &str| -> Result<Vec<Command>> {
        let mut command = tested::cargo("test", target)?;
        command.args(["--quiet", "--package", "netcore-profiler", "--", "--skip", PROFILER_WITHOUT]);
        Ok(vec![command])
    };
    let windows = || -> Result<Vec<Command>> {
        let test = |package: &str, what: &[&str]| -> Result<Command> {
            let mut command = tested::cargo("test", WINDOWS)?;
            command.args(["--quiet", "--package", package]).args(what);
            Ok(command)
        };
        Ok(vec![
            test("dotnet-diagnostics-client", &["--lib"])?,
            test("gcwatch", &["--lib"])?,
            test("netcore-profiler", &["--lib", "--test", "mock_clr"])?,
        ])
    };
    let gcwatch = |target: &str| -> Result<Vec<Command>> {
        clr::find_for(target)?;
        let filters = GCWATCH.iter().filter(|(name, _)| *name == target).flat_map(|(_, filters)| *filters);
        let test = |filter: &&str| {
            let mut command = workspace::cargo();
            command.args(["test", "--quiet", "--test", "integration", "--", filter]);
            command.env(tested::VARIABLE, target);
            command
        };
        Ok(filters.map(test).collect())
    };
    let mut all = vec![(PROFILER, "profiler", profiler(PROFILER)), (WINDOWS, "unit tests", windows())];
    all.extend(GCWATCH.map(|(target, _)| (target, "gcwatch", gcwatch(target))));
    for (target, what, commands) in all {
        let result = match (missing(target), commands) {
            (Some(reason), _) => Err(format!("it cannot be added: {reason}")),
            (None, Err(error)) => Err(format!("{error:#}")),
            (None, Ok(commands)) => Ok(succeed(commands)?),
        };
        let (count, result) = match result {
            Ok(true) => (&mut passed, "ok".to_owned()),
            Ok(false) => (&mut failed, "FAILED".to_owned()),
            Err(reason) => (&mut skipped, format!("skipped, {reason}")),
        };
        *count += 1;
        told.push(format!("{target}, {what}: {result}"));
    }
    told.push(format!("targets: {passed} ok, {failed} failed, {skipped} skipped"));
    for line in told {
        writeln!(io::stdout(), "{line}")?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all of them, whether or not one fails.
fn succeed(commands: Vec<Command>) -> Result<bool> {
    let mut all = true;
    for mut command in commands {
        all &= command.stdin(Stdio::null()).status().context("cannot run cargo")?.success();
    }
    Ok(all)
}
