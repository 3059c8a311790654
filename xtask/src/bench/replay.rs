//! Measures reading recordings, compared with TraceEvent and with reading only the bytes.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::apps;
use xtask::testkit::peer;

use super::figure::Bound::{AtMost, Ratio};
use super::tools::mib;
use super::{Bench, Case, Figure, process};

const REPORT: &str = "gcwatch report";
const VARIANTS: [&str; 4] = ["cat", REPORT, "gcwatch report --blocks", "TraceEvent"];
/// The ranges in each recorded collection.
const RANGES: u32 = 50_000;

/// Recordings of 35,000, 350,000 and 3.5 million ranges, and one of 1 GiB.
pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    for (collections, ranges) in [(7, RANGES / 10), (7, RANGES), (70, RANGES)] {
        let name = format!("{:.2} M ranges", f64::from(collections * ranges) / 1e6);
        bench.replay(name, collections, ranges, &VARIANTS, bench.rounds)?;
    }
    bench.large(1, 3)
}

/// A recording of 10 GiB.
pub(super) fn measure_huge(bench: &mut Bench) -> Result<()> {
    bench.large(10, 1)
}

impl Bench {
    fn replay(
        &mut self,
        name: String,
        collections: u32,
        ranges: u32,
        variants: &[&'static str],
        rounds: usize,
    ) -> Result<()> {
        let recording = self.record(collections, ranges)?;
        self.add(&name, Figure::new("size of the recording", "MiB").with("file", vec![mib(&recording)?]));
        let wall = Figure::new("wall", "ms").against("cat");
        let memory = Figure::new("memory", "MiB").against("TraceEvent");
        let figures = vec![
            wall.goal(REPORT, Ratio("cat".into(), 4.0)).goal(REPORT, Ratio("TraceEvent".into(), 1.0 / 15.0)),
            Figure::new("CPU", "ms").against("TraceEvent"),
            memory.goal(REPORT, AtMost(32.0)),
        ];
        self.measure(Case { name, variants, rounds, figures }, |bench, variant| {
            let mut command = match variant {
                "cat" => Command::new("sh"),
                "TraceEvent" => bench.newest.command(&peer("gcstats/gcstats.dll")?),
                _ => bench.gcwatch(&bench.newest),
            };
            match variant {
                "cat" => command.args(["-c", "exec cat \"$0\" >/dev/null"]).arg(&recording),
                "TraceEvent" => command.arg(&recording).arg("-q"),
                _ => command.arg("report").arg(&recording).args(["--output", "/dev/null"]),
            };
            command.args(variant.ends_with("--blocks").then_some("--blocks"));
            let cost = process::run(command)?;
            Ok(vec![cost.wall_ms, cost.cpu_ms, cost.memory_mib])
        });
        Ok(std::fs::remove_file(recording)?)
    }

    fn record(&self, collections: u32, ranges: u32) -> Result<PathBuf> {
        let path = self.file("recording.nettrace");
        let mut command = self.gcwatch(&self.newest);
        command.args(["run", "--level", "moves", "--output", "/dev/null", "--record"]).arg(&path).arg("--");
        command.args(self.newest.argv(&apps::build("pace")?)).args(["per_second=0", "seconds=3000"]);
        // Its stdin is empty, so that the program begins at once.
        command.args([format!("collections={collections}"), format!("blocks={ranges}")]);
        process::run(command)?;
        Ok(path)
    }

    /// Measures a recording of this many GiB. The size of a collection depends on whether the runtime moves the blocks,
    /// so 20 collections are recorded first to find out.
    fn large(&mut self, gib: u32, rounds: usize) -> Result<()> {
        let disk = rustix::fs::statvfs(self.dir.path()).context("the free disk space is unknown")?;
        let free_gib = (disk.f_bavail * disk.f_frsize) >> 30;
        if free_gib < u64::from(gib) + 10 {
            bail!("{free_gib} GiB of disk are free, and the recording needs 10 more than its size");
        }
        let mib_of_20 = mib(&self.record(20, RANGES)?)?;
        let collections = (f64::from(gib) * 1024.0 * 20.0 / mib_of_20) as u32;
        self.replay(format!("recording of {gib} GiB"), collections, RANGES, &VARIANTS[..2], rounds)
    }
}
