//! Whoever dies or stumbles while a graph is taken, the program goes on as if nothing had happened.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use xtask::Clr;
use xtask::testkit::Target;

use super::taken::{program, program_with, take};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Footprint, Gcwatch, HeapGraph, Signal, signal, until};

/// So many objects that the copy is still sending when the test looks for it.
pub(crate) const MANY: u32 = 300_000;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("harm::gcwatch_is_killed", &[Need::Proc], |clr| ended_by(clr, Signal::KILL));
    suite.once("harm::gcwatch_is_interrupted", &[Need::Proc], |clr| ended_by(clr, Signal::INT));
    suite.each("harm::the_copy_is_killed", &[Need::Proc], copy_killed);
    suite.each("harm::the_copy_is_killed_within_a_message", &[Need::Proc], killed_within);
    suite.each("harm::the_program_is_killed", &[Need::Proc], program_killed);
    suite.once("harm::the_copy_takes_too_long", &[Need::Proc], deadline);
    suite.once("harm::the_copy_stays_stopped", &[Need::Proc], stays_stopped);
    suite.each("harm::children_of_the_program", &[Need::Proc], children);
    suite.each("harm::somebody_else_waits_for_the_copy", &[Need::Proc], others_wait);
    suite.each("harm::what_a_killed_gcwatch_left", &[Need::Proc], left_over);
    suite.each_heap("harm::many_graphs", &[Need::Proc], many);
    suite.once("harm::two_at_once", &[Need::Proc], two_at_once);
}

/// The copies of a process that exist now.
pub(super) fn copies(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let children = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<u32> = children
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect();
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    pids.into_iter().filter(|pid| name(pid).trim() == "gcwatch-graph").collect()
}

/// Starts gcwatch, collects, and stops the copy in its work.
pub(super) fn stopped_copy(
    clr: &Clr,
    program: &mut Target,
    path: &Path,
    more: &str,
) -> Result<(Target, u32)> {
    let pid = program.pid();
    let gcwatch = Gcwatch::on(clr).args("graph --within 30s").args(more).arg("-o").arg(path);
    let gcwatch = gcwatch.arg(pid.to_string()).spawn()?;
    let mut copy = None;
    until("a copy", DEADLINE, || {
        // A collection may come before the profiler does.
        program.ask("collect 0", "collected ", DEADLINE)?;
        for _ in 0..1000 {
            copy = copies(pid).first().copied();
            if copy.is_some() {
                break;
            }
        }
        ensure!(!path.exists(), "the copy was too fast");
        Ok(copy.is_some())
    })?;
    let copy = copy.context("no copy")?;
    signal(copy, Signal::STOP)?;
    Ok((gcwatch, copy))
}

/// A program whose copy is stopped in its work.
struct Stopped {
    dir: TempDir,
    /// The file that gcwatch is to write.
    path: PathBuf,
    program: Target,
    /// What the program computes.
    sum: String,
    /// What it had before.
    before: Footprint,
    gcwatch: Target,
    copy: u32,
}

fn stopped(clr: &Clr, more: &str) -> Result<Stopped> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = program(clr, Heap::Workstation, MANY)?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    let (gcwatch, copy) = stopped_copy(clr, &mut program, &path, more)?;
    Ok(Stopped { dir, path, program, sum, before, gcwatch, copy })
}

/// The program computes what it should, has no copy and nothing of ours, and ends well.
pub(crate) fn unharmed(program: &mut Target, before: &Footprint, sum: &str) -> Result<()> {
    let pid = program.pid();
    ensure!(program.ask("check", "sum=", DEADLINE)? == sum, "the program computes something else now");
    until("all copies to end", DEADLINE, || Ok(copies(pid).is_empty()))?;
    until("the profiler to leave", DEADLINE, || {
        let now = Footprint::of(pid)?;
        let ours = now.threads.keys().any(|name| name.starts_with("gcwatch"));
        let sockets = |of: &Footprint| of.descriptors.get("socket").copied();
        Ok(!ours && sockets(&now) <= sockets(before))
    })?;
    program.ask("collect 2", "collected ", DEADLINE)?;
    program.ask("check", "sum=", DEADLINE)?;
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}

/// Whether a directory is one that gcwatch made for the lease's socket.
fn is_of_lease(name: &str) -> bool {
    name.len() == 9 && name.starts_with("gcw") && name.chars().all(|c| c.is_ascii_alphanumeric())
}

fn ended_by(clr: &Clr, how: Signal) -> Result<()> {
    let (dir, temp) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let path = dir.path().join("a.gcgraph");
    let directory = temp.path().to_str().context("no text")?;
    let mut program = program_with(clr, Heap::Workstation, MANY, &[("TMPDIR", directory)])?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    let (mut gcwatch, copy) = stopped_copy(clr, &mut program, &path, "")?;
    signal(gcwatch.pid(), how)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(!status.success(), "{status}: {gcwatch:?}");
    let left: Vec<_> = fs::read_dir(dir.path())?.collect();
    ensure!(left.is_empty(), "{left:?}");
    let temporary = fs::read_dir(temp.path())?.flatten().map(|entry| entry.file_name());
    let left: Vec<_> = temporary.filter(|name| is_of_lease(&name.to_string_lossy())).collect();
    ensure!(left.is_empty(), "{left:?}");
    if how == Signal::INT {
        ensure!(status.code() == Some(130), "{status}: {gcwatch:?}");
        let said = gcwatch.stderr();
        let last = said.lines().last().unwrap_or_default();
        ensure!(last.contains("none was taken") && last.contains("nothing is left"), "{said}");
    }
    // It ends by itself when nobody reads any more. A stopped one is killed by the profiler, which needs no help of it.
    until("the copy to end", DEADLINE, || Ok(!copies(program.pid()).contains(&copy)))?;
    unharmed(&mut program, &before, &sum)
}

fn copy_killed(clr: &Clr) -> Result<()> {
    let Stopped { path, mut program, sum, before, mut gcwatch, copy, dir: _dir } = stopped(clr, "")?;
    signal(copy, Signal::KILL)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(11) && !path.exists(), "{status}: {gcwatch:?}");
    let said = gcwatch.stderr();
    ensure!(said.contains("was killed") && said.contains("the program itself goes on"), "{said}");
    unharmed(&mut program, &before, &sum)
}

/// gcwatch does not read, so the copy waits within a message, and is killed there.
fn killed_within(clr: &Clr) -> Result<()> {
    let Stopped { path, mut program, sum, before, mut gcwatch, copy, dir: _dir } = stopped(clr, "")?;
    signal(gcwatch.pid(), Signal::STOP)?;
    signal(copy, Signal::CONT)?;
    // Twice, because it may wait for something else in between.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(20));
        until("the copy to wait", DEADLINE, || {
            let stat = fs::read_to_string(format!("/proc/{copy}/stat")).context("the copy has ended")?;
            Ok(stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S")))
        })?;
    }
    signal(copy, Signal::KILL)?;
    signal(gcwatch.pid(), Signal::CONT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(11) && !path.exists(), "{status}: {gcwatch:?}");
    ensure!(gcwatch.stderr().contains("was killed"), "{gcwatch:?}");
    unharmed(&mut program, &before, &sum)
}

fn program_killed(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("a.gcgraph");
    let mut program = program(clr, Heap::Workstation, MANY)?;
    let (mut gcwatch, copy) = stopped_copy(clr, &mut program, &path, "")?;
    signal(program.pid(), Signal::KILL)?;
    signal(copy, Signal::CONT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(20) && !path.exists(), "{status}: {gcwatch:?}");
    let there =
        || fs::read_to_string(format!("/proc/{copy}/comm")).is_ok_and(|name| name.starts_with("gcwatch"));
    until("the copy to end", DEADLINE, || Ok(!there()))
}

/// A copy that does not finish ends itself.
fn deadline(clr: &Clr) -> Result<()> {
    let Stopped { path: _, mut program, sum, before, mut gcwatch, copy, dir: _dir } =
        stopped(clr, "--deadline 1s")?;
    std::thread::sleep(Duration::from_millis(1200));
    signal(copy, Signal::CONT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(11), "{status}: {gcwatch:?}");
    ensure!(gcwatch.stderr().contains("--deadline"), "{gcwatch:?}");
    unharmed(&mut program, &before, &sum)
}

/// A stopped copy cannot end itself: gcwatch gives up, and the profiler ends it.
fn stays_stopped(clr: &Clr) -> Result<()> {
    let Stopped { path: _, mut program, sum, before, mut gcwatch, copy: _, dir: _dir } =
        stopped(clr, "--deadline 1s")?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(11), "{status}: {gcwatch:?}");
    // Also if it was stopped before its first message.
    let said = gcwatch.stderr();
    ensure!(said.contains("--deadline") && said.contains("is stopped"), "{said}");
    unharmed(&mut program, &before, &sum)
}

/// The program's own children are its own, and it does not see ours.
fn children(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut program = program(clr, Heap::Workstation, 20_000)?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    for nth in 0..3 {
        let path = dir.path().join(format!("{nth}.gcgraph"));
        let mut gcwatch =
            Gcwatch::on(clr).args("graph --induce -o").arg(&path).arg(program.pid().to_string()).spawn()?;
        program.ask("processes 20", "processes ended=20", DEADLINE)?;
        ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
        HeapGraph::read(&path)?;
        // No zombie is left for a program that waits for any child.
        program.ask("any", "any found=0", DEADLINE)?;
    }
    unharmed(&mut program, &before, &sum)
}

/// The program waits for any child, or for none, so the profiler does not learn how the copy has ended.
fn others_wait(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for (command, answer) in [("reap", "reaping"), ("ignore", "ignored")] {
        let mut program = program(clr, Heap::Workstation, 20_000)?;
        let sum = program.ask("check", "sum=", DEADLINE)?;
        program.ask(command, answer, DEADLINE)?;
        let before = Footprint::of(program.pid())?;
        for nth in 0..5 {
            let path = dir.path().join(format!("{command}-{nth}.gcgraph"));
            let gcwatch = Gcwatch::on(clr).args("graph --induce -o").arg(&path);
            gcwatch.arg(program.pid().to_string()).output()?.expect(0)?;
            let orders = HeapGraph::read(&path)?.objects_of("Known.Order").len();
            ensure!(orders == 1000, "{command}: {orders} orders");
        }
        unharmed(&mut program, &before, &sum)?;
    }
    Ok(())
}

/// What is in a directory that gcwatch makes for the lease's socket.
fn leases(temp: &Path) -> Result<Vec<PathBuf>> {
    let all = fs::read_dir(temp)?.flatten();
    Ok(all
        .filter(|entry| is_of_lease(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect())
}

/// Makes a directory older than any that a gcwatch is just making.
fn make_old(dir: &Path) -> Result<()> {
    Ok(fs::File::open(dir)?.set_modified(SystemTime::now() - Duration::from_secs(120))?)
}

/// A gcwatch that is killed before the profiler has connected leaves its socket. A later one removes that, but not the
/// socket of a gcwatch that is there.
fn left_over(clr: &Clr) -> Result<()> {
    let temp = tempfile::tempdir()?;
    let directory = temp.path().to_str().context("no text")?;
    let mut program = program_with(clr, Heap::Workstation, 1000, &[("TMPDIR", directory)])?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    let pid = program.pid().to_string();
    until("a directory to be left", DEADLINE, || {
        let mut gcwatch = Gcwatch::on(clr).args("graph --induce").arg(&pid).spawn()?;
        until("a directory, or the end", DEADLINE, || {
            Ok(!leases(temp.path())?.is_empty() || gcwatch.wait(Duration::ZERO).is_ok())
        })?;
        // It may have ended.
        let _killed = signal(gcwatch.pid(), Signal::KILL);
        gcwatch.wait(DEADLINE)?;
        Ok(!leases(temp.path())?.is_empty())
    })?;
    let [left] = &leases(temp.path())?[..] else { anyhow::bail!("{:?}", leases(temp.path())) };
    ensure!(left.join("lease").exists(), "{left:?}");

    let watching = Gcwatch::on(clr).args("attach --sample 1/1h --duration 10m").arg(&pid).spawn()?;
    until("a socket for the windows", DEADLINE, || Ok(leases(temp.path())?.len() == 2))?;
    let used = leases(temp.path())?.into_iter().find(|dir| dir != left).context("no other directory")?;
    make_old(&used)?;
    // Whether it gets a graph, or the watch has its window open, it has made a directory.
    let again = || Gcwatch::on(clr).args("graph --induce").arg(&pid).output();
    again()?;
    ensure!(left.exists(), "it may be of a gcwatch that has only begun");
    make_old(left)?;
    again()?;
    ensure!(!left.exists(), "{left:?} is still there");
    ensure!(leases(temp.path())? == [used.clone()] && used.join("lease").exists(), "{used:?} was in use");
    signal(watching.pid(), Signal::INT)?;
    until("the watch to end", DEADLINE, || Ok(!used.exists()))?;
    unharmed(&mut program, &before, &sum)
}

/// Nothing is left behind, however many graphs are taken.
fn many(clr: &Clr, heap: Heap) -> Result<()> {
    const GRAPHS: usize = 10;
    let dir = tempfile::tempdir()?;
    let mut program = program(clr, heap, 20_000)?;
    let sum = program.ask("check", "sum=", DEADLINE)?;
    let before = Footprint::of(program.pid())?;
    for nth in 0..GRAPHS {
        let path = dir.path().join(format!("{nth}.gcgraph"));
        take(clr, &mut program, &path, 0)?;
        let graph = HeapGraph::read(&path)?;
        ensure!(graph.objects_of("Known.Order").len() == 1000, "{nth}: {:?}", graph.end);
    }
    unharmed(&mut program, &before, &sum)
}

/// The second one is refused, and the first one is not disturbed.
fn two_at_once(clr: &Clr) -> Result<()> {
    let Stopped { path, mut program, sum, before, mut gcwatch, copy, dir: _dir } = stopped(clr, "")?;
    let second = Gcwatch::on(clr).args("graph --induce").arg(program.pid().to_string()).output()?;
    second.expect(23)?.says(&["another gcwatch"])?;
    signal(copy, Signal::CONT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    ensure!(HeapGraph::read(&path)?.objects_of("Known.Filler").len() == MANY as usize);
    unharmed(&mut program, &before, &sum)
}
