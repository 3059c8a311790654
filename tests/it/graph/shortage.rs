//! No room for the file, no memory for the profiler: gcwatch says what is short, and the program goes on.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::Skip;

use super::harm::{MANY, unharmed};
use super::taken::{program, program_with};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Footprint, Gcwatch, on_small_disk, run_to_end};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("shortage::full_disk", &[Need::Proc], full_disk);
    suite.each("shortage::no_memory", &[Need::Proc], no_memory);
}

fn full_disk(clr: &Clr) -> Result<()> {
    let mut program = program(clr, Heap::Workstation, MANY)?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    let pid = program.pid().to_string();
    Gcwatch::on(clr)
        .args("graph --induce -o /dev/full")
        .arg(&pid)
        .output()?
        .expect(1)?
        .says(&["/dev/full"])?;
    Gcwatch::on(clr)
        .args("graph --induce -o /no-such-directory/a.gcgraph")
        .arg(&pid)
        .output()?
        .expect(1)?
        .says(&[
            "cannot write /no-such-directory/a.gcgraph: No such file or directory",
            "another place with -o",
        ])?;
    // And one that is full before the graph is whole.
    let dir = tempfile::tempdir()?;
    let (disk, kept) = (dir.path().join("disk"), dir.path().join("kept"));
    fs::create_dir(&disk)?;
    fs::create_dir(&kept)?;
    let path = disk.join("a.gcgraph");
    let gcwatch = Gcwatch::on(clr).args("graph --induce -o").arg(&path).arg(&pid).command();
    let ended = run_to_end(on_small_disk(&disk, 1, &kept, &gcwatch)?, Vec::new())?.expect(1)?;
    ended.says(&[&format!("cannot write {}: No space left", path.display()), "another place with -o"])?;
    ensure!(fs::read_dir(&kept)?.next().is_none(), "something is left");
    unharmed(&mut program, &before, &sum)
}

/// The process may map no more memory: the library or the profiler's own memory does not fit.
fn no_memory(clr: &Clr) -> Result<()> {
    // Its compiler would start threads later, which the limit would also hit.
    let quiet = [("DOTNET_TieredCompilation", "0")];
    let mut program = program_with(clr, Heap::Workstation, 20_000, &quiet)?;
    let pid = program.pid().to_string();
    let limit = |soft: &str| -> Result<()> {
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &pid, &format!("--as={soft}:unlimited")]);
        let done = prlimit.status().map_err(|e| Skip::because(format!("there is no prlimit here: {e}")))?;
        ensure!(done.success(), "{done}");
        Ok(())
    };
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).context("no size")?;
    let size_kib: u64 = size.trim().trim_end_matches(" kB").parse()?;
    // Less than the library and what it maps at once.
    limit(&((size_kib + (12 << 10)) << 10).to_string())?;
    let ended = Gcwatch::on(clr).args("graph --induce").arg(&pid).output()?;
    ended.expect(22)?.says(&["no memory or no thread for the profiler", "raise the limits", "prlimit"])?;
    limit("unlimited")?;
    ensure!(program.ask("check", "sum=", DEADLINE)? == sum, "the program computes something else now");
    Gcwatch::on(clr).args("graph --induce").arg(&pid).output()?.expect(0)?;
    Ok(())
}
