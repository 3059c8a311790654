//! How fast gcwatch is: until it has started, until it has attached, and until it shows a collection.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::testkit::Target;

use super::figure::Bound::{AtMost, Ratio};
use super::tools::{LIMIT, dotnet_trace};
use super::windows::now_ns;
use super::{Bench, Case, Figure, process};

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    bench.start_up()?;
    bench.attach_until_ready();
    bench.line_after_end();
    Ok(())
}

impl Bench {
    fn start_up(&mut self) -> Result<()> {
        // In a directory without sockets, `ps` waits for no target.
        let empty = self.file("no-targets");
        std::fs::create_dir_all(&empty)?;
        let rounds = self.rounds * 8;
        for what in ["--version", "ps"] {
            let wall = Figure::new("wall", "ms").against("dotnet-trace").goal("gcwatch", AtMost(5.0));
            let figures = vec![wall.goal("gcwatch", Ratio("dotnet-trace".into(), 0.1))];
            let variants = &["true", "gcwatch", "dotnet-trace"];
            self.measure(Case { name: what.to_owned(), variants, rounds, figures }, |bench, tool| {
                let mut command = match tool {
                    "true" => Command::new("true"),
                    "gcwatch" => bench.gcwatch(&bench.newest),
                    _ => bench.newest.command(&dotnet_trace()?),
                };
                command.args((tool != "true").then_some(what)).env("TMPDIR", &empty);
                Ok(vec![process::wall_ms(command)?])
            });
        }
        Ok(())
    }

    /// From the tool's start until session and profiler are ready. For the first session of a process, the runtime sets
    /// up its own event source, which takes 15 ms or more.
    fn attach_until_ready(&mut self) {
        let rounds = self.rounds * 3;
        for name in ["first attach to a process", "second attach"] {
            let mut wall = Figure::new("wall", "ms").against("dotnet-trace 0x1");
            for level in ["basic", "moves", "roots"] {
                wall = wall.goal(level, AtMost(30.0));
            }
            let figures = vec![wall.goal("basic", Ratio("dotnet-trace 0x1".into(), 0.1))];
            let variants = &["basic", "moves", "roots", "dotnet-trace 0x1"];
            self.measure(Case { name: name.to_owned(), variants, rounds, figures }, |bench, variant| {
                let mut target = bench.start(&bench.newest, "pace", "per_second=10 seconds=600", &[])?;
                target.send_line("")?;
                if name.starts_with("second") {
                    let mut before = bench.gcwatch(&bench.newest);
                    before.args(["attach", &target.pid().to_string(), "--level", "basic", "--gcs", "1"]);
                    process::wall_ms(before)?;
                }
                let watcher = bench.watch(variant, &bench.newest, target.pid(), "")?;
                Ok(vec![watcher.context("a tool")?.ready_ms])
            });
        }
    }

    /// From the end of a collection by the program's clock to its line of NDJSON.
    fn line_after_end(&mut self) {
        let name = "from the end of a GC to its line";
        self.say(&format!("  {name}"));
        let mut figure = Figure::new("delay", "ms");
        for level in ["basic", "moves", "roots"] {
            match self.delays_ms(level) {
                Ok(delays) => figure = figure.with(level, delays).goal(level, AtMost(130.0)),
                Err(error) => self.skip(&format!("{name}: {level}"), &error),
            }
        }
        self.add(name, figure);
    }

    fn delays_ms(&self, level: &'static str) -> Result<Vec<f64>> {
        // 7 collections a second are not in step with the runtime, which flushes every 100 ms.
        let mut target =
            self.start(&self.newest, "pace", "per_second=7 seconds=16 stamps=1 blocks=100", &[])?;
        let command = self.attach(level, &self.newest, target.pid(), Path::new("-"))?;
        let mut command = command.context("a tool")?;
        command.args(["--format", "ndjson"]);
        let mut watcher = Target::spawn(command)?;
        let mut arrived: Vec<(u64, u64)> = Vec::new();
        while let Ok(line) = watcher.wait_line("{", LIMIT) {
            let at = now_ns();
            let line: serde_json::Value = serde_json::from_str(&format!("{{{line}"))?;
            if line["type"] == "start" {
                target.send_line("")?;
            }
            arrived.extend(line["number"].as_u64().map(|number| (number, at)));
        }
        target.wait(LIMIT)?;
        let delay = |(number, at): &(u64, u64)| {
            let stamp = |line: &String| line.strip_prefix(&format!("gc {number} "))?.parse::<u64>().ok();
            Some(at.saturating_sub(target.lines().iter().find_map(stamp)?) as f64 / 1e6)
        };
        let delays: Vec<f64> = arrived.iter().filter_map(delay).collect();
        if delays.len() < 50 {
            bail!("only {} of 112 collections had a line\n{watcher:?}", delays.len());
        }
        Ok(delays)
    }
}
