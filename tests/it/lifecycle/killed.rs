//! gcwatch is killed with SIGKILL during a watch: the recording is complete, the target runs on, and the profiler
//! leaves.

use std::path::Path;

use anyhow::{Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::attach::{Churn, check_attached, check_records};
use crate::it::lifecycle::detach::{LEAVING, gone};
use crate::it::recording::record::replay;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, Footprint, GCSTATS, Gcwatch, Guard, Signal, fact, gcstats, signal, until,
};

const WORK: &str = "live=10000 seed=11";

pub(crate) fn register(suite: &mut Suite) {
    suite.each("killed::attach", &[Need::Proc], attach);
    suite.each("killed::attached_again_at_once", &[Need::Proc], again);
    suite.each("killed::run", &[Need::Proc], run);
    suite.once("killed::recording_opens_in_trace_event", &[Need::Peer(GCSTATS)], trace_event);
}

/// Waits until a running gcwatch has recorded a few collections, and kills it.
fn kill_amid(gcwatch: &mut Target, recording: &Path, lines: &Path) -> Result<u64> {
    let text = || std::fs::read_to_string(lines).unwrap_or_default();
    let all = |text: &str| text.matches(r#""type":"gc""#).count() as u64;
    // Collections before the profiler came have no roots.
    let with_roots = |line: &&str| line.contains(r#""type":"gc""#) && line.contains(r#""level":"roots""#);
    until("five collections with roots", DEADLINE, || Ok(text().lines().filter(with_roots).count() >= 5))?;
    let records = all(&text());
    signal(gcwatch.pid(), Signal::KILL)?;
    ensure!(recording.is_file(), "no recording");
    Ok(records)
}

/// All records that were shown live are in the recording.
fn check_recording(recording: &Path, records: u64) -> Result<Document> {
    let document = replay(recording, "")?;
    let found = document.gcs()?.len() as u64;
    ensure!(found >= records, "{found} records in the recording, {records} were shown");
    check_records(&document)?;
    Ok(document)
}

fn attach(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    crate::it::support::attach_json(clr, churn.pid(), "--gcs 5 --level basic")?;
    // The runtime starts a thread for leaving profilers, and keeps it.
    let before = Footprint::of(churn.pid())?.with_a_thread();
    let dir = tempfile::tempdir()?;
    let (recording, lines) = (dir.path().join("killed.nettrace"), dir.path().join("lines.ndjson"));
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --level roots --format ndjson --record")
        .arg(&recording)
        .option("-o", &lines)
        .arg(churn.pid().to_string())
        .spawn()?;
    let records = kill_amid(&mut gcwatch, &recording, &lines)?;
    gone(churn.pid(), &before)?;
    let document = check_recording(&recording, records)?;
    ensure!(document.0["watch"]["level"] == "roots", "{}", document.0["watch"]);
    // The next watch works as if there had been no watch before.
    check_attached(&crate::it::support::attach_json(clr, churn.pid(), "--level roots --gcs 100")?)?;
    churn.stop(clr, WORK)
}

/// The profiler of the killed watch has not noticed yet: the next watch waits until it has left.
fn again(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    for _ in 0..3 {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("out.json");
        let mut gcwatch = crate::it::support::start_attach(clr, churn.pid(), "--level roots", &path)?;
        let there = || Ok(std::fs::read_to_string(&path)?.contains(r#""level":"roots""#));
        until("a collection with roots", DEADLINE, there)?;
        signal(gcwatch.pid(), Signal::KILL)?;
        gcwatch.wait(DEADLINE)?;
        check_attached(&crate::it::support::attach_json(clr, churn.pid(), "--level roots --gcs 10")?)?;
    }
    churn.stop(clr, WORK)
}

fn run(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (recording, lines) = (dir.path().join("killed.nettrace"), dir.path().join("lines.ndjson"));
    let mut gcwatch = Gcwatch::on(clr)
        .envs(Heap::Workstation.environment())
        .args("run --format ndjson --record")
        .arg(&recording)
        .option("-o", &lines)
        .app(clr, "churn", "interactive live=10000")?
        .spawn()?;
    let child: u32 = fact(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.parse()?;
    let _guard = Guard(child);
    gcwatch.send_line("go")?;
    let records = kill_amid(&mut gcwatch, &recording, &lines)?;
    check_recording(&recording, records)?;
    // Two sockets remain: the runtime's own, and its connection to the port guard, which has taken the place of
    // gcwatch's port.
    until("gcwatch's connections to close", LEAVING, || {
        Ok(Footprint::of(child)?.descriptors.get("socket").is_none_or(|sockets| *sockets <= 2))
    })?;
    // The child still has the pipes it was started with.
    let done = gcwatch.ask("stop", "done ", DEADLINE)?;
    ensure!(fact(&done, "checksum")?.len() == 16, "{done}");
    until("the child's end", DEADLINE, || Ok(!Path::new(&format!("/proc/{child}/task")).exists()))
}

fn trace_event(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let (recording, lines) = (dir.path().join("killed.nettrace"), dir.path().join("lines.ndjson"));
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --level roots --blocks --format ndjson --record")
        .arg(&recording)
        .option("-o", &lines)
        .arg(churn.pid().to_string())
        .spawn()?;
    kill_amid(&mut gcwatch, &recording, &lines)?;
    let document = replay(&recording, "")?;
    let answer = gcstats(&recording)?;
    let complete = document.complete()?;
    ensure!(
        answer.gcs.len() + 2 >= complete.len(),
        "{} GCs, TraceEvent: {}",
        complete.len(),
        answer.gcs.len()
    );
    ensure!(answer.gcs.len() >= 3, "TraceEvent found {} GCs", answer.gcs.len());
    churn.stop(clr, WORK)
}
