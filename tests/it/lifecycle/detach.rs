//! After a watch the target is as before: no thread, descriptor or second library remains, and background GC is back.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::attach::{Churn, check_attached, check_records};
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, Footprint, Json, Signal, attach_json, program, signal, start_attach, until,
};

const WORK: &str = "live=10000 seed=7";
/// How long the profiler and the runtime's threads for event streams may take to end after gcwatch; on an idle machine
/// it is seconds.
pub(crate) const LEAVING: Duration = DEADLINE;

pub(crate) fn register(suite: &mut Suite) {
    suite.each_heap("detach::three_watches_leave_nothing", &[Need::Proc], leaves_nothing);
    suite.each("detach::our_threads_have_names", &[Need::Proc], threads_have_names);
    suite.each("detach::by_duration", &[], by_duration);
    suite.each("detach::by_sigint", &[], |clr| by_signal(clr, Signal::INT));
    suite.once("detach::by_sigterm", &[], |clr| by_signal(clr, Signal::TERM));
    suite.each("detach::by_sighup", &[Need::Hangups], |clr| by_signal(clr, Signal::HUP));
    suite.once("detach::nohup_is_respected", &[], nohup);
    suite.each_heap("detach::leaving_a_storm", &[], leaving_a_storm);
    suite.each("detach::background_gc_is_back", &[], background_gc_is_back);
    suite.once("detach::metadata_does_not_grow", &[], metadata_does_not_grow);
}

fn leaves_nothing(clr: &Clr, heap: Heap) -> Result<()> {
    let churn = Churn::start(clr, heap, WORK)?;
    // Some work first, because the runtime starts threads of its own meanwhile.
    attach_json(clr, churn.pid(), "--gcs 5 --level basic")?;
    let unwatched = settled(churn.pid())?;
    // When the first profiler leaves, the runtime starts a thread for that, which it keeps.
    attach_json(clr, churn.pid(), "--level roots --gcs 100")?;
    gone(churn.pid(), &unwatched.with_a_thread())?;
    let before = Footprint::of(churn.pid())?;
    for n in 1..=3 {
        let document = attach_json(clr, churn.pid(), "--level roots --gcs 100")?;
        check_attached(&document).with_context(|| format!("watch {n}"))?;
    }
    gone(churn.pid(), &before)?;
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", churn.pid()))?;
    let libraries: BTreeSet<&str> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.contains("netcore_profiler"))
        .collect();
    ensure!(libraries.len() <= 1, "a library for each watch: {libraries:?}");
    churn.stop(clr, WORK)
}

/// Users can see which threads are gcwatch's, and that they end.
fn threads_have_names(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let before = Footprint::of(churn.pid())?;
    ensure!(!before.has_our_threads(), "{before:?}");
    let mut gcwatch = start_attach(clr, churn.pid(), "--level roots", &path)?;
    let ours = ["gcwatch-lease", "gcwatch-names"];
    let named = || {
        let now = Footprint::of(churn.pid())?;
        Ok(ours.iter().all(|name| now.threads.get(*name) == Some(&1)))
    };
    until("gcwatch's threads", DEADLINE, named)?;
    signal(gcwatch.pid(), Signal::INT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    until("gcwatch's threads to end", LEAVING, || Ok(!Footprint::of(churn.pid())?.has_our_threads()))?;
    churn.stop(clr, WORK)
}

/// The footprint of a process once it no longer changes.
pub(crate) fn settled(pid: u32) -> Result<Footprint> {
    let mut last = Footprint::of(pid)?;
    let mut same = 0;
    until("a stable footprint", DEADLINE, || {
        std::thread::sleep(Duration::from_millis(20));
        let now = Footprint::of(pid)?;
        same = if now == last { same + 1 } else { 0 };
        last = now;
        Ok(same >= 10)
    })?;
    Ok(last)
}

/// Waits until nothing is new since `before`.
pub(crate) fn gone(pid: u32, before: &Footprint) -> Result<()> {
    let outcome = until("all traces of the watch to go", LEAVING, || Ok(Footprint::of(pid)?.within(before)));
    outcome.with_context(|| match Footprint::of(pid) {
        Ok(now) => format!("before: {before:?}\nnow: {now:?}"),
        Err(error) => format!("the target is gone: {error}"),
    })
}

fn by_duration(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let began = Instant::now();
    let document = attach_json(clr, churn.pid(), "--level roots --duration 1s")?;
    let taken = began.elapsed();
    check_records(&document)?;
    ensure!(document.0["exit"]["reason"] == "duration", "{}", document.0["exit"]);
    let watched = Duration::from_nanos(document.0.uint("/watch/duration_ns")?);
    // The duration is by the stream's clock, which ends with the last event.
    let known = Duration::ZERO < watched && watched <= taken;
    ensure!(taken >= Duration::from_secs(1) && known, "it watched for {watched:?}, and took {taken:?}");
    ensure!(!document.complete()?.is_empty(), "no collection in a second of work");
    churn.stop(clr, WORK)
}

fn by_signal(clr: &Clr, with: Signal) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch = start_attach(clr, churn.pid(), "--level roots", &path)?;
    let seen = |path| std::fs::read_to_string(path).is_ok_and(|text: String| text.contains("\"number\":"));
    until("a collection in the document", DEADLINE, || Ok(seen(&path)))?;
    signal(gcwatch.pid(), with)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
    let document = Document::read(&path)?;
    check_records(&document)?;
    let reason = match with {
        Signal::INT => "interrupted",
        Signal::HUP => "hung-up",
        _ => "terminated",
    };
    let exit = &document.0["exit"];
    ensure!(exit["gcwatch"] == 0 && exit["reason"] == reason, "{exit}");
    ensure!(!document.0["summary"].is_null() && !document.complete()?.is_empty(), "no collection was seen");
    churn.stop(clr, WORK)
}

/// A user who starts gcwatch with SIGHUP ignored wants it to survive its terminal.
fn nohup(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).args(program());
    command
        .args(["attach", "--level", "basic", "--format", "json", "-o"])
        .arg(&path)
        .arg(churn.pid().to_string());
    let mut gcwatch = Target::spawn(command)?;
    let seen = || std::fs::read_to_string(&path).unwrap_or_default().matches("\"number\":").count();
    until("a collection in the document", DEADLINE, || Ok(seen() > 0))?;
    signal(gcwatch.pid(), Signal::HUP)?;
    let before = seen();
    until("collections after the signal", DEADLINE, || Ok(seen() > before + 2))?;
    signal(gcwatch.pid(), Signal::INT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    ensure!(Document::read(&path)?.0["exit"]["reason"] == "interrupted", "{gcwatch:?}");
    churn.stop(clr, WORK)
}

/// Leaving loses at most the collection that runs then; later ones are not in the watch: no number is missing, no
/// record in the middle is half-armed, and `--strict` finds nothing. `--gcs` counts complete collections with roots.
fn leaving_a_storm(clr: &Clr, heap: Heap) -> Result<()> {
    let mut variables = heap.environment().to_vec();
    variables.push(("DOTNET_GCgen0size", "10000"));
    let mut target = Target::app(clr, "churn", &["interactive", "live=500", "threads=3"], &variables)?;
    target.wait_line("ready ", DEADLINE)?;
    target.send_line("go")?;
    let document = attach_json(clr, target.pid(), "--step-back 100%,1h --gcs 60 --strict")?;
    document.nothing_lost()?;
    let seen = check_attached(&document)?;
    ensure!(seen.len() >= 60, "{} collections with roots", seen.len());
    let newest = seen.iter().filter_map(|gc| gc["number"].as_u64()).max();
    let later: Vec<_> = document.gcs()?.iter().filter(|gc| gc["number"].as_u64() > newest).collect();
    ensure!(later.len() <= 1, "{} records after the last one with roots: {later:?}", later.len());
    let incomplete = document.gcs()?.iter().filter(|gc| gc["complete"] == false).count() as u64;
    let summary = &document.0["summary"];
    ensure!(summary["incomplete"] == incomplete, "{incomplete} incomplete records: {summary}");
    ensure!(summary["gcs"] == document.complete()?.len(), "{summary}");
    let exit = &document.0["exit"];
    ensure!(exit["reason"] == "gcs", "{exit}");
    target.send_line("stop")?;
    ensure!(target.wait(DEADLINE)?.success(), "{target:?}");
    Ok(())
}

fn background_gc_is_back(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let document = attach_json(clr, churn.pid(), "--level roots --gcs 100")?;
    let seen = check_attached(&document)?;
    ensure!(seen.iter().any(|gc| gc["generation"] == 2), "no gen2 collection while background GC was off");
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("basic.json");
    let mut gcwatch = start_attach(clr, churn.pid(), "--level basic", &path)?;
    let background = || Ok(std::fs::read_to_string(&path)?.contains(r#""kind":"background""#));
    until("a background collection after the watch", DEADLINE, background)?;
    signal(gcwatch.pid(), Signal::INT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    let document = Document::read(&path)?;
    ensure!(document.0["watch"]["background_gc"] == "untouched", "{}", document.0["watch"]);
    churn.stop(clr, WORK)
}

/// The runtime never frees event definitions: the profiler must make its own only once, over all watches.
fn metadata_does_not_grow(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let dir = tempfile::tempdir()?;
    let mut definitions = Vec::new();
    for n in 0..4 {
        let path = dir.path().join(format!("{n}.nettrace"));
        let document = dir.path().join(format!("{n}.json"));
        let options = format!("--gcs 3 --blocks --record {}", path.display());
        let mut gcwatch = start_attach(clr, target.pid(), &options, &document)?;
        for generation in 0..3 {
            target.ask(&format!("collect {generation}"), "collected ", DEADLINE)?;
        }
        ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
        ensure!(check_attached(&Document::read(&document)?)?.len() == 3, "not three with roots");
        let bytes = std::fs::read(&path)?;
        // In a recording, only the definitions contain the provider's name in UTF-16.
        let name: Vec<u8> =
            netcore_profiler::wire::PROVIDER_NAME.encode_utf16().flat_map(u16::to_le_bytes).collect();
        definitions.push(bytes.windows(name.len()).filter(|part| *part == name).count());
    }
    ensure!(
        definitions[0] > 0 && definitions.iter().all(|count| *count <= definitions[0]),
        "{definitions:?}"
    );
    Ok(())
}
