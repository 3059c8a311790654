//! Measures tools that attach to one running program in turn. Compares each window with a tool to the windows just
//! before and after it, because two processes of the same program differ by more than a tool costs.

use std::array;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};
use xtask::Clr;
use xtask::testkit::Target;

use super::Bench;
use super::statistics::median;
use super::tools::{Watcher, is_trace, loads_a_profiler};

/// A profiler needs up to half a second to leave after its tool has ended; until then no other can load.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(600);
/// The time after a tool's attach or detach that is not measured.
const SETTLE_TIME: Duration = Duration::from_millis(100);

/// The figures of a window: ns per MB allocated; the median pause of the gen0 collections in ns (of all collections, if
/// there are fewer than three of gen0); the mean pause of all in ns; the number of collections.
pub(super) type Seen = [f64; 4];

/// The figures with a tool, and the means of the windows before and after without one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) with: Seen,
    pub(super) without: Seen,
}

/// The pairs of each tool, one for each round; `None` if a window held fewer than three collections.
pub(super) type Pairs = Vec<(&'static str, Option<Vec<Pair>>)>;

impl Bench {
    /// Runs `tests/apps/load.cs` and lets each tool watch it once in each round.
    pub(super) fn come_and_go(
        &self,
        clr: &Clr,
        arguments: &str,
        env: &[(&str, &str)],
        tools: &[&'static str],
        window: Duration,
    ) -> Result<Pairs> {
        let result = self.file("load.txt");
        let mut target = self.start(clr, "load", &format!("{arguments} result={}", result.display()), env)?;
        let mut rounds = Vec::new();
        let mut profiler_left = Instant::now();
        // The first round does not count: in it, the runtime does its one-time setup for tools.
        for round in 0..=self.rounds {
            let mut windows = vec![pass(window)];
            for name in tools {
                if loads_a_profiler(name) {
                    thread::sleep(LEAVE_TIMEOUT.saturating_sub(profiler_left.elapsed()));
                }
                let watched = self.while_watched(name, clr, &target, || Ok(pass(window)));
                windows.push(watched.context(*name)?);
                if loads_a_profiler(name) {
                    profiler_left = Instant::now();
                }
                thread::sleep(SETTLE_TIME);
                windows.push(pass(window));
            }
            if round > 0 {
                rounds.push(windows);
            }
        }
        target.send_line("")?;
        // We saw .NET 10 hang with large objects, without any tool.
        target.wait(Duration::from_secs(30))?;
        let met = Met::parse(&std::fs::read_to_string(&result).context("the program left no result")?);
        let pairs = |(index, name): (usize, &&'static str)| {
            let each = rounds.iter().map(|round| met.pair(&round[index * 2..=index * 2 + 2]));
            (*name, each.collect::<Option<Vec<Pair>>>())
        };
        Ok(tools.iter().enumerate().map(pairs).collect())
    }

    /// Runs `work` while a tool watches.
    pub(super) fn while_watched<T>(
        &self,
        name: &'static str,
        clr: &Clr,
        target: &Target,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let watcher = self.watch(name, clr, target.pid(), "")?;
        // dotnet-trace takes longer, as the runtime compiles it while it starts.
        thread::sleep(if is_trace(name) { SETTLE_TIME * 4 } else { SETTLE_TIME });
        let found = work()?;
        watcher.map_or(Ok(()), Watcher::interrupt)?;
        Ok(found)
    }
}

/// Waits until the profiler has left after its tool has ended.
pub(super) fn wait_for_leave(name: &str) {
    if loads_a_profiler(name) {
        thread::sleep(LEAVE_TIMEOUT);
    }
}

/// Start and end by the monotonic clock, in ns.
type Window = (u64, u64);

fn pass(duration: Duration) -> Window {
    let from_ns = now_ns();
    thread::sleep(duration);
    (from_ns, now_ns())
}

pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// The program's output: the time at the end of each allocated megabyte; end, pause and generation of each collection.
#[derive(Debug, Default)]
struct Met {
    megabytes_ns: Vec<u64>,
    gcs: Vec<[u64; 3]>,
}

impl Met {
    fn parse(text: &str) -> Self {
        let mut met = Self::default();
        for line in text.lines() {
            let words: Vec<u64> = line.split(' ').skip(1).filter_map(|word| word.parse().ok()).collect();
            match words[..] {
                [end] => met.megabytes_ns.push(end),
                [end, pause, generation] => met.gcs.push([end, pause, generation]),
                _ => {}
            }
        }
        met
    }

    /// The pair of three windows: before, with and after a tool.
    fn pair(&self, windows: &[Window]) -> Option<Pair> {
        let [before, with, after] = windows else { return None };
        let (before, with, after) = (self.seen(*before)?, self.seen(*with)?, self.seen(*after)?);
        Some(Pair { with, without: array::from_fn(|index| f64::midpoint(before[index], after[index])) })
    }

    fn seen(&self, (from_ns, to_ns): Window) -> Option<Seen> {
        let holds = |ns: u64| from_ns <= ns && ns < to_ns;
        let megabytes = self.megabytes_ns.iter().filter(|ns| holds(**ns)).count();
        let pauses = |oldest: u64| -> Vec<f64> {
            let gcs = self.gcs.iter().filter(|gc| holds(gc[0]) && gc[2] <= oldest);
            gcs.map(|gc| gc[1] as f64).collect()
        };
        let (young, all) = (pauses(0), pauses(u64::MAX));
        let median_ns = median(if young.len() >= 3 { &young } else { &all })?;
        let ns_per_mb = (to_ns - from_ns) as f64 / megabytes as f64;
        let count = all.len() as f64;
        (all.len() >= 3 && megabytes >= 3)
            .then(|| [ns_per_mb, median_ns, all.iter().sum::<f64>() / count, count])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_what_ended_in_it() {
        let text = "mb 100\nmb 150\nmb 200\nmb 299\nmb 300\n\
                    gc 90 1 0\ngc 110 7 0\ngc 120 900 2\ngc 130 9 0\ngc 140 8 0\ngc 300 5 0\n";
        let met = Met::parse(text);
        // The median is of gen0, the mean of all.
        let seen = met.seen((100, 300)).unwrap();
        assert_eq!(seen, [50.0, 8.0, 231.0, 4.0]);
        assert!(met.seen((0, 120)).is_none());
    }
}
