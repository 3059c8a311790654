//! What a heap graph costs the program: one of `gcwatch graph`, and a snapshot of the heap through the runtime's events,
//! as dotnet-gcdump takes it.

mod memory;
mod requests;
mod served;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xtask::testkit::{Skip, Target};
use xtask::{Clr, clr, workspace};

use self::memory::{Memory, Sampler};
use super::figure::Bound::{AtMost, Ratio};
use super::statistics::median;
use super::tools::{LIMIT, mib};
use super::{Bench, Case, Figure, NONE, process};

const GRAPH: &str = "gcwatch graph";
const SNAPSHOT: &str = "EventPipe snapshot";
const VARIANTS: [&str; 3] = [NONE, GRAPH, SNAPSHOT];
const MILLION: u32 = 1_000_000;
/// What program, copy and tools need for each object, in bytes.
const BYTES_NEEDED: u64 = 200;
/// The program collects about three times a second.
const ALLOCATION: &str = "allocate_mb=40";
const GEN0: (&str, &str) = ("DOTNET_GCgen0size", "1000000");
/// How long the program is watched without a graph, and after each one.
const WINDOW: Duration = Duration::from_secs(2);

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let snapshot = workspace::release_example("dotnet-diagnostics-client", "heap_snapshot")?;
    for clr in clr::find_all()? {
        bench.heap(&clr, MILLION, &snapshot)?;
    }
    let newest = bench.newest.clone();
    bench.heap(&newest, 10 * MILLION, &snapshot)?;
    bench.heap(&newest, 50 * MILLION, &snapshot)?;
    served::measure(bench, &snapshot)
}

/// What one graph did to the program.
struct Cost {
    /// Pause of its collection; without a tool of the median collection.
    pause_ms: f64,
    /// Pause of the median of the other collections meanwhile.
    ordinary_ms: f64,
    wall_ms: f64,
    file_mib: f64,
    lost: f64,
    memory: Memory,
}

impl Bench {
    fn heap(&mut self, clr: &Clr, objects: u32, snapshot: &Path) -> Result<()> {
        let name = format!("{} workstation {} million objects", clr.name, objects / MILLION);
        if !self.wants(&name) {
            return Ok(());
        }
        if let Err(why) = enough_memory(objects) {
            self.skip(&name, &why.into());
            return Ok(());
        }
        let arguments = format!("objects={objects} {ALLOCATION}");
        let mut program = self.start(clr, "millions", &arguments, &[("DOTNET_gcServer", "0"), GEN0])?;
        let figure = |what, unit| Figure::new(what, unit).against(SNAPSHOT);
        let less = |what, unit, ratio| figure(what, unit).goal(GRAPH, Ratio(SNAPSHOT.into(), ratio));
        let figures = vec![
            less("pause of its collection", "ms", 0.2),
            figure("pause of the median other collection", "ms"),
            less("longest stall that the program saw", "ms", 0.5),
            less("wall until the file is whole", "ms", 1.0),
            less("size of the file", "MiB", 0.5),
            Figure::new("lost events", "").goal(GRAPH, AtMost(0.0)),
            less("growth of the program and memory of its copy", "MiB", 1.0),
            figure("memory of the copy alone", "MiB"),
            figure("memory of the tool meanwhile", "MiB"),
        ];
        let rounds = self.rounds;
        let files = [self.file("a.gcgraph"), self.file("a.nettrace")];
        let case = Case { name: name.clone(), variants: &VARIANTS, rounds, figures };
        self.measure(case, |bench, variant| {
            program.ask("begin", "began", LIMIT)?;
            let cost = bench.graph_of(clr, program.pid(), variant, snapshot, &files)?;
            program.ask("stall", "stall", LIMIT)?;
            let stall_us: f64 = program.fact("longest_us").context("no stall")?.parse()?;
            let Memory { grown_mib, copy_mib, tool_mib } = cost.memory;
            Ok(vec![
                cost.pause_ms,
                cost.ordinary_ms,
                stall_us / 1e3,
                cost.wall_ms,
                cost.file_mib,
                cost.lost,
                grown_mib + copy_mib,
                copy_mib,
                tool_mib,
            ])
        });
        program.send_line("exit")?;
        program.wait(LIMIT)?;
        self.answers(&format!("answer of {name}"), &files);
        Ok(())
    }

    /// Takes one graph of a process, while another gcwatch watches its collections without a profiler.
    fn graph_of(
        &self,
        clr: &Clr,
        pid: u32,
        variant: &'static str,
        snapshot: &Path,
        files: &[PathBuf; 2],
    ) -> Result<Cost> {
        let watcher = self.watch("basic", clr, pid, "--format ndjson")?.context("no watcher")?;
        std::thread::sleep(WINDOW);
        let began = Instant::now();
        let (memory, wall_ms, taken) = if variant == NONE {
            let sampler = Sampler::start(pid, None);
            std::thread::sleep(WINDOW);
            (sampler.stop(), 0.0, None)
        } else {
            let mut tool = self.taker(clr, pid, variant, snapshot, files)?;
            let sampler = Sampler::start(pid, Some(tool.pid()));
            // gcwatch goes on to its answer when the file is there.
            while tool.wait(Duration::ZERO).is_err() && !(variant == GRAPH && files[0].exists()) {
                if began.elapsed() > LIMIT {
                    bail!("no graph in time\n{tool:?}");
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            let wall_ms = began.elapsed().as_secs_f64() * 1e3;
            let memory = sampler.stop();
            let status = tool.wait(LIMIT)?;
            // 11: something was lost, which is measured below.
            if !matches!(status.code(), Some(0 | 11)) {
                bail!("{status}\n{tool:?}");
            }
            (memory, wall_ms, Some(tool))
        };
        std::thread::sleep(WINDOW);
        watcher.interrupt()?;
        let records = records(&fs::read_to_string(self.file("watched"))?)?;
        let number = |gc: &Value| gc["number"].as_u64();
        let its = match (variant, &taken) {
            (GRAPH, Some(tool)) => {
                let answer: Value = serde_json::from_str(&tool.lines().join("\n"))?;
                let its = answer["taken"]["gc_number"].as_u64();
                records.iter().find(|gc| number(gc) == its)
            }
            (SNAPSHOT, _) => records.iter().find(|gc| gc["induced"] == true && gc["generation"] == 2),
            _ => None,
        };
        let pause_ms = |gc: &Value| gc["pause_ns"].as_f64().map(|ns| ns / 1e6);
        let others = records.iter().filter(|gc| its.is_none_or(|its| number(its) != number(gc)));
        let others: Vec<f64> = others.filter_map(pause_ms).collect();
        let ordinary_ms = median(&others).context("no other collection")?;
        if variant == NONE {
            let (file_mib, lost) = (0.0, 0.0);
            return Ok(Cost { pause_ms: ordinary_ms, ordinary_ms, wall_ms, file_mib, lost, memory });
        }
        let file = &files[usize::from(variant == SNAPSHOT)];
        let lost = if variant == SNAPSHOT { self.lost(file)? } else { 0.0 };
        let pause_ms = its.and_then(pause_ms).context("its collection was not seen")?;
        Ok(Cost { pause_ms, ordinary_ms, wall_ms, file_mib: mib(file)?, lost, memory })
    }

    fn taker(
        &self,
        clr: &Clr,
        pid: u32,
        variant: &str,
        snapshot: &Path,
        files: &[PathBuf; 2],
    ) -> Result<Target> {
        let [graph, recording] = files;
        let file = if variant == GRAPH { graph } else { recording };
        if file.exists() {
            fs::remove_file(file)?;
        }
        let mut command = if variant == GRAPH { self.gcwatch(clr) } else { Command::new(snapshot) };
        match variant {
            GRAPH => command
                .args(["graph", &pid.to_string(), "--within", "60s", "--format", "json", "-o"])
                .arg(graph),
            _ => command.arg(pid.to_string()).arg(recording),
        };
        let mut tool = Target::spawn(command)?;
        tool.close_stdin();
        Ok(tool)
    }

    /// How many events a recording has lost.
    fn lost(&self, recording: &Path) -> Result<f64> {
        let mut command = self.gcwatch(&self.newest);
        command.args(["report", "--format", "openmetrics"]).arg(recording);
        let output = command.output()?;
        let page = String::from_utf8_lossy(&output.stdout).into_owned();
        let lost = page.lines().filter(|line| line.starts_with("gcwatch_lost_total"));
        Ok(lost.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// How long gcwatch takes for its answer from each file, and with how much memory.
    fn answers(&mut self, name: &str, files: &[PathBuf; 2]) {
        let figures = vec![
            Figure::new("wall", "ms").against(SNAPSHOT).goal(GRAPH, Ratio(SNAPSHOT.into(), 1.0)),
            Figure::new("memory", "MiB").against(SNAPSHOT).goal(GRAPH, Ratio(SNAPSHOT.into(), 1.0)),
        ];
        let case = Case { name: name.to_owned(), variants: &VARIANTS[1..], rounds: 1, figures };
        self.measure(case, |bench, variant| {
            let mut command = bench.gcwatch(&bench.newest);
            command.arg("graph").arg(&files[usize::from(variant == SNAPSHOT)]);
            let cost = process::run(command)?;
            Ok(vec![cost.wall_ms, cost.memory_mib])
        });
    }
}

/// The lines of collections.
fn records(ndjson: &str) -> Result<Vec<Value>> {
    let lines = ndjson.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>()?;
    Ok(lines.into_iter().filter(|line| line["type"] == "gc").collect())
}

fn enough_memory(objects: u32) -> Result<(), Skip> {
    let needed = u64::from(objects) * BYTES_NEEDED;
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?.trim();
        Some(line.strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
    });
    match available {
        Some(free) if free < needed => {
            Err(Skip::because(format!("it needs {} MiB, and {} are free", needed >> 20, free >> 20)))
        }
        _ => Ok(()),
    }
}
