//! A target that already has a profiler: a runtime loads only one.

use anyhow::{Result, ensure};
use xtask::Clr;

use crate::it::lifecycle::attach::{Churn, check_attached};
use crate::it::suite::{Heap, Suite};
use crate::it::support::{
    DEADLINE, Document, Gcwatch, Json, Signal, attach_json, brief, signal, start_attach,
};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("other_profiler::is_23_or_moves", &[], attached);
    suite.once("other_profiler::in_the_environment_is_23_or_moves", &[], in_environment);
}

const WORK: &str = "live=5000";

fn attached(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let dir = tempfile::tempdir()?;
    let first_path = dir.path().join("first.json");
    // The profiler of another gcwatch counts as well.
    let mut first = start_attach(clr, churn.pid(), "--level roots", &first_path)?;
    let pid = churn.pid().to_string();
    let demanded = Gcwatch::on(clr).args("attach --gcs 2 --level roots").arg(&pid).output()?.expect(23)?;
    demanded.says(&["profiler", "do:"])?;
    let document = attach_json(clr, churn.pid(), "--gcs 2")?;
    let watch = &document.0["watch"];
    ensure!(watch["level"] == "moves" && watch.text("/level_reason")?.contains("profiler"), "{watch}");
    // The runtime may have the session before its GC knows that the session asks for ranges.
    let complete = document.complete()?;
    let moves: Vec<_> = complete.into_iter().skip_while(|gc| gc["level"] == "basic").collect();
    ensure!(moves.len() >= 2, "{} collections at moves", moves.len());
    for gc in moves {
        ensure!(gc["moved"].is_object(), "no moves: {}", brief(gc));
    }
    // The first watch was not affected.
    signal(first.pid(), Signal::INT)?;
    ensure!(first.wait(DEADLINE)?.success(), "{first:?}");
    let first = Document::read(&first_path)?;
    ensure!(check_attached(&first)?.len() > 2, "{} collections", first.complete()?.len());
    churn.stop(clr, WORK)
}

fn in_environment(clr: &Clr) -> Result<()> {
    // It is enough that the variables name one: the runtime would load it first, even if the file does not exist.
    let env =
        [("CORECLR_ENABLE_PROFILING", "1"), ("CORECLR_PROFILER", "{846F5F1C-F9AE-4B07-969E-05C26BC060D8}")];
    let small = [("DOTNET_GCgen0size", "400000")];
    let run = |options: &str| -> Result<_> {
        let gcwatch = Gcwatch::on(clr).envs(env).envs(small).arg("run").args(options);
        gcwatch.app(clr, "churn", "work=50000")?.output()
    };
    let demanded = run("--level roots")?.expect(23)?;
    demanded.says(&["CORECLR_PROFILER"])?;
    let fallen_back = run("--format json")?.expect(0)?;
    let watch = &Document::parse(&fallen_back.stdout)?.0["watch"];
    ensure!(
        watch["level"] == "moves" && watch.text("/level_reason")?.contains("CORECLR_PROFILER"),
        "{watch}"
    );
    Ok(())
}
