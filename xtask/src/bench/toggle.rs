//! A program under which tools come and go: each time with a tool is held against the times just before and after it.
//! Two processes of the same program differ by more than a tool costs.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use xtask::Clr;

use super::process::{self, Ended};
use super::statistics::median;
use super::{Bench, Tool, paced};

/// A profiler needs up to half a second to leave after its tool has ended; none else can come before.
pub(super) const LEAVING: Duration = Duration::from_millis(600);
/// What a tool and the runtime still have to do when one has come or gone is not in the figures.
const SETTLING: Duration = Duration::from_millis(100);

/// A program, and what to run under it.
#[derive(Debug)]
pub(super) struct Load<'a> {
    pub(super) arguments: &'a str,
    pub(super) settings: Vec<(&'static str, String)>,
    pub(super) tools: &'static [&'static str],
    pub(super) window: Duration,
}

/// What a stretch of time held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) ns_per_mb: f64,
    /// The middle one of the gen0 collections, of all where there are too few.
    pub(super) median_stall_ns: f64,
    /// Of all collections.
    pub(super) mean_stall_ns: f64,
    pub(super) gcs: f64,
}

/// With a tool, and the means of just before and after.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) with: Seen,
    pub(super) without: Seen,
}

/// A tool, and its pairs.
pub(super) type Found = (&'static str, Option<Vec<Pair>>);

impl Bench {
    /// For each tool, a pair per round; `None` where a window held too few collections.
    pub(super) fn come_and_go(&self, clr: &Clr, load: &Load<'_>) -> Result<Vec<Found>> {
        let result = self.file("met.txt");
        let mut arguments: Vec<String> = load.arguments.split_whitespace().map(str::to_owned).collect();
        arguments.push(format!("result={}", result.display()));
        let line = self.app(clr, "load", &load.settings, &arguments)?;
        let mut command = self.run_under(Tool::None, clr, &line)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = Ended(command.spawn()?);
        let stdout = program.0.stdout.as_mut().context("no stdout")?;
        stdout.read_exact(&mut [0]).context("the program ended at once")?;
        let mut rounds = Vec::new();
        let mut left = None;
        // The first round is not counted: what a tool meets for the first time is made then.
        for round in 0..=self.rounds {
            let mut windows = vec![stretch(load.window)];
            for name in load.tools {
                let tool = Tool::named(name)?;
                if tool.is_profiler() {
                    thread::sleep(
                        left.map_or(Duration::ZERO, |left: Instant| LEAVING.saturating_sub(left.elapsed())),
                    );
                }
                let output = self.file("watched");
                windows.push(match self.attach(tool, clr, program.0.id(), &output)? {
                    Some(command) => while_watched(tool, command, &output, || Ok(stretch(load.window)))
                        .with_context(|| (*name).to_owned())?,
                    None => {
                        thread::sleep(SETTLING);
                        stretch(load.window)
                    }
                });
                if tool.is_profiler() {
                    left = Some(Instant::now());
                }
                thread::sleep(SETTLING);
                windows.push(stretch(load.window));
            }
            if round > 0 {
                rounds.push(windows);
            }
        }
        process::go(&mut program.0)?;
        // A runtime can come to a standstill of its own: .NET 10 was seen so, with large objects and no tool at all.
        process::finish_in_place(&mut program.0, Duration::from_secs(30)).context("the program")?;
        let text = std::fs::read_to_string(&result).context("the program left no result")?;
        std::fs::remove_file(&result)?;
        let met = Met::parse(&text);
        let pairs = |(index, name): (usize, &&'static str)| {
            let each = rounds.iter().map(|round| met.pair(&round[index * 2..=index * 2 + 2]));
            (*name, each.collect::<Option<Vec<Pair>>>())
        };
        Ok(load.tools.iter().enumerate().map(pairs).collect())
    }
}

/// A stretch of time by the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Window {
    from_ns: u64,
    to_ns: u64,
}

impl Window {
    fn holds(self, ns: u64) -> bool {
        self.from_ns <= ns && ns < self.to_ns
    }
}

/// What is done while a tool watches; the tool ends as Ctrl-C ends it.
pub(super) fn while_watched<T>(
    tool: Tool,
    mut command: Command,
    output: &Path,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if output.exists() {
        std::fs::remove_file(output)?;
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut watcher = Ended(command.spawn()?);
    paced::wait_for(tool, output, &mut watcher.0)?;
    // A .NET program is compiled while it starts.
    thread::sleep(if matches!(tool, Tool::Trace(_)) { SETTLING * 4 } else { SETTLING });
    let found = work()?;
    if watcher.0.try_wait()?.is_some() {
        let mut said = String::new();
        watcher.0.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said)).transpose()?;
        bail!("it did not watch to the end: {}", said.trim());
    }
    end(tool, &mut watcher)?;
    Ok(found)
}

/// As Ctrl-C does. dotnet-trace now and then goes on all the same: then as whoever waits for it would.
fn end(tool: Tool, watcher: &mut Ended) -> Result<()> {
    let pid = i32::try_from(watcher.0.id()).ok().and_then(Pid::from_raw).context("a process id")?;
    if !matches!(tool, Tool::Trace(_)) {
        kill_process(pid, Signal::INT)?;
        return process::finish_in_place(&mut watcher.0, Duration::from_secs(30));
    }
    for signal in [Signal::INT, Signal::INT, Signal::KILL] {
        kill_process(pid, signal)?;
        if process::finish_in_place(&mut watcher.0, Duration::from_secs(3)).is_ok() {
            break;
        }
    }
    Ok(())
}

/// Lets time pass.
fn stretch(window: Duration) -> Window {
    let from_ns = now_ns();
    thread::sleep(window);
    Window { from_ns, to_ns: now_ns() }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// What the program noted.
#[derive(Debug, Default)]
struct Met {
    megabytes_ns: Vec<u64>,
    gcs: Vec<Gc>,
}

#[derive(Debug, Clone, Copy)]
struct Gc {
    end_ns: u64,
    stall_ns: f64,
    generation: u64,
}

impl Met {
    fn parse(text: &str) -> Self {
        let mut met = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let kind = words.next();
            let mut next = || words.next()?.parse::<u64>().ok();
            match kind {
                Some("mb") => met.megabytes_ns.extend(next()),
                Some("gc") => {
                    if let (Some(end_ns), Some(stall_ns), Some(generation)) = (next(), next(), next()) {
                        met.gcs.push(Gc { end_ns, stall_ns: stall_ns as f64, generation });
                    }
                }
                _ => {}
            }
        }
        met
    }

    /// Three windows: before, with, after.
    fn pair(&self, windows: &[Window]) -> Option<Pair> {
        let [before, with, after] = windows else { return None };
        let (before, after) = (self.look(*before)?, self.look(*after)?);
        let of = |value: fn(&Seen) -> f64| f64::midpoint(value(&before), value(&after));
        let without = Seen {
            ns_per_mb: of(|seen| seen.ns_per_mb),
            median_stall_ns: of(|seen| seen.median_stall_ns),
            mean_stall_ns: of(|seen| seen.mean_stall_ns),
            gcs: of(|seen| seen.gcs),
        };
        Some(Pair { with: self.look(*with)?, without })
    }

    /// Too few collections say nothing.
    fn look(&self, window: Window) -> Option<Seen> {
        let megabytes = self.megabytes_ns.iter().filter(|ns| window.holds(**ns)).count();
        let gcs: Vec<Gc> = self.gcs.iter().filter(|gc| window.holds(gc.end_ns)).copied().collect();
        let all: Vec<f64> = gcs.iter().map(|gc| gc.stall_ns).collect();
        let young: Vec<f64> = gcs.iter().filter(|gc| gc.generation == 0).map(|gc| gc.stall_ns).collect();
        let mean_stall_ns = all.iter().sum::<f64>() / all.len() as f64;
        let median_stall_ns = median(if young.len() >= 3 { &young } else { &all })?;
        (all.len() >= 3 && megabytes >= 3).then(|| Seen {
            ns_per_mb: (window.to_ns - window.from_ns) as f64 / megabytes as f64,
            median_stall_ns,
            mean_stall_ns,
            gcs: all.len() as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_what_ended_in_it() {
        let text = "mb 100\nmb 150\nmb 200\nmb 299\nmb 300\n\
                    gc 90 1 0\ngc 110 7 0\ngc 120 900 2\ngc 130 9 0\ngc 140 8 0\ngc 300 5 0\n";
        let seen = Met::parse(text).look(Window { from_ns: 100, to_ns: 300 }).unwrap();
        // Of the younger collections alone; the mean is of all.
        assert_eq!((seen.ns_per_mb, seen.median_stall_ns, seen.mean_stall_ns), (50.0, 8.0, 231.0));
        assert!(Met::parse(text).look(Window { from_ns: 0, to_ns: 120 }).is_none());
    }
}
