//! What one range or root costs inside the callbacks.

use anyhow::{Context, Result, bail};
use xtask::workspace;

use super::figure::{Figure, Goal};
use super::{Bench, process};

const ROW: &str = "callbacks";
/// "A few ns each", as a number that can be missed.
const A_FEW_NS: f64 = 5.0;

const KINDS: [(&str, f64); 6] = [
    ("moved", A_FEW_NS),
    ("surviving", A_FEW_NS),
    ("root", A_FEW_NS),
    ("moved --blocks", 15.0),
    ("surviving --blocks", 15.0),
    ("root --blocks", 15.0),
];

/// The library in the hands of a runtime that costs nothing itself: rounds are the program's own.
pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["bench", "--quiet", "--package", "netcore-profiler", "--bench", "callbacks"]);
    cargo.args(["--target-dir".as_ref(), workspace::target_dir().as_os_str()]);
    let output = cargo.output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the callbacks' benchmark failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    for (kind, limit) in KINDS {
        let (mut ns, mut copy_ns) = (Vec::new(), Vec::new());
        for line in said.lines() {
            if line.strip_prefix(kind).is_some_and(|rest| rest.starts_with(" ranges=")) {
                ns.push(process::fact(line, "ns")?);
                copy_ns.push(process::fact(line, "copy_ns")?);
            }
        }
        let figure = Figure::new(ROW, kind, "time of each", "ns").against("memcpy");
        let figure = figure.with("memcpy", copy_ns).with("gcwatch", ns);
        bench.findings.figures.push(figure.goal("gcwatch", Goal::AtMost(limit)));
    }
    Ok(())
}
