//! Reading recordings: against TraceEvent, and against reading the bytes alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::testkit::peer;

use super::figure::{Figure, Goal, Growth};
use super::process::Cost;
use super::statistics::median;
use super::{Bench, Taken, process, tools};

const ROW: &str = "replay";
/// Survivors of each recorded collection; each is a range.
const BLOCKS: u32 = 50_000;
/// Collections that show how large a recording becomes.
const FEW: u32 = 20;

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let (mut wall, mut memory) = (Vec::new(), Vec::new());
    // 35,000, 350,000 and 3.5 million ranges.
    for (collections, blocks) in [(7, BLOCKS / 10), (7, BLOCKS), (70, BLOCKS)] {
        let ranges = f64::from(collections) * f64::from(blocks);
        let recording = bench.record(collections, blocks)?;
        let taken = bench.replay(&format!("{:.2} M ranges", ranges / 1e6), &recording);
        let cost = |of: fn(&Cost) -> f64| {
            let gcwatch = taken.iter().find(|variant| variant.name == "gcwatch report")?;
            median(&gcwatch.each(of))
        };
        wall.extend(cost(|cost| cost.wall_ms).map(|wall| (ranges, wall)));
        memory.extend(cost(|cost| cost.memory_mib).map(|memory| (ranges, memory)));
        std::fs::remove_file(recording)?;
    }
    let growth =
        |what: &str, unit, points| Growth { row: ROW, input: "ranges", what: what.into(), unit, points };
    bench.findings.growth.push(growth("wall of gcwatch report", "ms", wall));
    bench.findings.growth.push(growth("memory of gcwatch report", "MiB", memory));
    bench.large(1)
}

/// Ten times what is large already.
pub(super) fn measure_huge(bench: &mut Bench) -> Result<()> {
    if bench.quick {
        bail!("left out by --quick");
    }
    bench.large(10)
}

impl Bench {
    /// A recording of so many collections with so many ranges each.
    fn record(&self, collections: u32, blocks: u32) -> Result<PathBuf> {
        let arguments = format!("per_second=0 seconds=3000 collections={collections} blocks={blocks}");
        let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        // Started with an empty standard input, it begins at once.
        let line = self.app(&self.newest, "pace", &[], &arguments)?;
        let path = self.file(&format!("{collections}-{blocks}.nettrace"));
        let mut command = self.gcwatch();
        self.newest.environment(&mut command);
        command.args(["run", "--level", "moves", "--output", "/dev/null", "--record"]).arg(&path);
        command.arg("--").args(line);
        process::run(command)?;
        Ok(path)
    }

    fn replay(&mut self, case: &str, recording: &Path) -> Vec<Taken<Cost>> {
        let size =
            Figure::new(ROW, case, "size of the recording", "MiB").with("file", vec![tools::mib(recording)]);
        self.findings.figures.push(size);
        let case = case.to_owned();
        self.say(&format!("  {case}"));
        let names = ["cat", "gcwatch report", "gcwatch report --blocks", "TraceEvent"];
        let taken = self.interleave(&case, &names, |bench, name| {
            process::run(match name {
                "cat" => {
                    let mut command = Command::new("cat");
                    command.arg(recording);
                    command
                }
                "TraceEvent" => {
                    let mut command = bench.newest.command(&peer("gcstats/gcstats.dll")?);
                    command.arg(recording).arg("-q");
                    command
                }
                _ => bench.report(recording, name.ends_with("--blocks")),
            })
        });
        let of = |what, unit, value: fn(&Cost) -> f64, against| {
            let figure = Figure::new(ROW, &case, what, unit).against(against);
            taken.iter().fold(figure, |figure, variant| figure.with(variant.name, variant.each(value)))
        };
        self.findings.figures.push(
            of("wall", "ms", |cost| cost.wall_ms, "cat")
                .goal("gcwatch report", Goal::Ratio { to: "cat", at_most: 4.0 })
                .goal("gcwatch report", Goal::Ratio { to: "TraceEvent", at_most: 1.0 / 15.0 }),
        );
        let cpu = of("CPU", "ms", |cost| cost.cpu_ms, "TraceEvent");
        self.findings.figures.push(cpu);
        let memory = of("memory", "MiB", |cost| cost.memory_mib, "TraceEvent");
        self.findings.figures.push(memory.goal("gcwatch report", Goal::AtMost(32.0)));
        taken
    }

    fn report(&self, recording: &Path, blocks: bool) -> Command {
        let mut command = self.gcwatch();
        command.arg("report").arg(recording).args(["--output", "/dev/null"]);
        if blocks {
            command.arg("--blocks");
        }
        command
    }

    /// The memory that a large recording takes. It is recorded, not put together: numbers and times go on as in any.
    fn large(&mut self, gib: u32) -> Result<()> {
        let free = self.free_gib()?;
        if free < f64::from(gib) + 10.0 {
            bail!("{free:.0} GiB of disk are free, 10 more than the recording have to be");
        }
        // How many bytes a collection takes depends on whether the runtime moves the blocks or keeps them.
        let few = self.record(FEW, BLOCKS)?;
        let each = std::fs::metadata(&few)?.len() / u64::from(FEW);
        std::fs::remove_file(few)?;
        let collections = (u64::from(gib) << 30) / each.max(1);
        self.say(&format!("  a recording of {gib} GiB"));
        let recording = self.record(u32::try_from(collections)?, BLOCKS)?;
        let case = format!("recording of more than {gib} GiB");
        let size = Figure::new(ROW, &case, "size of the recording", "MiB")
            .with("file", vec![tools::mib(&recording)]);
        self.findings.figures.push(size);
        let names = ["cat", "gcwatch report"];
        let rounds = std::mem::replace(&mut self.rounds, if gib > 1 { 1 } else { 3 });
        let taken = self.interleave(&case, &names, |bench, name| {
            process::run(match name {
                "cat" => {
                    let mut command = Command::new("cat");
                    command.arg(&recording);
                    command
                }
                _ => bench.report(&recording, false),
            })
        });
        self.rounds = rounds;
        std::fs::remove_file(&recording)?;
        let mut wall = Figure::new(ROW, &case, "wall", "ms").against("cat");
        let mut memory = Figure::new(ROW, &case, "memory", "MiB");
        for variant in &taken {
            wall = wall.with(variant.name, variant.each(|cost| cost.wall_ms));
            memory = memory.with(variant.name, variant.each(|cost| cost.memory_mib));
        }
        self.findings.figures.push(wall.goal("gcwatch report", Goal::Ratio { to: "cat", at_most: 4.0 }));
        self.findings.figures.push(memory.goal("gcwatch report", Goal::AtMost(32.0)));
        Ok(())
    }

    fn free_gib(&self) -> Result<f64> {
        let found = rustix::fs::statvfs(self.dir.path()).context("the free disk space is unknown")?;
        Ok((found.f_bavail as f64) * (found.f_frsize as f64) / f64::from(1 << 30))
    }
}
