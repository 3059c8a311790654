//! Two watches of one process; the first ends while the second waits for its turn.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use xtask::Clr;

use crate::it::lifecycle::attach::Churn;
use crate::it::suite::{Heap, Need, Suite};
use crate::it::support::repeated::again;
use crate::it::support::{DEADLINE, Document, Gcwatch, Signal, signal, start_attach, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("overlapping::the_first_watch_ends", &[Need::Proc], first_ends);
}

const WORK: &str = "live=5000 seed=3";
/// How many attempts there are: the second watch may come too early (the first does not end in time) or too late.
const MAX_ATTEMPTS: u32 = 10;

/// How often a watch may lose collections, and say so, while the other one starts or ends: the runtime may then give its
/// GC the keywords of two changes in the wrong order, and sends no GC event to any session until the next change.
const MAX_LOSSES: u32 = 3;

/// The profiler of the first watch sends its goodbye to every session. It must not end the second watch.
fn first_ends(clr: &Clr) -> Result<()> {
    let churn = Churn::start(clr, Heap::Workstation, WORK)?;
    let mut losses = 0;
    for _ in 0..MAX_ATTEMPTS {
        let Some([first, second]) = two(clr, churn.pid())? else {
            again();
            continue;
        };
        let lost = [&first, &second].map(|document| &document.0["lost"]);
        let nothing_else =
            lost.iter().all(|lost| ["events", "ranges", "roots"].iter().all(|what| lost[what] == 0));
        if losses < MAX_LOSSES && nothing_else && lost.iter().any(|lost| lost["gcs"] != 0) {
            losses += 1;
            again();
            continue;
        }
        for document in [&first, &second] {
            document.nothing_lost()?;
            // What is not lost is explained by no NoGC region: the program has none.
            let absent = &document.0["summary"]["numbers_without_record"];
            ensure!(*absent == 0, "{absent} numbers without a record; lost: {}", document.0["lost"]);
        }
        let ends = |document: &Document| -> Result<(u64, u64)> {
            let numbers: Vec<u64> =
                document.complete()?.iter().filter_map(|gc| gc["number"].as_u64()).collect();
            Ok((numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(0)))
        };
        let (last_of_first, (first_of_second, last_of_second)) = (ends(&first)?.1, ends(&second)?);
        if first_of_second > last_of_first {
            again();
            continue;
        }
        let of_its_own = |gc: &&&serde_json::Value| {
            gc["roots"].is_object() && gc["number"].as_u64() > Some(last_of_first + 5)
        };
        let roots = second.complete()?.iter().filter(of_its_own).count();
        ensure!(roots >= 5, "{roots} collections with roots of {last_of_first} to {last_of_second}");
        return churn.stop(clr, WORK);
    }
    bail!("the two watches did not overlap in {MAX_ATTEMPTS} tries")
}

/// Both documents; `None` if the second watch was refused because the first had not ended in time.
fn two(clr: &Clr, pid: u32) -> Result<Option<[Document; 2]>> {
    let dir = tempfile::tempdir()?;
    let paths = ["first.json", "second.json"].map(|name| dir.path().join(name));
    let gcs = |path: &Path| std::fs::read_to_string(path).unwrap_or_default().matches("\"number\":").count();
    let mut first = start_attach(clr, pid, "--level roots", &paths[0])?;
    until("collections of the first watch", DEADLINE, || Ok(gcs(&paths[0]) >= 10))?;
    let mut second = Gcwatch::on(clr)
        .args("attach --level roots --gcs 2000 --format json -o")
        .arg(&paths[1])
        .arg(pid.to_string())
        .spawn()?;
    // Its session starts now; its profiler has to wait.
    std::thread::sleep(Duration::from_millis(300));
    signal(first.pid(), Signal::INT)?;
    ensure!(first.wait(DEADLINE)?.success(), "{first:?}");
    let status = second.wait(DEADLINE)?;
    if status.code() == Some(23) {
        return Ok(None);
    }
    ensure!(status.success(), "{status}: {second:?}");
    Ok(Some([Document::read(&paths[0])?, Document::read(&paths[1])?]))
}
