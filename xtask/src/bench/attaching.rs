//! How soon it is there: the program's start, the way into a target, and a collection's way to its line.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::time::{ClockId, clock_gettime};

use super::figure::{Figure, Goal};
use super::{Bench, Tool, process, tools};

const ROW: &str = "start-up, attach, and a GC's line";

/// Whether somebody has watched the target before. The first session of a process has its runtime set up its own
/// event source, once for all (15 ms and more, whoever asks).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    First,
    Again,
}

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    bench.start_up()?;
    for visit in [Visit::First, Visit::Again] {
        bench.attach_to_ready(visit);
    }
    bench.line_after_end();
    Ok(())
}

impl Bench {
    fn start_up(&mut self) -> Result<()> {
        let empty = self.file("no-targets");
        std::fs::create_dir_all(&empty)?;
        let rounds = std::mem::replace(&mut self.rounds, if self.quick { 10 } else { 50 });
        for what in ["--version", "ps"] {
            let taken = self.interleave(what, &["true", "gcwatch", "dotnet-trace"], |bench, tool| {
                // Where there are no sockets, no target has to answer.
                let mut command = match tool {
                    "true" => Command::new("true"),
                    "gcwatch" => bench.gcwatch(),
                    _ => bench.newest.command(&tools::dotnet_trace()?),
                };
                if tool != "true" {
                    command.arg(what);
                }
                command.env("TMPDIR", &empty);
                process::wall_ms(command)
            });
            let figure = Figure::new(ROW, what, "wall", "ms").against("dotnet-trace");
            let figure = taken
                .into_iter()
                .fold(figure, |figure, variant| figure.with(variant.name, variant.values))
                .goal("gcwatch", Goal::AtMost(5.0))
                .goal("gcwatch", Goal::Ratio { to: "dotnet-trace", at_most: 0.1 });
            self.findings.figures.push(figure);
        }
        self.rounds = rounds;
        Ok(())
    }

    /// From the tool's start to its being ready, the profiler in the target.
    fn attach_to_ready(&mut self, visit: Visit) {
        let case = match visit {
            Visit::First => "attach, until session and profiler are there",
            Visit::Again => "the same, to a process that had a session before",
        };
        let rounds = std::mem::replace(&mut self.rounds, if self.quick { 5 } else { 20 });
        let names = ["basic", "moves", "roots", "dotnet-trace 0x1"];
        let taken = self.interleave(case, &names, |bench, name| bench.attach_once(name, visit));
        self.rounds = rounds;
        let mut figure = Figure::new(ROW, case, "wall", "ms").against("dotnet-trace 0x1");
        for variant in taken {
            figure = figure.with(variant.name, variant.values);
        }
        for name in ["basic", "moves", "roots"] {
            figure = figure.goal(name, Goal::AtMost(30.0));
        }
        let against = Goal::Ratio { to: "dotnet-trace 0x1", at_most: 0.1 };
        self.findings.figures.push(figure.goal("basic", against));
    }

    fn attach_once(&self, variant: &'static str, visit: Visit) -> Result<f64> {
        let mut target = self.paced("per_second=10 seconds=600")?;
        let output = self.file("attached");
        if output.exists() {
            std::fs::remove_file(&output)?;
        }
        let tool = Tool::named(variant)?;
        let command = self.attach(tool, &self.newest, target.child.id(), &output)?;
        let mut command = command.context("a tool")?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        process::go(&mut target.child)?;
        if visit == Visit::Again {
            let pid = target.child.id().to_string();
            let mut before = self.gcwatch();
            before.args(["attach", &pid, "--level", "basic", "--gcs", "1"]);
            process::wall_ms(before)?;
        }
        let began = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let found = loop {
            let taken = began.elapsed();
            if super::paced::is_ready(tool, &output) {
                break Ok(taken.as_secs_f64() * 1e3);
            }
            if taken > Duration::from_secs(30) || child.try_wait()?.is_some() {
                break Err(anyhow::anyhow!("it was not ready after {taken:?}"));
            }
            thread::sleep(Duration::from_micros(200));
        };
        // The target's end is the tool's.
        drop(target);
        child.wait()?;
        found
    }

    /// From the end of a collection, as the program tells it, to its line of NDJSON.
    fn line_after_end(&mut self) {
        let case = "a GC's end to its line";
        let mut figure = Figure::new(ROW, case, "delay", "ms");
        for level in ["basic", "moves", "roots"] {
            self.say(&format!("  {case}, {level}"));
            match self.delays(level) {
                Ok(delays) => figure = figure.with(level, delays).goal(level, Goal::AtMost(130.0)),
                Err(error) => self.skip(&format!("{case}: {level}"), &error),
            }
        }
        self.findings.figures.push(figure);
    }

    fn delays(&self, level: &'static str) -> Result<Vec<f64>> {
        // Not in step with the runtime's flushes of every 100 ms.
        let count: u32 = if self.quick { 20 } else { 100 };
        let seconds = count / 7 + 2;
        let mut target = self.paced(&format!("per_second=7 seconds={seconds} stamps=1 blocks=100"))?;
        let stamps = target.child.stdout.take().context("no stdout")?;
        let stamps = thread::spawn(move || -> Vec<(u64, i128)> {
            let parse = |line: String| {
                let mut words = line.split(' ').skip_while(|word| !word.ends_with("gc")).skip(1);
                Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
            };
            BufReader::new(stamps).lines().map_while(Result::ok).filter_map(parse).collect()
        });
        let mut command = self
            .attach(Tool::named(level)?, &self.newest, target.child.id(), std::path::Path::new("-"))?
            .context("a tool")?;
        command.args(["--format", "ndjson"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let mut arrived: Vec<(u64, i128)> = Vec::new();
        let lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        for line in lines.map_while(Result::ok) {
            let now = clock_gettime(ClockId::Monotonic);
            let now_ns = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
            let line: serde_json::Value = serde_json::from_str(&line)?;
            if line["type"] == "start" {
                process::go(&mut target.child)?;
            }
            if let Some(number) = line["number"].as_u64() {
                arrived.push((number, now_ns));
            }
        }
        child.wait()?;
        let Ok(stamps) = stamps.join() else { bail!("the stamps could not be read") };
        let delay = |(number, at): &(u64, i128)| {
            let (_, ended) = stamps.iter().find(|(stamped, _)| stamped == number)?;
            Some((at - ended) as f64 / 1e6)
        };
        let delays: Vec<f64> = arrived.iter().filter_map(delay).collect();
        if delays.len() < count as usize / 2 {
            bail!("only {} of {} collections had a line", delays.len(), stamps.len());
        }
        Ok(delays)
    }
}
