//! The live line of a terminal: what the runtime's counters say of a program that does not collect.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Screen, Signal, number, signal, start_attach, until};

/// What the program holds.
const HELD: &str = "bytes=5000000";
/// What a quiet program allocates, at most, while it says how it is.
const ANSWER_BYTES: u64 = 4096;

pub(crate) fn register(suite: &mut Suite) {
    suite.each("live_line::before_the_first_collection", &[Need::Proc], before_the_first_collection);
    suite.each("live_line::counters_only_for_a_live_line", &[Need::Proc], only_for_a_live_line);
}

/// What the program says of itself.
struct Own {
    heap: u64,
    allocated: u64,
    gcs: u64,
}

fn ask(program: &mut Target) -> Result<Own> {
    let said = program.ask("?", "now ", DEADLINE)?;
    Ok(Own {
        heap: number(&said, "heap")?,
        allocated: number(&said, "allocated")?,
        gcs: number(&said, "gcs")?,
    })
}

/// The size of the heap in a live line, bytes.
fn heap(line: &str) -> Option<u64> {
    line.split(" · ").find_map(|part| part.strip_prefix("heap ")?.strip_suffix(" B")?.parse().ok())
}

fn watch(clr: &Clr, pid: u32) -> Result<Screen> {
    let gcwatch = Gcwatch::on(clr).args("attach --level basic --units bytes").arg(pid.to_string());
    Screen::of(gcwatch, 120, 24)
}

/// The size is what the program itself says, between what it said before and after.
fn before_the_first_collection(clr: &Clr) -> Result<()> {
    let mut program = Target::app(clr, "idle", &[HELD], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let before = ask(&mut program)?;
    let mut screen = watch(clr, program.pid())?;
    let shown = screen.wait("the size of the heap", heap)?;
    screen.wait("the rate", |line| line.contains("alloc < 32768 B/s").then_some(()))?;
    let after = ask(&mut program)?;
    ensure!(after.gcs == 0, "the test needs a program that does not collect");
    ensure!((before.heap..=after.heap).contains(&shown), "{} <= {shown} <= {}", before.heap, after.heap);
    signal(screen.pid(), Signal::INT)?;
    ensure!(screen.ended()?.success(), "{}", screen.text());
    let text = screen.text();
    let last = text.lines().rev().find_map(|line| line.strip_prefix("heap ")?.split(' ').next());
    let last: u64 = last.context("no size in the summary")?.parse()?;
    ensure!((shown..=after.heap + (1 << 20)).contains(&last), "{last}:\n{text}");
    Ok(())
}

/// The counters make a program allocate. Without a live line it allocates nothing.
fn only_for_a_live_line(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut program = Target::app(clr, "idle", &[HELD], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let grows = |program: &mut Target| -> Result<u64> {
        let before = ask(program)?.allocated;
        thread::sleep(Duration::from_millis(2500));
        Ok(ask(program)?.allocated - before)
    };
    let document = start_attach(clr, program.pid(), "--level basic", &dir.path().join("out.json"))?;
    // What the session itself allocates, once.
    until("the session's own allocations", DEADLINE, || Ok(grows(&mut program)? <= ANSWER_BYTES))?;
    ensure!(grows(&mut program)? <= ANSWER_BYTES, "a document needs no counters");
    drop(document);
    let screen = watch(clr, program.pid())?;
    screen.wait("the size of the heap", heap)?;
    let own = grows(&mut program)?;
    ensure!(own > ANSWER_BYTES, "the test does not see what counters cost: {own} bytes");
    // Two or three times 9 kB, and once what starting them costs, 35 to 85 kB.
    ensure!(own < 300_000, "the counters cost {own} bytes");
    Ok(())
}
