//! Programs that close descriptors of others: what they then open under the same number is theirs alone.

use anyhow::{Result, ensure};
use xtask::Clr;
use xtask::testkit::Target;

use crate::it::lifecycle::detach::LEAVING;
use crate::it::suite::{Need, Suite};
use crate::it::support::{
    DEADLINE, Footprint, Gcwatch, Signal, attach_json, number, signal, until, wait_for_start,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("descriptors::closed_and_reused_for_a_socket", &[Need::Proc], |clr| taken(clr, "take socket"));
    suite.once("descriptors::closed_and_reused_for_a_pipe", &[Need::Proc], |clr| taken(clr, "take pipe"));
    suite.once("descriptors::all_sockets_closed_and_reused", &[Need::Proc], |clr| taken(clr, "sweep"));
}

fn taken(clr: &Clr, how: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("lines.ndjson"), dir.path().join("all.nettrace"));
    let mut program = Target::app(clr, "descriptors", &[], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let pid = program.pid();
    let mut gcwatch = Gcwatch::on(clr)
        .args("attach --level roots --format ndjson -o")
        .arg(&path)
        .option("--record", &recording)
        .arg(pid.to_string())
        .spawn()?;
    wait_for_start(&mut gcwatch, &path)?;
    let watched = number(&program.ask("collect", "collected ", DEADLINE)?, "index")?;
    let answer = program.ask(how, if how == "sweep" { "swept" } else { "taken" }, DEADLINE)?;
    ensure!(how != "sweep" || number(&answer, "sockets")? > 0, "{answer}");
    // The profiler checks its descriptor every 200 ms and leaves: collections continue without roots.
    until("the profiler to leave", LEAVING, || Ok(!Footprint::of(pid)?.has_our_threads()))?;
    let unwatched = number(&program.ask("collect", "collected ", DEADLINE)?, "index")?;
    let has = |index: u64| {
        let line = format!(r#""number":{index},"#);
        until("the collection's line", DEADLINE, || Ok(std::fs::read_to_string(&path)?.contains(&line)))
    };
    has(watched)?;
    has(unwatched)?;
    signal(gcwatch.pid(), Signal::INT)?;
    ensure!(gcwatch.wait(DEADLINE)?.success(), "{gcwatch:?}");
    // Once the number is not the profiler's any more, it has neither read nor closed it.
    let answer = program.ask("check", "checked ", DEADLINE)?;
    let [all, intact, open] = [number(&answer, "all")?, number(&answer, "intact")?, number(&answer, "open")?];
    ensure!(all > 0 && (intact, open) == (all, all), "{answer}");
    let report = Gcwatch::new().args("report").arg(&recording).output()?.expect(0)?;
    ensure!(report.out()?.contains("closed a descriptor that is not its own"), "{}", report.out()?);
    // The next watch works, and the program keeps what it opened.
    attach_json(clr, pid, "--level roots --duration 1s")?;
    let answer = program.ask("check", "checked ", DEADLINE)?;
    ensure!(number(&answer, "open")? == all, "{answer}");
    program.send_line("exit")?;
    ensure!(program.wait(DEADLINE)?.success(), "{program:?}");
    Ok(())
}
