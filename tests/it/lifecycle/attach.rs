//! `gcwatch attach`: watches a running process, which works as without gcwatch.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::testkit::Target;
use xtask::{Clr, apps};

use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, Gcwatch, Json, Signal, attach_json, brief, diagnostics_socket, lines, number,
    run_to_end, signal,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("attach::document_and_checksum", &[], document);
    suite.once("attach::by_process_id_option", &[], |clr| {
        by(clr, |pid| vec!["-p".to_owned(), pid.to_string()])
    });
    suite.once("attach::by_diagnostic_port", &[Need::Proc], by_port);
    suite.once("attach::by_name", &[], by_name_of_program);
    suite.once("attach::by_name_is_exact_or_refused", &[], by_name);
    suite.once("attach::ndjson_is_live", &[], ndjson);
}

/// A program that collects until the test stops it.
pub(crate) struct Churn {
    pub(crate) target: Target,
}

impl Churn {
    /// Starts the program and its work.
    pub(crate) fn start(clr: &Clr, heap: Heap, arguments: &str) -> Result<Churn> {
        let mut all = vec!["interactive"];
        all.extend(arguments.split_whitespace());
        let mut target = Target::app(clr, "churn", &all, &heap.environment())?;
        target.wait_line("ready ", DEADLINE)?;
        target.send_line("go")?;
        Ok(Churn { target })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.target.pid()
    }

    /// Stops the program: it must succeed, with the checksum that the same amount of work gives unwatched.
    pub(crate) fn stop(mut self, clr: &Clr, arguments: &str) -> Result<()> {
        let said = self.target.ask("stop", "done ", DEADLINE)?;
        let status = self.target.wait(DEADLINE)?;
        ensure!(status.success(), "{status}: {:?}", self.target);
        let mut command = clr.command(&apps::build("churn")?);
        command.args(arguments.split_whitespace()).arg(format!("work={}", number(&said, "work")?));
        let unwatched = run_to_end(command, Vec::new())?.expect(0)?;
        let expected = crate::it::support::fact(unwatched.out()?, "checksum")?;
        ensure!(
            crate::it::support::fact(&said, "checksum")? == expected,
            "watched: {said}, unwatched: {expected}"
        );
        Ok(())
    }
}

/// Checks what holds for every attach: each collection has one record, no number is missing, and only collections that
/// ran when the watch began or ended are cut off.
pub(crate) fn check_records(document: &Document) -> Result<()> {
    let mut numbers = Vec::new();
    for gc in document.gcs()? {
        let number = gc["number"].as_u64();
        // Since this background collection began, others may have begun and ended.
        numbers.extend(number.filter(|_| gc["incomplete"] != "began-before"));
        // A background collection ends after the ones that start while it runs.
        let neighbours = |older: bool| -> Result<bool> {
            let mut complete = document.complete()?.into_iter().filter_map(|other| other["number"].as_u64());
            Ok(number.is_none_or(|own| {
                complete.all(|other| if older { own < other + 2 } else { own + 2 > other })
            }))
        };
        match &gc["incomplete"] {
            Value::Null => {}
            began if began == "began-before" => {
                ensure!(neighbours(true)?, "it began in the watch: {}", brief(gc))
            }
            ended if ended == "ended-after" => {
                ensure!(neighbours(false)?, "it ended in the watch: {}", brief(gc))
            }
            // The event mask changes when the profiler comes or goes, which may happen during a collection.
            half if half == "half-armed" => {
                ensure!(at_edge(document, number)?, "half-armed in between: {}", brief(gc))
            }
            other => anyhow::bail!("a record is {other}: {}", brief(gc)),
        }
    }
    numbers.sort_unstable();
    let gap = numbers.windows(2).find(|pair| pair[1] != pair[0] + 1);
    ensure!(gap.is_none(), "a gap between GC numbers {gap:?}");
    Ok(())
}

/// Whether it is older or newer than all collections with roots.
fn at_edge(document: &Document, number: Option<u64>) -> Result<bool> {
    let seen = document.complete()?.into_iter().filter(|gc| gc["level"] == "roots");
    let seen: Vec<Option<u64>> = seen.map(|gc| gc["number"].as_u64()).collect();
    Ok(seen.iter().all(|other| *other > number) || seen.iter().all(|other| *other < number))
}

/// Returns the complete collections with roots of an attach at `roots`: all between the profiler's arrival and its
/// departure. A few before and after them have no roots, and say so.
pub(crate) fn check_attached(document: &Document) -> Result<Vec<&Value>> {
    check_records(document)?;
    let mut numbered = document.complete()?;
    numbered.sort_by_key(|gc| gc["number"].as_u64());
    let levels: Vec<bool> = numbered.iter().map(|gc| gc["level"] == "roots").collect();
    let changes = levels.windows(2).filter(|pair| pair[0] != pair[1]).count();
    ensure!(changes <= 2, "the profiler came and went more than once: {levels:?}");
    let seen: Vec<&Value> = numbered.into_iter().filter(|gc| gc["level"] == "roots").collect();
    ensure!(!seen.is_empty(), "no collection was seen with roots");
    for gc in &seen {
        check_roots(gc).with_context(|| format!("GC {}: {}", gc["number"], brief(gc)))?;
    }
    Ok(seen)
}

/// Checks a complete blocking collection at `roots`.
fn check_roots(gc: &Value) -> Result<()> {
    // A background collection that ran when the profiler came continues to its end.
    ensure!(gc["kind"] == "blocking" || gc["kind"] == "foreground", "kind {}", gc["kind"]);
    ensure!(gc.uint("/roots/total")? > 0 && gc.uint("/roots/by_kind/handle")? > 0, "no roots");
    ensure!(gc["moved"].is_object() && gc["surviving"].is_object(), "no blocks");
    ensure!(gc["cost"]["armed"] == true, "not armed");
    Ok(())
}

fn document(clr: &Clr, heap: Heap) -> Result<()> {
    const WORK: &str = "live=10000 seed=5";
    let churn = Churn::start(clr, heap, WORK)?;
    let document = attach_json(clr, churn.pid(), "--level roots --gcs 100")?;
    document.nothing_lost()?;
    let seen = check_attached(&document)?;
    ensure!(document.complete()?.len() >= 100, "{} complete collections", document.complete()?.len());
    let mut moved = 0;
    for gc in seen {
        moved += gc.uint("/moved/blocks")?;
    }
    ensure!(moved > 0, "no collection moved anything");
    let watch = &document.0["watch"];
    ensure!(
        watch["level"] == "roots" && watch["level_reason"].is_null() && watch["arming"] == "late",
        "{watch}"
    );
    ensure!(watch["background_gc"] == "off-while-watched", "{watch}");
    let exit = &document.0["exit"];
    ensure!(exit["gcwatch"] == 0 && exit["child"].is_null() && exit["reason"] == "gcs", "{exit}");
    let target = &document.0["target"];
    ensure!(
        target["pid"] == churn.pid() && target["runtime"]["version"] == clr.version.to_string(),
        "{target}"
    );
    churn.stop(clr, WORK)
}

/// Attaches to a program with these arguments.
fn by(clr: &Clr, words: fn(u32) -> Vec<String>) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, "")?;
    let mut gcwatch = Gcwatch::on(clr).args("attach --gcs 2 --format json");
    for word in words(churn.pid()) {
        gcwatch = gcwatch.arg(word);
    }
    let ended = gcwatch.output()?.expect(0)?;
    let document = Document::parse(&ended.stdout)?;
    ensure!(document.0["target"]["pid"] == churn.pid(), "{}", document.0["target"]);
    Ok(())
}

fn by_port(clr: &Clr) -> Result<()> {
    by(clr, |pid| {
        let path = diagnostics_socket(pid).ok().map(|path| path.to_string_lossy().into_owned());
        vec!["--diagnostic-port".to_owned(), path.unwrap_or_else(|| "no socket".to_owned())]
    })
}

/// A name of no process, or of several: gcwatch refuses, and never picks one.
fn by_name(clr: &Clr) -> Result<()> {
    let none = Gcwatch::on(clr).args("attach --gcs 1 --name no-such-program").output()?.expect(20)?;
    none.says(&["no-such-program"])?;
    // A unique name, so that other tests' processes do not match.
    let dir = tempfile::tempdir()?;
    let unique = format!("churn{}", std::process::id());
    let build = apps::build("churn")?;
    let dll = dir.path().join(format!("{unique}.dll"));
    std::fs::copy(&build, &dll)?;
    let settings = "runtimeconfig.json";
    std::fs::copy(build.with_extension(settings), dll.with_extension(settings))?;
    let start = || -> Result<Target> {
        let mut command = clr.command(&dll);
        command.arg("interactive").envs(Heap::Workstation.environment());
        let mut target = Target::spawn(command)?;
        target.wait_line("ready ", DEADLINE)?;
        target.send_line("go")?;
        Ok(target)
    };
    let one = start()?;
    let attach = || Gcwatch::on(clr).args("attach --gcs 1 --format json --name").arg(&unique).output();
    let document = Document::parse(&attach()?.expect(0)?.stdout)?;
    ensure!(document.0["target"]["pid"] == one.pid(), "{}", document.0["target"]);
    let other = start()?;
    attach()?.expect(20)?.says(&[&one.pid().to_string(), &other.pid().to_string()])?;
    Ok(())
}

/// Each line comes when its collection is over, not at the end of the watch.
fn ndjson(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let mut gcwatch =
        Gcwatch::on(clr).args("attach --format ndjson -p").arg(target.pid().to_string()).spawn()?;
    gcwatch.wait_line(r#"{"type":"start""#, DEADLINE)?;
    let index = number(&target.ask("collect 2", "collected ", DEADLINE)?, "index")?;
    // The program does nothing more: the line has to come without further events.
    let line = gcwatch.wait_line(r#"{"type":"gc""#, DEADLINE)?;
    let line: Value = serde_json::from_str(&format!(r#"{{"type":"gc"{line}"#))?;
    ensure!(line["number"] == index && line["roots"]["total"].is_u64(), "GC {index}: {}", brief(&line));
    target.send_line("exit")?;
    ensure!(target.wait(DEADLINE)?.success(), "{target:?}");
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
    let all = lines(gcwatch.lines().join("\n").as_bytes())?;
    let end = all.last().context("no lines")?;
    ensure!(end["exit"]["reason"] == "target-ended" && end["summary"]["gcs"] == 1, "{end}");
    Ok(())
}

/// An argument that is no process id is a name; if two processes have it, the message lists both command lines.
fn by_name_of_program(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let built = apps::build("roots")?;
    let dll = dir.path().join("by-name.dll");
    for extension in ["dll", "runtimeconfig.json"] {
        std::fs::copy(built.with_extension(extension), dll.with_extension(extension))?;
    }
    let start = |argument: &str| -> Result<Target> {
        let mut command = clr.command(&dll);
        command.arg(argument);
        let mut target = Target::spawn(command)?;
        target.wait_line("ready ", DEADLINE)?;
        Ok(target)
    };
    let attach = |name: &str, code: i32| {
        Gcwatch::on(clr).args("attach --level basic --duration 300ms").arg(name).output()?.expect(code)
    };
    let first = start("the-first")?;
    let ended = attach("by-name.dll", 0)?;
    ensure!(ended.out()?.contains(&first.pid().to_string()), "{}", ended.out()?);
    let second = start("the-second")?;
    let pids = [first.pid(), second.pid()].map(|pid| pid.to_string());
    attach("by-name", 20)?.says(&[&pids[0], &pids[1], "the-first", "the-second", "process id"])?;
    drop(second);
    signal(first.pid(), Signal::STOP)?;
    let stopped = attach("by-name", 20);
    signal(first.pid(), Signal::CONT)?;
    stopped?.says(&[&first.pid().to_string(), "it is stopped", "kill -CONT", "do:"])?;
    attach("nobody.dll", 20)?.says(&["no .NET process is called nobody.dll"])?;
    Ok(())
}
