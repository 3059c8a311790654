//! Nothing of the graphs stays in a program that never stops working.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{DEADLINE, Footprint, Gcwatch, HeapGraph, fact, until};

/// How many graphs are taken, unless `GCWATCH_TEST_GRAPHS` says it.
const GRAPHS: usize = 20;
/// Threads of the runtime that come and go with its work.
const COME_AND_GO: [&str; 4] = [".NET TP Worker", ".NET TP Gate", ".NET BGC", ".NET Tiered Com"];
/// Where the runtime has the code that it compiles.
const CODE: &str = "doublemapper";
/// A heap that is collected all the time has a few ranges more or less.
const RANGES: usize = 30;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("endurance::of_a_busy_program", &[Need::Proc], busy);
}

/// What a process has besides its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Possessions {
    descriptors: BTreeMap<String, usize>,
    threads: BTreeMap<String, usize>,
    /// The files that are mapped, and how often.
    mapped: BTreeMap<String, usize>,
    children: Vec<String>,
    temporary: BTreeSet<OsString>,
}

impl Possessions {
    fn of(pid: u32, temporary: &Path) -> Result<Possessions> {
        let Footprint { mut threads, descriptors } = Footprint::of(pid)?;
        threads.retain(|name, _| !COME_AND_GO.contains(&name.as_str()));
        let mut mapped = BTreeMap::new();
        for line in fs::read_to_string(format!("/proc/{pid}/maps"))?.lines() {
            if let Some(at) = line.find('/').filter(|_| !line.contains(CODE)) {
                *mapped.entry(line[at..].to_owned()).or_default() += 1;
            }
        }
        let mut children = Vec::new();
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            // The thread may have ended meanwhile. Zombies are children, too.
            let list = fs::read_to_string(task?.path().join("children")).unwrap_or_default();
            children.extend(list.split_whitespace().map(str::to_owned));
        }
        let temporary = fs::read_dir(temporary)?.map(|entry| Ok(entry?.file_name()));
        let temporary = temporary.collect::<Result<_>>()?;
        Ok(Possessions { descriptors, threads, mapped, children, temporary })
    }
}

/// Ranges of memory that belong to no file.
fn ranges(pid: u32) -> Result<usize> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    Ok(maps.lines().filter(|line| !line.contains('/')).count())
}

fn busy(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let temporary = dir.path().join("tmp");
    fs::create_dir(&temporary)?;
    let mut environment = Heap::Workstation.environment().to_vec();
    environment.push(("TMPDIR", temporary.to_str().context("a path in UTF-8")?));
    let mut program = Target::app(clr, "churn", &["interactive"], &environment)?;
    program.wait_line("ready ", DEADLINE)?;
    program.send_line("go")?;
    let pid = program.pid();
    let graphs = std::env::var("GCWATCH_TEST_GRAPHS").ok().and_then(|count| count.parse().ok());
    let path = dir.path().join("a.gcgraph");
    let take = || -> Result<()> {
        let gcwatch = Gcwatch::on(clr).envs([("TMPDIR", environment[2].1)]).args("graph --within 1m -o");
        gcwatch.arg(&path).arg(pid.to_string()).output()?.expect(0)?;
        let end = HeapGraph::read(&path)?.end;
        ensure!(end.objects > 10_000 && end.lost_roots == 0, "{end:?}");
        Ok(())
    };
    // What the runtime and the profiler set up once, and keep, is there after two.
    take()?;
    take()?;
    let mut before = Possessions::of(pid, &temporary)?;
    until("the profiler to leave", DEADLINE / 4, || {
        before = Possessions::of(pid, &temporary)?;
        Ok(!before.threads.keys().any(|name| name.starts_with("gcwatch")))
    })?;
    let ranges_before = ranges(pid)?;
    for _ in 0..graphs.unwrap_or(GRAPHS) {
        take()?;
    }
    let mut after = before.clone();
    let same = until("the program to be as before", DEADLINE / 4, || {
        after = Possessions::of(pid, &temporary)?;
        Ok(after == before)
    });
    same.with_context(|| format!("before: {before:?}\nafter: {after:?}"))?;
    ensure!(after.children.is_empty(), "{:?}", after.children);
    let ranges_after = ranges(pid)?;
    ensure!(ranges_after <= ranges_before + RANGES, "{ranges_before} ranges, then {ranges_after}");

    program.send_line("stop")?;
    let done = program.wait_line("done ", DEADLINE)?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    // The same work without any graph has the same result.
    let work = format!("work={}", fact(&done, "work")?);
    let mut alone = Target::app(clr, "churn", &["batch", &work], &environment)?;
    let expected = alone.wait_line("done ", DEADLINE)?;
    ensure!(fact(&done, "checksum")? == fact(&expected, "checksum")?, "{done}, but alone {expected}");
    Ok(())
}
