//! `cargo xtask fuzz`: builds the targets of `fuzz/` and runs them. It does not need cargo-fuzz, but gives the compiler
//! the same flags. libFuzzer comes with the crate `libfuzzer-sys`, which needs a C++ compiler.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};

/// The fuzz targets; `fuzz/README.md` describes them.
const TARGETS: [&str; 8] = ["reader", "recording", "ipc", "assert", "json", "graph", "gcdump", "snapshot"];
/// Counts every edge and traces comparisons. There is no sanitizer, because the code is safe Rust: fuzzing finds
/// panics, and what the overflow checks and assertions of `fuzz/Cargo.toml` catch.
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];
/// For each input: seconds, MiB in total, and MiB in one allocation.
const LIMITS: [&str; 3] = ["-timeout=20", "-rss_limit_mb=1024", "-malloc_limit_mb=256"];
/// The maximum length of an input in bytes.
const MAX_INPUT_BYTES: &str = "-max_len=65536";

#[derive(Debug, clap::Args)]
pub(crate) struct Fuzz {
    /// How long each target runs, in seconds; 0 only replays the inputs in fuzz/corpus
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    /// Only this target; may be given several times
    #[arg(long, value_parser = TARGETS)]
    target: Vec<String>,
    /// Afterwards, keep in fuzz/corpus/ the smallest set of inputs with the same coverage
    #[arg(long)]
    keep: bool,
}

/// The result of one target.
#[derive(Debug, Default)]
struct Stats {
    executions: u64,
    edges: u64,
    features: u64,
    finding: Option<PathBuf>,
}

impl Fuzz {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let targets: Vec<&str> = TARGETS
            .into_iter()
            .filter(|target| self.target.is_empty() || self.target.iter().any(|wanted| wanted == target))
            .collect();
        let mut out = io::stdout();
        let Some(host) = host() else {
            writeln!(out, "fuzz: {} targets skipped: libFuzzer is built here for Linux only", targets.len())?;
            return Ok(ExitCode::SUCCESS);
        };
        if let Some(reason) = no_compiler() {
            writeln!(out, "fuzz: {} targets skipped: {reason}", targets.len())?;
            return Ok(ExitCode::SUCCESS);
        }
        let places = Places::new();
        let programs = places.build(host)?;
        writeln!(
            out,
            "{:<10} {:>12} {:>9} {:>7} {:>9}  finding",
            "target", "executions", "seconds", "edges", "features"
        )?;
        let mut findings = 0;
        for target in targets {
            let stats = places.fuzz(&programs, target, self.seconds)?;
            findings += usize::from(stats.finding.is_some());
            let finding = stats.finding.map_or("none".to_owned(), |path| path.display().to_string());
            let Stats { executions, edges, features, .. } = stats;
            writeln!(
                out,
                "{target:<10} {executions:>12} {:>9} {edges:>7} {features:>9}  {finding}",
                self.seconds
            )?;
            if self.keep {
                places.keep(&programs, target)?;
            }
        }
        writeln!(out, "fuzz: {findings} findings")?;
        Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The target triple of this machine. With an explicit triple, Cargo builds procedural macros without the flags.
fn host() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("x86_64-unknown-linux-gnu"),
        ("linux", "aarch64") => Some("aarch64-unknown-linux-gnu"),
        _ => None,
    }
}

/// The reason why libFuzzer cannot be built, if it cannot.
fn no_compiler() -> Option<String> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let run = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match run {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("the C++ compiler {compiler} fails: {status}")),
        Err(error) => Some(format!("there is no C++ compiler {compiler}: {error}")),
    }
}

struct Places {
    /// `fuzz/` in the repository.
    fuzz: PathBuf,
    /// The directory for builds and findings.
    target: PathBuf,
}

impl Places {
    fn new() -> Self {
        let target = xtask::workspace::target_dir().join("fuzz");
        Self { fuzz: xtask::workspace::root().join("fuzz"), target }
    }

    /// Builds all targets, and returns their directory.
    fn build(&self, host: &str) -> Result<PathBuf> {
        let status = xtask::workspace::cargo()
            .args(["build", "--quiet", "--release", "--bins", "--target", host])
            .arg("--manifest-path")
            .arg(self.fuzz.join("Cargo.toml"))
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"))
            // Fuzzing watches no process, so it needs no profiler library.
            .env("NETCORE_PROFILER_SKIP", "1")
            .stdin(Stdio::null())
            .status()
            .context("cannot run cargo")?;
        if !status.success() {
            bail!("the fuzz targets cannot be built");
        }
        Ok(self.target.join(host).join("release"))
    }

    fn fuzz(&self, programs: &Path, target: &str, seconds: u64) -> Result<Stats> {
        let (grown, found) = (self.grown(target), self.target.join("findings").join(target));
        fs::create_dir_all(&grown)?;
        fs::create_dir_all(&found)?;
        let mut command = Command::new(programs.join(target));
        command.args(LIMITS).arg(MAX_INPUT_BYTES).arg("-print_final_stats=1");
        let mut prefix = OsString::from("-artifact_prefix=");
        prefix.push(found.join(""));
        command.arg(prefix);
        let dictionary = self.fuzz.join("dictionaries").join(format!("{target}.dict"));
        if dictionary.is_file() {
            let mut argument = OsString::from("-dict=");
            argument.push(dictionary);
            command.arg(argument);
        }
        if seconds == 0 {
            command.arg("-runs=0");
        } else {
            command.arg(format!("-max_total_time={seconds}")).arg(grown);
        }
        command.arg(self.fuzz.join("corpus").join(target));
        let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot run {target}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let mut stats = figures(&said);
        if !output.status.success() {
            let written = said.lines().find_map(|line| line.split_once("Test unit written to "));
            stats.finding = Some(written.map_or_else(PathBuf::new, |(_, path)| PathBuf::from(path.trim())));
            let tail: Vec<&str> = said.lines().collect();
            for line in &tail[tail.len().saturating_sub(60)..] {
                writeln!(io::stderr(), "{target}: {line}")?;
            }
        }
        Ok(stats)
    }

    /// The inputs that earlier runs found and did not put into the repository.
    fn grown(&self, target: &str) -> PathBuf {
        self.target.join("corpus").join(target)
    }

    fn keep(&self, programs: &Path, target: &str) -> Result<()> {
        let kept = self.fuzz.join("corpus").join(target);
        let merged = self.target.join("merged").join(target);
        fs::create_dir_all(&merged)?;
        let status = Command::new(programs.join(target))
            .args(LIMITS)
            .args(["-merge=1", "-max_len=16384"])
            .args([&merged, &kept, &self.grown(target)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            bail!("the inputs of {target} cannot be merged");
        }
        for input in fs::read_dir(&merged)? {
            let input = input?;
            fs::copy(input.path(), kept.join(input.file_name()))?;
        }
        Ok(fs::remove_dir_all(merged)?)
    }
}

/// Reads the figures from libFuzzer's output.
fn figures(said: &str) -> Stats {
    let mut stats = Stats::default();
    for line in said.lines() {
        let after = |name: &str| {
            let (_, rest) = line.split_once(name)?;
            rest.split_whitespace().next()?.parse::<u64>().ok()
        };
        if let Some(rest) = line.strip_prefix('#') {
            stats.edges = after(" cov: ").unwrap_or(stats.edges);
            stats.features = after(" ft: ").unwrap_or(stats.features);
            let run = rest.split_whitespace().next().and_then(|n| n.parse().ok());
            stats.executions = run.unwrap_or(stats.executions);
        }
        stats.executions = after("stat::number_of_executed_units:").unwrap_or(stats.executions);
    }
    stats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_figures_count() {
        let said = "INFO: seed corpus: files: 7\n#8\tINITED cov: 2741 ft: 6001 corp: 7/91Kb exec/s: 0 rss: 60Mb\n\
                    #512\tNEW    cov: 2750 ft: 6010 corp: 8/92Kb lim: 65536\n\
                    stat::number_of_executed_units: 1024\n";
        let stats = figures(said);
        assert_eq!((stats.executions, stats.edges, stats.features), (1024, 2750, 6010));
        assert!(figures("").finding.is_none());
    }
}
