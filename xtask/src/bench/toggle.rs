//! What watching does to a program, within one process: a tool comes and goes, again and again, and each time is held
//! against the times just before and after it. Two processes of the same program differ by more than a tool costs.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use xtask::Clr;

use super::figure::{Figure, Goal};
use super::statistics::median;
use super::{Bench, Tool, paced, process};

const ROW: &str = "one program, a tool coming and going";
/// A profiler needs up to half a second to leave after its tool has ended.
const LEAVING: Duration = Duration::from_millis(600);

const TOOLS: [&str; 5] = ["basic", "moves", "roots", "floor", "dotnet-trace 0x400001"];

/// A stretch of time by the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

/// So many megabytes allocated.
#[derive(Debug, Clone, Copy)]
struct Step {
    end_ns: u64,
    stall_ns: f64,
    stalls: f64,
}

/// What a window holds.
#[derive(Debug, Clone, Copy)]
struct Seen {
    ns_per_step: f64,
    stall_ns_per_gc: f64,
}

pub(super) fn measure(bench: &mut Bench) -> Result<()> {
    let loads = [
        ("1 million live objects, 100 roots", "old=1000000 handles=100"),
        ("100,000 live objects, 1,000 roots, 100 frames", "old=100000 handles=1000 depth=100"),
    ];
    for clr in bench.clrs.clone() {
        for server in [false, true] {
            for (name, arguments) in loads {
                if bench.quick && name.contains("frames") {
                    continue;
                }
                let heap = if server { "server" } else { "workstation" };
                let case = format!("{} {heap}, {name}", clr.name);
                bench.say(&format!("  {case}"));
                if let Err(error) = bench.toggled(&clr, server, &case, arguments) {
                    bench.skip(&case, &error);
                }
            }
        }
    }
    Ok(())
}

impl Bench {
    fn toggled(&mut self, clr: &Clr, server: bool, case: &str, arguments: &str) -> Result<()> {
        let (windows, steps) = self.come_and_go(clr, server, arguments)?;
        let mut wall = Figure::new(ROW, case, "wall, of without a tool", "x").against("none");
        let mut stall = Figure::new(ROW, case, "pause per GC, of without a tool", "x").against("none");
        let mut alone = (Vec::new(), Vec::new());
        for (index, tool) in TOOLS.iter().copied().enumerate() {
            let (mut walls, mut stalls) = (Vec::new(), Vec::new());
            for round in &windows {
                let seen = |at: usize| look(&steps, round[at]).with_context(|| format!("{tool}: a window"));
                let (before, with, after) = (seen(index * 2)?, seen(index * 2 + 1)?, seen(index * 2 + 2)?);
                let without = |of: fn(&Seen) -> f64| f64::midpoint(of(&before), of(&after));
                walls.push(with.ns_per_step / without(|seen| seen.ns_per_step));
                stalls.push(with.stall_ns_per_gc / without(|seen| seen.stall_ns_per_gc));
                if index == 0 {
                    alone.0.push(before.ns_per_step / 1e6);
                    alone.1.push(before.stall_ns_per_gc / 1e6);
                }
            }
            if index == 0 {
                wall = wall.with("none", vec![1.0; walls.len()]);
                stall = stall.with("none", vec![1.0; stalls.len()]);
            }
            wall = wall.with(tool, walls);
            stall = stall.with(tool, stalls);
        }
        let goals = |figure: Figure, roots_to_none: f64| {
            figure
                .goal("basic", Goal::Same { to: "none", at_most: 1.03 })
                .goal("moves", Goal::Ratio { to: "none", at_most: 1.05 })
                .goal("moves", Goal::Ratio { to: "dotnet-trace 0x400001", at_most: 1.0 })
                .goal("roots", Goal::Ratio { to: "floor", at_most: 1.05 })
                .goal("roots", Goal::Ratio { to: "none", at_most: roots_to_none })
        };
        self.findings.figures.extend([
            goals(wall, 1.10),
            goals(stall, 1.20),
            Figure::new(ROW, case, "wall per 32 MB, no tool", "ms").with("none", alone.0),
            Figure::new(ROW, case, "pause per GC, no tool", "ms").with("none", alone.1),
        ]);
        Ok(())
    }

    /// Windows of each round: without a tool, with the first, without, with the second, and so on.
    fn come_and_go(&self, clr: &Clr, server: bool, arguments: &str) -> Result<(Vec<Vec<Window>>, Vec<Step>)> {
        let window = Duration::from_millis(if self.quick { 400 } else { 700 });
        let result = self.file("steps.txt");
        let mut arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
        arguments.extend(["step_mb=32".to_owned(), format!("result={}", result.display())]);
        // A server heap's own choice of gen0's size would leave a collection a second.
        let gen0 = ("DOTNET_GCgen0size", format!("{:x}", 16 << 20));
        let settings = [("DOTNET_gcServer", u8::from(server).to_string()), gen0];
        let line = self.app(clr, "load", &settings, &arguments)?;
        let mut command = self.run_under(Tool::None, clr, &line)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = Ended(command.spawn()?);
        let stdout = program.0.stdout.as_mut().context("no stdout")?;
        std::io::Read::read_exact(stdout, &mut [0]).context("the program ended at once")?;
        // Its code is compiled again, better, while it runs.
        thread::sleep(Duration::from_secs(1));
        let mut rounds = Vec::new();
        // The first round is not counted: what a tool meets for the first time is made then.
        for round in 0..=self.rounds {
            let mut windows = vec![stretch(window)];
            for tool in TOOLS {
                let output = self.file("watched");
                if output.exists() {
                    std::fs::remove_file(&output)?;
                }
                let command = self.attach(Tool::named(tool), clr, program.0.id(), &output)?;
                windows.push(with_tool(Tool::named(tool), command.context("a tool")?, &output, window)?);
                if matches!(tool, "roots" | "floor") {
                    thread::sleep(LEAVING);
                }
                windows.push(stretch(window));
            }
            if round > 0 {
                rounds.push(windows);
            }
        }
        process::go(&mut program.0)?;
        if !program.0.wait()?.success() {
            bail!("the program did not end well");
        }
        let text = std::fs::read_to_string(&result).context("the program left no result")?;
        std::fs::remove_file(&result)?;
        Ok((rounds, text.lines().filter_map(step).collect()))
    }
}

/// A window in which a tool watches.
fn with_tool(tool: Tool, mut command: Command, output: &Path, window: Duration) -> Result<Window> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut watcher = Ended(command.spawn()?);
    paced::wait_for(tool, output, &mut watcher.0)?;
    let found = stretch(window);
    if watcher.0.try_wait()?.is_some() {
        bail!("{command:?} ended by itself");
    }
    let pid = i32::try_from(watcher.0.id()).ok().and_then(Pid::from_raw).context("a process id")?;
    kill_process(pid, Signal::INT)?;
    process::finish_in_place(&mut watcher.0, Duration::from_secs(30))?;
    Ok(found)
}

/// Lets time pass.
fn stretch(window: Duration) -> Window {
    let from_ns = now_ns();
    let until = Instant::now() + window;
    thread::sleep(until.saturating_duration_since(Instant::now()));
    Window { from_ns, to_ns: now_ns() }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

fn step(line: &str) -> Option<Step> {
    let mut words = line.strip_prefix("step ")?.split(' ');
    let mut next = || words.next()?.parse::<u64>().ok();
    Some(Step { end_ns: next()?, stall_ns: next()? as f64, stalls: next()? as f64 })
}

/// The middle one of the steps that lie in a window as a whole; too few say nothing.
fn look(steps: &[Step], window: Window) -> Option<Seen> {
    let inside = |pair: &&[Step]| pair[0].end_ns >= window.from_ns && pair[1].end_ns <= window.to_ns;
    let (mut each_ns, mut stalls_ns) = (Vec::new(), Vec::new());
    for pair in steps.windows(2).filter(inside) {
        each_ns.push((pair[1].end_ns - pair[0].end_ns) as f64);
        if pair[1].stalls > 0.0 {
            stalls_ns.push(pair[1].stall_ns / pair[1].stalls);
        }
    }
    (stalls_ns.len() >= 3)
        .then(|| Some(Seen { ns_per_step: median(&each_ns)?, stall_ns_per_gc: median(&stalls_ns)? }))?
}

/// A process that is over when this is dropped.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_across_a_border_are_left_out() {
        let steps: Vec<Step> =
            ["step 100 7 1", "step 200 5 1", "done gcs=3", "step 300 10 1", "step 400 15 2", "step 500 9 1"]
                .into_iter()
                .filter_map(step)
                .collect();
        assert_eq!(steps.len(), 5);
        let seen = look(&steps, Window { from_ns: 100, to_ns: 450 }).unwrap();
        assert_eq!((seen.ns_per_step, seen.stall_ns_per_gc), (100.0, 7.5));
        assert!(look(&steps, Window { from_ns: 150, to_ns: 450 }).is_none());
    }
}
