//! What one range or root costs inside the callbacks, in a process that stands in for the runtime.

use anyhow::{Context, Result, bail};
use xtask::workspace;

use super::figure::Bound::AtMost;
use super::{Bench, Figure};

/// Runs `netcore-profiler/benches/callbacks.rs`, which does its own rounds.
pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["bench", "--quiet", "--package", "netcore-profiler", "--bench", "callbacks", "--target-dir"]);
    let output = cargo.arg(workspace::target_dir()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the callbacks' benchmark failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    for (more, limit_ns) in [("", 5.0), (" --blocks", 15.0)] {
        for kind in ["moved", "surviving", "root"].map(|kind| format!("{kind}{more}")) {
            let values = |key: &str| -> Vec<f64> {
                let of_kind = lines.lines().filter_map(|line| line.strip_prefix(&format!("{kind} ranges=")));
                let word = |line: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.parse().ok());
                of_kind.filter_map(word).collect()
            };
            let figure =
                Figure::new("time of each", "ns").against("memcpy").with("memcpy", values("copy_ns="));
            bench.add(&kind, figure.with("gcwatch", values("ns=")).goal("gcwatch", AtMost(limit_ns)));
        }
    }
    Ok(())
}
