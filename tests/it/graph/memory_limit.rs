//! A program whose container has little memory left. The kernel may kill the copy, but never the program.

use std::process::Command;

use anyhow::{Result, ensure};
use xtask::testkit::Target;
use xtask::{Clr, apps};

use super::harm::{copies, stopped_copy, unharmed};
use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Footprint, Gcwatch, MemoryGroup};

/// Objects of 32 bytes.
const MANY: u32 = 4_000_000;
const MIB: u64 = 1 << 20;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("memory_limit::the_copy_is_killed", &[Need::Proc], the_copy_is_killed);
    suite.once("memory_limit::too_little_for_a_copy", &[Need::Proc], too_little);
}

/// The program that knows its objects, in a group of its own.
fn limited(clr: &Clr, group: &MemoryGroup) -> Result<Target> {
    let mut command = Command::new("sh");
    command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.processes());
    command.args(clr.argv(&apps::build("objects")?)).arg(format!("more={MANY}"));
    clr.environment(&mut command);
    command.env("DOTNET_gcServer", "0");
    let mut program = Target::spawn(command)?;
    program.wait_line("ready ", DEADLINE)?;
    Ok(program)
}

/// While a copy lives, the program writes more than its group has left.
fn the_copy_is_killed(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let group = MemoryGroup::new()?;
    let mut program = limited(clr, &group)?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    let (mut gcwatch, _copy) = stopped_copy(clr, &mut program, &path, "")?;
    group.limit(group.used()? + 32 * MIB)?;
    program.ask("write", "written", DEADLINE)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(11) && !path.exists(), "{status}: {gcwatch:?}");
    let said = gcwatch.stderr();
    ensure!(said.contains("was killed") && said.contains("the program itself goes on"), "{said}");
    unharmed(&mut program, &before, &sum)
}

/// Where not even the page tables of a copy fit, the kernel would have nothing to kill but the program.
fn too_little(clr: &Clr) -> Result<()> {
    let group = MemoryGroup::new()?;
    let mut program = limited(clr, &group)?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    group.limit(group.used()? + MIB)?;
    let gcwatch = Gcwatch::on(clr).args("graph --induce").arg(program.pid().to_string()).output()?;
    gcwatch.expect(22)?.says(&["MiB of memory left", "memory.max"])?;
    ensure!(copies(program.pid()).is_empty(), "there is a copy");
    // Collecting needs some memory, too.
    group.limit(1 << 40)?;
    unharmed(&mut program, &before, &sum)
}
