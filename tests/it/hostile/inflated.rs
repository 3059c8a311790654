//! Any user's process can make /proc show 64 MiB of variables or arguments for it: gcwatch, above all as root, must not
//! need memory for them.

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::{Skip, Target};

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Document, Gcwatch, until};

/// The most memory that gcwatch may have used at any time.
const MAX_KIB: u64 = 64 << 10;

pub(crate) fn register(suite: &mut Suite) {
    for what in ["environ", "cmdline"] {
        let name = format!("inflated::{what}_takes_no_memory");
        suite.with(&name, &[Need::Proc], move |clr| takes_no_memory(clr, what));
    }
}

fn start(clr: &Clr, what: &str) -> Result<Target> {
    let mut target = Target::app(clr, "inflated", &[what], &[])?;
    match target.wait_line("ready ", DEADLINE) {
        Ok(_) => {}
        Err(error) => match target.lines().iter().find(|line| line.starts_with("refused ")) {
            Some(line) => {
                let why = format!("a process may not move its {what} here: {line}");
                return Err(Skip::because(why).into());
            }
            None => return Err(error),
        },
    }
    let length = std::fs::read(format!("/proc/{}/{what}", target.pid()))?.len();
    ensure!(length == 64 << 20, "its {what} has {length} bytes");
    Ok(target)
}

/// Runs gcwatch to its end, and polls its peak memory.
fn run(gcwatch: Gcwatch, code: i32) -> Result<String> {
    let mut gcwatch = gcwatch.spawn()?;
    let status = format!("/proc/{}/status", gcwatch.pid());
    let mut most = 0;
    // A process that has ended shows no memory.
    let ended = || -> Result<bool> {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let Some(used) = line.and_then(|line| line.split_whitespace().next()) else { return Ok(true) };
        most = most.max(used.parse()?);
        Ok(false)
    };
    until("gcwatch to end", DEADLINE, ended)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(code), "{status}: {gcwatch:?}");
    ensure!(most < MAX_KIB, "it used {most} KiB: {gcwatch:?}");
    ensure!(most > 0, "it ended before the first look at its memory");
    Ok(gcwatch.lines().join("\n"))
}

fn takes_no_memory(clr: &Clr, what: &str) -> Result<()> {
    let target = start(clr, what)?;
    let pid = target.pid().to_string();
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let attached = Gcwatch::on(clr).args("attach --level basic --duration 500ms --format json -o").arg(&path);
    run(attached.arg(&pid), 0)?;
    let size = Document::read(&path)?.0["target"].to_string().len();
    ensure!(size < 256 << 10, "the report has {size} bytes about the target");
    // `run` looks for its port in all processes, also in those that have nothing to do with it.
    run(Gcwatch::on(clr).args("run -q --level basic -- sleep 0.2"), 20)?;
    let list = run(Gcwatch::on(clr).args("ps --json --why"), 0)?;
    let list: serde_json::Value = serde_json::from_str(&list)?;
    let row = list.as_array().context("no list")?.iter().find(|row| row["pid"] == target.pid());
    let row = row.with_context(|| format!("{pid} is not listed: {list}"))?;
    let length = row.to_string().len();
    ensure!(length < 256 << 10, "its row has {length} bytes");
    Ok(())
}
