//! Roots against a program that knows its own: handles, finalizable objects and threads in known numbers make
//! exactly the difference between two collections.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Target;

use super::suite::{Heap, Suite};
use super::support::{DEADLINE, Document, Gcwatch, Guard, Json, brief, fact, number, start_attach};

const MANY: u64 = 120;
const THREADS: u64 = 8;

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("roots::known_differences_in_run", &[], in_run);
    suite.each_heap("roots::known_differences_in_attach", &[], in_attach);
}

/// The program, spoken to through `gcwatch run` or directly.
struct Program {
    talk: Target,
    /// `(what was done before it, number of the collection)`, in order.
    collected: Vec<(&'static str, u64)>,
}

impl Program {
    fn ask(&mut self, line: &str, answer: &str) -> Result<String> {
        self.talk.ask(line, answer, DEADLINE)
    }

    fn collect(&mut self, label: &'static str, generation: &str) -> Result<()> {
        let index = number(&self.ask(&format!("collect {generation}"), "collected ")?, "index")?;
        self.collected.push((label, index));
        Ok(())
    }

    /// All the changes, a collection after each.
    fn act(&mut self) -> Result<()> {
        // Watching starts things in the runtime too: they are over when their finalizers have run.
        for turn in 0.. {
            ensure!(turn < 20, "the program's finalizers never come to rest");
            self.ask("release", "released ")?;
            if number(&self.ask("collect 2", "collected ")?, "finalization_pending")? == 0 {
                break;
            }
        }
        self.collect("nothing", "2")?;
        for kind in ["pinned", "weak", "weaklong", "strong"] {
            self.ask(&format!("handles {kind} {MANY}"), "handles ")?;
            self.collect(kind, "2")?;
        }
        // All roots are reported whatever the generation.
        self.collect("gen0", "0")?;
        self.collect("compacting", "2 compacting")?;
        self.ask("free", "freed ")?;
        self.collect("freed", "2")?;
        self.ask("finalizable 0", "finalizable ")?;
        self.collect("finalizer held", "2")?;
        self.ask(&format!("finalizable {MANY}"), "finalizable ")?;
        self.collect("finalizable", "2")?;
        let released = self.ask("release", "released ")?;
        ensure!(number(&released, "finalized")? >= MANY, "{released}");
        self.collect("released", "2")?;
        self.ask(&format!("threads {THREADS}"), "threads ")?;
        self.collect("threads", "2")?;
        self.ask("join", "joined ")?;
        self.collect("joined", "2")
    }
}

fn in_run(clr: &Clr, heap: Heap) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let talk = Gcwatch::on(clr)
        .envs(heap.environment())
        .args("run --format json -o")
        .arg(&path)
        .app(clr, "roots", "")?
        .spawn()?;
    let mut program = Program { talk, collected: Vec::new() };
    let ready = program.talk.wait_line("ready ", DEADLINE)?;
    let _guard = Guard(fact(&ready, "pid")?.parse()?);
    program.act()?;
    program.talk.send_line("exit")?;
    let status = program.talk.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {:?}", program.talk);
    check(path, &program)
}

fn in_attach(clr: &Clr, heap: Heap) -> Result<()> {
    let talk = Target::app(clr, "roots", &[], &heap.environment())?;
    let mut program = Program { talk, collected: Vec::new() };
    program.talk.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch = start_attach(clr, program.talk.pid(), "", &path)?;
    program.act()?;
    program.talk.send_line("exit")?;
    let status = program.talk.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {:?}", program.talk);
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
    check(path, &program)
}

/// Roots of one kind with exactly these flags.
fn count(gc: &Value, kind: &str, flags: &[&str]) -> Result<u64> {
    let mut found = 0;
    for row in gc.list("/roots/by_kind_and_flag")? {
        if row["kind"] == kind && row["flags"] == serde_json::json!(flags) {
            found += row.uint("/count")?;
        }
    }
    Ok(found)
}

const PINNED: (&str, &[&str]) = ("handle", &["pinning"]);
const WEAK: (&str, &[&str]) = ("handle", &["weak"]);
const STRONG: (&str, &[&str]) = ("handle", &[]);
const FINALIZER: (&str, &[&str]) = ("finalizer", &[]);

fn check(path: PathBuf, program: &Program) -> Result<()> {
    let document = Document::read(&path)?;
    document.nothing_lost()?;
    let gc = |label: &str| {
        let found = program.collected.iter().find(|(of, _)| *of == label);
        let Some((_, index)) = found else { bail!("no collection {label:?}") };
        let gc = document.gc(*index)?;
        ensure!(gc["complete"] == true, "GC {index} ({label}): {}", brief(gc));
        ensure!(
            gc["moved"].is_object() && gc["surviving"].is_object(),
            "GC {index} ({label}): {}",
            brief(gc)
        );
        Ok(gc)
    };
    // Between neighbouring collections one number changes, by as much as the program did, and no other.
    for (before, after, changed) in [
        ("nothing", "pinned", PINNED),
        ("pinned", "weak", WEAK),
        ("weak", "weaklong", WEAK),
        ("weaklong", "strong", STRONG),
        ("finalizer held", "finalizable", FINALIZER),
    ] {
        let (old, new) = (gc(before)?, gc(after)?);
        for (kind, flags) in [PINNED, WEAK, STRONG, FINALIZER] {
            let expected = count(old, kind, flags)? + if (kind, flags) == changed { MANY } else { 0 };
            let got = count(new, kind, flags)?;
            ensure!(
                got == expected,
                "{before} -> {after}: {got} roots of {kind} {flags:?} instead of {expected}\n{}\n{}",
                old["roots"],
                new["roots"]
            );
        }
    }
    // Every collection shows all of them, young or compacting.
    for label in ["gen0", "compacting"] {
        for (kind, flags) in [PINNED, WEAK, STRONG] {
            let (then, now) = (count(gc("strong")?, kind, flags)?, count(gc(label)?, kind, flags)?);
            ensure!(
                then == now,
                "{label}: {now} roots of {kind} {flags:?}, {then} before: {}",
                gc(label)?["roots"]
            );
        }
    }
    ensure!(gc("gen0")?["generation"] == 0 && gc("compacting")?["generation"] == 2, "generations");
    ensure!(gc("compacting")?["compacting"] == true, "{}", gc("compacting")?["compacting"]);
    let (held, freed) = (count(gc("strong")?, PINNED.0, PINNED.1)?, count(gc("freed")?, PINNED.0, PINNED.1)?);
    ensure!(held == freed + MANY, "{held} pinning handles, {freed} after they were freed");
    // Threads that are no more hold nothing, those that are hold at least their own object each.
    let stack = |label| gc(label)?.uint("/roots/by_kind/stack");
    let (without, with, after) = (stack("released")?, stack("threads")?, stack("joined")?);
    ensure!(with >= without + THREADS, "{without} stack roots, {with} with {THREADS} more threads");
    ensure!(with >= after + THREADS, "{with} stack roots, {after} after {THREADS} threads ended");
    Ok(())
}
