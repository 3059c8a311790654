//! `gcwatch run` passes signals on to the child, and still writes the report.

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, Guard, Signal, fact, signal};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("run_signals::sigint_goes_to_the_child", &[], |clr| ended_by(clr, Signal::INT, 130));
    suite.each("run_signals::sigterm_goes_to_the_child", &[], |clr| ended_by(clr, Signal::TERM, 143));
    suite.each("run_signals::sighup_goes_to_the_child", &[Need::Hangups], |clr| {
        ended_by(clr, Signal::HUP, 129)
    });
    suite.each("run_signals::sigterm_that_the_child_handles", &[], handled);
    suite.once("run_signals::second_sigint_ends_gcwatch", &[], second);
}

struct Running {
    gcwatch: Target,
    child: u32,
    _guard: Guard,
    dir: tempfile::TempDir,
}

impl Running {
    fn start(clr: &Clr, how: &str) -> Result<Running> {
        let dir = tempfile::tempdir()?;
        let mut gcwatch = Gcwatch::on(clr)
            .args("run --format json -o")
            .arg(dir.path().join("out.json"))
            .app(clr, "exits", how)?
            .spawn()?;
        let child = fact(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.parse()?;
        Ok(Running { gcwatch, child, _guard: Guard(child), dir })
    }

    fn ends_with(&mut self, code: i32) -> Result<Document> {
        let status = self.gcwatch.wait(DEADLINE)?;
        ensure!(status.code() == Some(code), "{status} instead of {code}: {:?}", self.gcwatch);
        Document::read(&self.dir.path().join("out.json")).with_context(|| format!("{:?}", self.gcwatch))
    }
}

fn ended_by(clr: &Clr, with: Signal, code: i32) -> Result<()> {
    let mut running = Running::start(clr, "wait gcs=10")?;
    signal(running.gcwatch.pid(), with)?;
    let document = running.ends_with(code)?;
    ensure!(document.0["exit"]["child"] == code, "{}", document.0["exit"]);
    ensure!(document.0["target"]["pid"] == running.child, "{}", document.0["target"]);
    ensure!(!document.0["summary"].is_null(), "no summary");
    Ok(())
}

fn handled(clr: &Clr) -> Result<()> {
    let mut running = Running::start(clr, "sigterm gcs=10 code=4")?;
    running.gcwatch.wait_line("listening", DEADLINE)?;
    signal(running.gcwatch.pid(), Signal::TERM)?;
    let document = running.ends_with(4)?;
    ensure!(running.gcwatch.lines().iter().any(|line| line == "handled"), "{:?}", running.gcwatch);
    ensure!(document.0["exit"]["child"] == 4, "{}", document.0["exit"]);
    ensure!(document.complete()?.len() >= 10, "{} collections", document.complete()?.len());
    Ok(())
}

/// A child that ignores the first signal does not keep gcwatch running after the second.
fn second(clr: &Clr) -> Result<()> {
    // The shell traps SIGINT and waits for its child, which runs until it is killed.
    let dir = tempfile::tempdir()?;
    let script = "trap 'echo trapped' INT; \"$@\" & child=$!; echo shell=$$; wait; wait; wait $child";
    let dll = xtask::apps::build("exits")?;
    let mut gcwatch = Gcwatch::on(clr)
        .args("run --format json -o")
        .arg(dir.path().join("out.json"))
        .args("-- /bin/sh -c")
        .arg(script)
        .arg("sh");
    for word in clr.argv(&dll) {
        gcwatch = gcwatch.arg(word);
    }
    let mut gcwatch = gcwatch.args("wait gcs=10").spawn()?;
    let shell =
        fact(&gcwatch.wait_line("shell=", DEADLINE).map(|pid| format!("shell={pid}"))?, "shell")?.parse()?;
    let _shell = Guard(shell);
    let _child = Guard(fact(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.parse()?);
    signal(gcwatch.pid(), Signal::INT)?;
    gcwatch.wait_line("trapped", DEADLINE)?;
    signal(gcwatch.pid(), Signal::INT)?;
    let path = dir.path().join("out.json");
    crate::it::support::until("the document", DEADLINE, || Ok(Document::read(&path).is_ok()))?;
    let document = Document::read(&path)?;
    ensure!(document.0["exit"]["gcwatch"] == 130, "{}", document.0["exit"]);
    Ok(())
}
