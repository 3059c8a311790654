//! `--pause-ok`: where the process cannot be forked, its heap is walked while it stands still.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use super::taken::{check, collect_until, program};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, HeapGraph, Signal, signal};

const NEEDS: [Need; 2] = [Need::Proc, Need::SystemCallFilter];
/// So many objects that the walk takes longer than a signal needs to arrive.
const MANY: u32 = 3_000_000;
/// After so long without a reader the walk is given up; the rest is for a busy machine.
const GIVEN_UP: Duration = Duration::from_secs(20);

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("pause::at_gen0", &NEEDS, |clr, heap| known(clr, heap, 0));
    suite.each_heap("pause::at_gen2", &NEEDS, |clr, heap| known(clr, heap, 2));
    suite.once("pause::not_without_the_option", &NEEDS, refused);
    suite.each("pause::gcwatch_stops", &NEEDS, |clr| abandoned(clr, Signal::STOP));
    suite.each("pause::gcwatch_is_killed", &NEEDS, |clr| abandoned(clr, Signal::KILL));
}

/// A program that cannot be forked.
fn unforkable(clr: &Clr, heap: Heap, more: u32) -> Result<Target> {
    let mut program = program(clr, heap, more)?;
    program.ask("forbid", "forbidden answer=0", DEADLINE)?;
    Ok(program)
}

fn known(clr: &Clr, heap: Heap, generation: u32) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = unforkable(clr, heap, 20_000)?;
    let before = program.ask("check", "sum=", DEADLINE)?;
    let gcwatch = Gcwatch::on(clr).args("graph --pause-ok --within 2m -o").arg(&path);
    let mut gcwatch = gcwatch.arg(program.pid().to_string()).spawn()?;
    collect_until(&mut program, &mut gcwatch, &path, generation)?;
    let graph = HeapGraph::read(&path)?;
    check(&graph, &program)?;
    ensure!(graph.info["generation"] == generation, "{}", graph.info);
    ensure!(graph.info["copied_bytes"].is_null(), "{}", graph.info);
    ensure!(program.ask("check", "sum=", DEADLINE)? == before, "the program computes something else now");
    let said = gcwatch.stderr();
    ensure!(said.contains("stands still while its heap is walked") && said.contains("an estimate"), "{said}");
    program.ask("collect 2", "collected ", DEADLINE)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

fn refused(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = unforkable(clr, Heap::Workstation, 0)?;
    let pid = program.pid().to_string();
    let gcwatch = Gcwatch::on(clr).args("graph --induce -o").arg(&path).arg(pid);
    gcwatch.output()?.expect(22)?.says(&["cannot be copied", "seccomp", "--pause-ok"])?;
    ensure!(!path.exists(), "there is a file");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// gcwatch is gone, or reads no more, in the middle of the walk: the program goes on.
fn abandoned(clr: &Clr, by: Signal) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = unforkable(clr, Heap::Workstation, MANY)?;
    let before = program.ask("check", "sum=", DEADLINE)?;
    let gcwatch = Gcwatch::on(clr).args("graph --pause-ok --within 2m -o").arg(&path);
    let mut gcwatch = gcwatch.arg(program.pid().to_string()).spawn()?;
    // The first attempt to fork needs a collection, and the estimate comes before the walk.
    let began = Instant::now();
    while !gcwatch.stderr().contains("stands still while") {
        ensure!(began.elapsed() < DEADLINE, "no walk: {gcwatch:?}");
        program.ask("collect 0", "collected ", DEADLINE)?;
    }
    loop {
        ensure!(began.elapsed() < DEADLINE && !path.exists(), "the walk was too fast: {gcwatch:?}");
        program.send_line("collect 0")?;
        let sent = Instant::now();
        let mut walking = false;
        while sent.elapsed() < Duration::from_millis(300) && !walking {
            walking = walked_bytes(gcwatch.pid(), &dir) > 100_000;
        }
        if walking {
            break;
        }
        program.wait_line("collected ", DEADLINE)?;
    }
    signal(gcwatch.pid(), by)?;
    let stopped = Instant::now();
    program.wait_line("collected ", GIVEN_UP)?;
    let took = stopped.elapsed();
    ensure!(by != Signal::KILL || took < Duration::from_secs(5), "the program went on after {took:?}");
    ensure!(program.ask("check", "sum=", DEADLINE)? == before, "the program computes something else now");
    ensure!(!path.exists(), "the walk was not given up");
    if by == Signal::STOP {
        signal(gcwatch.pid(), Signal::CONT)?;
        let status = gcwatch.wait(DEADLINE)?;
        ensure!(status.code() == Some(11), "{status}: {gcwatch:?}");
        ensure!(gcwatch.stderr().contains("given up"), "{gcwatch:?}");
    }
    program.ask("collect 2", "collected ", DEADLINE)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// How much of the graph gcwatch has written. The file has no name yet.
fn walked_bytes(gcwatch: u32, dir: &tempfile::TempDir) -> u64 {
    let open = std::fs::read_dir(format!("/proc/{gcwatch}/fd")).into_iter().flatten().flatten();
    let within = open.filter(|fd| fd.path().read_link().is_ok_and(|path| path.starts_with(dir.path())));
    within.filter_map(|fd| std::fs::metadata(fd.path()).ok()).map(|file| file.len()).sum()
}
