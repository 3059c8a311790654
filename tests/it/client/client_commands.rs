//! Commands that need a running program.

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::{HResult, PerfMap};
use xtask::testkit::Target;
use xtask::{Clr, apps};

use super::{block_on, client_of};
use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("client_commands::perf_map", &[], perf_map);
    suite.each("client_commands::startup_hook", &[], startup_hook);
    suite.each("client_commands::environment", &[], environment);
}

/// The file has the methods of the program, and the program goes on.
fn perf_map(clr: &Clr) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().to_str().context("a path")?;
    let mut program = Target::app(clr, "idle", &[], &[("DOTNET_PerfMapJitDumpPath", path)])?;
    program.wait_line("ready ", DEADLINE)?;
    let client = client_of(program.pid())?;
    block_on(async { Ok(client.enable_perf_map(PerfMap::PerfMap).await?) })?;
    let map = directory.path().join(format!("perf-{}.map", program.pid()));
    until("the perf map", DEADLINE, || {
        Ok(std::fs::read_to_string(&map).is_ok_and(|text| text.contains("Idle::Main")))
    })?;
    block_on(async { Ok(client.disable_perf_map().await?) })?;
    program.ask("?", "now ", DEADLINE).map(drop)
}

/// The hook's method runs in the program.
fn startup_hook(clr: &Clr) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let seen = directory.path().join("seen");
    let mut program = Target::app(clr, "idle", &[], &[("HOOK_FILE", seen.to_str().context("a path")?)])?;
    program.wait_line("ready ", DEADLINE)?;
    let hook = apps::build("hook")?;
    let client = client_of(program.pid())?;
    block_on(async { Ok(client.apply_startup_hook(hook.to_str().context("a path")?).await?) })?;
    until("the hook", DEADLINE, || {
        Ok(std::fs::read_to_string(&seen).is_ok_and(|pid| pid == program.pid().to_string()))
    })?;
    program.ask("?", "now ", DEADLINE).map(drop)
}

fn environment(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "idle", &[], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let client = client_of(program.pid())?;
    block_on(async {
        let value = async || {
            let all = client.environment().await?;
            Ok::<_, anyhow::Error>(all.into_iter().find(|(name, _)| name == "ADDED").map(|(_, value)| value))
        };
        client.set_environment_variable("ADDED", "ü=1").await?;
        ensure!(value().await?.as_deref() == Some("ü=1"));
        client.remove_environment_variable("ADDED").await?;
        ensure!(value().await?.is_none());
        let missing =
            client.remove_environment_variable("ADDED").await.err().and_then(|error| error.hresult());
        ensure!(missing == Some(HResult::ENVIRONMENT_VARIABLE_NOT_FOUND), "{missing:?}");
        Ok(())
    })
}
