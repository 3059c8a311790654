//! A target that is stopped (SIGSTOP, a debugger) keeps its connections and answers nothing: `--duration` and Ctrl-C
//! still work, the report mentions it, and the target continues unharmed.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::attach::Churn;
use crate::it::lifecycle::detach::gone;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::{
    DEADLINE, Document, Footprint, Gcwatch, Guard, Json, Signal, attach_json, fact, signal, start_attach,
    until,
};

const WORK: &str = "live=10000 seed=5";
/// How late the end of a watch may come.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// How much longer a busy machine may take until the process has ended.
fn slack() -> Result<Duration> {
    let began = Instant::now();
    Gcwatch::new().arg("--version").output()?.expect(0)?;
    Ok(Duration::from_secs(1) + 20 * began.elapsed())
}

pub(crate) fn register(suite: &mut Suite) {
    for (name, options) in
        [("basic", "--level basic"), ("roots", "--level roots --strict"), ("sample", "--sample 200ms/1s")]
    {
        suite.with(&format!("stopped::duration_holds::{name}"), &[Need::Proc], move |clr| {
            duration_holds(clr, options)
        });
        suite.with(&format!("stopped::ctrl_c_holds::{name}"), &[Need::Proc], move |clr| {
            ctrl_c_holds(clr, options)
        });
    }
    suite.each("stopped::leaves_the_target_unharmed", &[Need::Proc], unharmed);
    suite.once("stopped::before_the_attach_is_20", &[Need::Proc], before);
    suite.once("stopped::ctrl_c_in_run", &[Need::Proc], run);
    suite.plain("stopped::nobody_answers_is_20", nobody_answers);
    suite.plain("stopped::ctrl_c_while_nobody_answers", ctrl_c_while_nobody_answers);
}

/// Continues a stopped process, also when the test fails.
struct Stopped(u32);

impl Stopped {
    /// Each thread stops when it next checks for signals; until all have, one may still receive another signal.
    fn stop(pid: u32) -> Result<Stopped> {
        signal(pid, Signal::STOP)?;
        let stopped = Stopped(pid);
        until("all threads stopped", DEADLINE, || {
            for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
                // The thread may have ended meanwhile.
                let stat = std::fs::read_to_string(thread?.path().join("stat")).unwrap_or_default();
                let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
                if !matches!(state, None | Some('T' | 't' | 'Z' | 'X')) {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(stopped)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It may have been killed.
        let _ = signal(self.0, Signal::CONT);
    }
}

fn some_collections(path: &Path) -> Result<()> {
    let count = || std::fs::read_to_string(path).unwrap_or_default().matches("\"number\":").count();
    until("collections in the document", DEADLINE, || Ok(count() >= 3))
}

/// gcwatch has ended in time, and reports since when the target was silent. `ran`: how long the target can have run at
/// most since the watch began.
fn check(
    path: &Path,
    options: &str,
    reason: &str,
    gcwatch: &mut Target,
    due: Instant,
    ran: Duration,
) -> Result<()> {
    let status = gcwatch.wait(DEADLINE)?;
    let late = Instant::now().saturating_duration_since(due);
    ensure!(late < MAX_DELAY + slack()?, "it ended {late:?} after it was due: {gcwatch:?}");
    let strict = options.contains("--strict");
    ensure!(status.code() == Some(if strict { 11 } else { 0 }), "{status}: {gcwatch:?}");
    let document = Document::read(path)?;
    ensure!(document.0["exit"]["reason"] == reason, "{}", document.0["exit"]);
    ensure!(document.0["lost"]["gap"] == "no-response", "{}", document.0["lost"]);
    let since = document.0["lost"].uint("/silent_since_ns")?;
    // Events sent before may be read a little later.
    let ran = ran + slack()? - Duration::from_secs(1);
    ensure!(u128::from(since) <= ran.as_nanos(), "silent since {since} ns, but stopped after {ran:?}");
    ensure!(!document.0["summary"].is_null(), "no summary");
    Ok(())
}

fn duration_holds(clr: &Clr, options: &str) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let began = Instant::now();
    let mut gcwatch = start_attach(clr, churn.pid(), &format!("{options} --duration 8s"), &path)?;
    let due = Instant::now() + Duration::from_secs(8);
    some_collections(&path)?;
    let stopped = Stopped::stop(churn.pid())?;
    let ran = began.elapsed();
    ensure!(Instant::now() < due, "the machine is too busy to stop the target in time");
    check(&path, options, "duration", &mut gcwatch, due, ran)?;
    drop(stopped);
    churn.stop(clr, WORK)
}

fn ctrl_c_holds(clr: &Clr, options: &str) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let began = Instant::now();
    let mut gcwatch = start_attach(clr, churn.pid(), options, &path)?;
    some_collections(&path)?;
    let stopped = Stopped::stop(churn.pid())?;
    let ran = began.elapsed();
    signal(gcwatch.pid(), Signal::INT)?;
    check(&path, options, "interrupted", &mut gcwatch, Instant::now(), ran)?;
    drop(stopped);
    churn.stop(clr, WORK)
}

/// After SIGCONT the profiler leaves and no trace of the watch remains; the next watch sees everything.
fn unharmed(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    attach_json(clr, churn.pid(), "--gcs 5 --level basic")?;
    let before = Footprint::of(churn.pid())?.with_a_thread();
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let began = Instant::now();
    let mut gcwatch = start_attach(clr, churn.pid(), "--level roots", &path)?;
    some_collections(&path)?;
    let stopped = Stopped::stop(churn.pid())?;
    let ran = began.elapsed();
    signal(gcwatch.pid(), Signal::TERM)?;
    check(&path, "", "terminated", &mut gcwatch, Instant::now(), ran)?;
    drop(stopped);
    gone(churn.pid(), &before)?;
    let document = attach_json(clr, churn.pid(), "--gcs 20 --level roots")?;
    ensure!(document.0["lost"]["gap"].is_null(), "{}", document.0["lost"]);
    churn.stop(clr, WORK)
}

/// The stopped target accepts connections, but answers none.
fn before(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let pid = churn.pid().to_string();
    let stopped = Stopped::stop(churn.pid())?;
    let began = Instant::now();
    for options in ["attach", "attach --level basic --duration 1s"] {
        let ended = Gcwatch::on(clr).args(options).arg(&pid).output()?.expect(20)?;
        ended.says(&[&pid, "stopped", "kill -CONT", "do:"])?;
    }
    let taken = began.elapsed();
    ensure!(taken < Duration::from_secs(16) + slack()?, "two attempts took {taken:?}");
    drop(stopped);
    churn.stop(clr, WORK)
}

/// The second Ctrl-C ends `run`, even while its child runs on.
fn run(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch =
        Gcwatch::on(clr).args("run --format json -o").arg(&path).app(clr, "exits", "wait gcs=10")?.spawn()?;
    let child: u32 = fact(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.parse()?;
    let _guard = Guard(child);
    some_collections(&path)?;
    let _stopped = Stopped::stop(child)?;
    signal(gcwatch.pid(), Signal::INT)?;
    // gcwatch passes the first one on, and the stopped child does not react.
    let pending = || -> Result<bool> {
        let status = std::fs::read_to_string(format!("/proc/{child}/status"))?;
        let mask = status.lines().find_map(|line| line.strip_prefix("ShdPnd:")).context("no ShdPnd")?;
        Ok(u64::from_str_radix(mask.trim(), 16)? & 2 != 0)
    };
    until("the first signal to reach the child", DEADLINE, pending)?;
    signal(gcwatch.pid(), Signal::INT)?;
    let due = Instant::now();
    until("the document's end", DEADLINE, || Ok(Document::read(&path).is_ok()))?;
    let late = due.elapsed();
    ensure!(late < MAX_DELAY + slack()?, "{late:?}");
    ensure!(Document::read(&path)?.0["exit"]["gcwatch"] == 130, "{}", Document::read(&path)?.0["exit"]);
    Ok(())
}

/// A socket with a listener that never reads: the kernel accepts connections for it.
fn silent() -> Result<(tempfile::TempDir, UnixListener, Gcwatch)> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("socket");
    let listener = UnixListener::bind(&path)?;
    Ok((dir, listener, Gcwatch::new().args("attach --diagnostic-port").arg(path)))
}

fn nobody_answers() -> Result<()> {
    let (_dir, _listener, gcwatch) = silent()?;
    gcwatch.output()?.expect(20)?.says(&["does not answer", "do:"])?;
    Ok(())
}

fn ctrl_c_while_nobody_answers() -> Result<()> {
    let (_dir, listener, gcwatch) = silent()?;
    let mut gcwatch = gcwatch.spawn()?;
    let _connection = listener.accept()?;
    signal(gcwatch.pid(), Signal::INT)?;
    let due = Instant::now();
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(130), "{status}: {gcwatch:?}");
    let late = due.elapsed();
    ensure!(late < MAX_DELAY + slack()?, "it took {late:?}");
    Ok(())
}
