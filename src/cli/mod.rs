//! The command line as clap parses it. [`crate::command`] decides what it means.

pub(crate) mod config;
mod graph;
mod look;
mod values;

pub(crate) use graph::{GraphArgs, GraphFormat};
pub(crate) use look::{Units, When};

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::assertion::{Assertion, ChangeAssertion, StopCondition};
use crate::experiment::{Goal, MIN_EFFECT_PERCENT, Variables};
use crate::gc::facts::{Sample, StepBackLimits};
use crate::gc::generation::Generation;
use crate::gc::record::Level;
use crate::version::VERSION;
use crate::watch::recording::Rotation;

/// Watch the garbage collector of a .NET process: every collection, what moved, what survived,
/// which roots held it, and what it cost.
#[derive(Debug, Parser)]
#[command(name = "gcwatch", version = version(), max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 success (`run`: the child's own code), 2 bad arguments, 10 an assertion does not hold, \
    11 incomplete under --strict or an assertion that could not be judged, 12 unreadable input, 20 no such .NET process, 21 not permitted, 22 the runtime cannot do it, \
    23 another profiler is active.\n\n\
    Every option can also be set by GCWATCH_<OPTION>, or in a gcwatch.toml in this directory or one above it \
    (`gcwatch config`)."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The parsed command line, whether the assert-file's path comes from a `gcwatch.toml`, and whether somebody chose the
    /// format. `is_in_file`: whether the file sets this option of this subcommand.
    ///
    /// # Errors
    /// Those of clap.
    pub(crate) fn with_sources(
        matches: &ArgMatches,
        is_in_file: impl Fn(&str, &str) -> bool,
    ) -> Result<Cli, clap::Error> {
        let mut cli = Cli::from_arg_matches(matches)?;
        let by_default = match &mut cli.command {
            Command::Run(args) => Some(&mut args.output.format_by_default),
            Command::Attach(args) => Some(&mut args.output.format_by_default),
            Command::Report(args) => Some(&mut args.output.format_by_default),
            Command::Diff(args) => Some(&mut args.comparison.format_by_default),
            Command::Try(args) => Some(&mut args.comparison.format_by_default),
            _ => None,
        };
        if let (Some(by_default), Some((name, matches))) = (by_default, matches.subcommand()) {
            let is_default = matches.value_source("format") == Some(ValueSource::DefaultValue);
            *by_default = is_default && !is_in_file(name, "format");
        }
        let assertions = match &mut cli.command {
            Command::Run(args) => Some(&mut args.assertions),
            Command::Attach(args) => Some(&mut args.assertions),
            Command::Report(args) => Some(&mut args.assertions),
            _ => None,
        };
        if let (Some(assertions), Some((_, matches))) = (assertions, matches.subcommand()) {
            // The option has no default of its own, so a default comes from a `gcwatch.toml`.
            assertions.assert_file_found =
                matches.value_source("assert_file") == Some(ValueSource::DefaultValue);
        }
        Ok(cli)
    }
}

/// Suggests `--process-id` for `--pid`, which clap does not, as it only compares spellings.
pub(crate) fn suggesting(mut error: clap::Error) -> clap::Error {
    let unknown = error.kind() == ErrorKind::UnknownArgument;
    if unknown && error.get(ContextKind::InvalidArg) == Some(&ContextValue::String("--pid".to_owned())) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String("--process-id".to_owned()));
    }
    error
}

/// The program's version, and the hash of the profiler library that it loads into other processes.
fn version() -> String {
    let library = match netcore_profiler::LIBRARY_HASH {
        "" => "none in this build",
        hash => hash,
    };
    format!("{} (profiler library {library})", VERSION)
}

/// One per file in [`crate::command`].
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a program and watch it from its first collection
    Run(RunArgs),
    /// Watch a process that is already running
    Attach(AttachArgs),
    /// List .NET processes, and whether they can be watched
    Ps(PsArgs),
    /// Report on recordings (.nettrace)
    Report(ReportArgs),
    /// Take a graph of the whole heap of a process, or read one: what is there, and what holds it
    Graph(GraphArgs),
    /// Compare recordings or JSON documents: one with one, or several runs with several
    Diff(DiffArgs),
    /// Compare settings of the GC, or several commands, in many runs of each
    Try(TryArgs),
    /// Show which options are in force, and where each comes from
    Config {
        /// The subcommand whose options to show
        #[arg(default_value = "run", value_parser = ["run", "attach", "report", "diff", "try"])]
        of: String,
    },
    /// List the metrics that --assert can check
    Metrics,
    /// Print the JSON Schema of the document and of the NDJSON lines
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man,
}

impl Command {
    /// Whether its options can come from the environment and from a settings file.
    pub(crate) fn takes_settings(&self) -> bool {
        matches!(
            self,
            Command::Run(_)
                | Command::Attach(_)
                | Command::Report(_)
                | Command::Diff(_)
                | Command::Try(_)
                | Command::Config { .. }
        )
    }
}

/// How results are shown: the same for live and replayed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Report format; text shows a line per collection as it happens, then a summary. In a workflow of GitHub
    /// and without this option, gcwatch also writes annotations to stderr
    #[arg(long, value_enum, default_value_t = Format::Text, env = "GCWATCH_FORMAT")]
    pub(crate) format: Format,
    /// Nobody chose the format.
    #[arg(skip)]
    pub(crate) format_by_default: bool,
    /// Where to write; `-` is stdout [default: stdout; the text of `run`: stderr]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Keep every moved and surviving range and every root, not only totals
    #[arg(long)]
    pub(crate) blocks: bool,
    /// text, csv, ndjson: show collections that paused at least this long
    #[arg(long, value_name = "TIME", value_parser = values::pause)]
    pub(crate) min_pause: Option<Duration>,
    /// text, csv, ndjson: show collections of these generations
    #[arg(long = "gen", value_name = "0,1,2", value_delimiter = ',', value_parser = values::generation)]
    pub(crate) generations: Vec<Generation>,
    /// Fail (exit code 11) if data is lost or incomplete
    #[arg(long)]
    pub(crate) strict: bool,
    /// When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub(crate) color: When,
    /// Units of sizes: iec (KiB), si (kB), or bytes
    #[arg(long, value_enum, default_value_t = Units::Iec)]
    pub(crate) units: Units,
    /// Show only errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Log each step (-vv: everything)
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Bounds that must hold.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Verdict")]
pub(crate) struct AssertionArgs {
    /// A condition that must hold, such as `pause.p99 < 10ms`; can be given more than once.
    /// Without --level, gcwatch uses the lowest level that can check it
    #[arg(long = "assert", value_name = "EXPR")]
    pub(crate) asserts: Vec<Assertion>,
    /// Read more assertions from a TOML file, which holds a list for each profile
    #[arg(long, value_name = "FILE", env = "GCWATCH_ASSERT_FILE")]
    pub(crate) assert_file: Option<PathBuf>,
    /// A `gcwatch.toml` names the file, not the command line or the environment.
    #[arg(skip)]
    pub(crate) assert_file_found: bool,
    /// The profile in the file [default: `default`, or the only one]
    #[arg(long, value_name = "NAME", requires = "assert_file", env = "GCWATCH_ASSERT_PROFILE")]
    pub(crate) assert_profile: Option<String>,
    /// Collections that begin in this time from the start of the watch count for no assertion, such as `10s`
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) warmup: Option<Duration>,
}

/// How closely, and for how long, a live process is watched.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Watching")]
pub(crate) struct WatchArgs {
    /// basic: pauses and sizes; moves: also what moved and survived; roots: also what held objects
    /// [default: roots, or what the target allows; in `attach` roots only in sampling windows if blocking collections
    /// would take long]
    #[arg(long, value_enum, env = "GCWATCH_LEVEL")]
    pub(crate) level: Option<LevelArg>,
    /// Watch roots only in sampling windows: N collections, or a length of time, in each interval, such as `1/30s` or
    /// `2s/30s`. Between windows background GC is on
    #[arg(long, value_name = "N|TIME/INTERVAL", value_parser = values::sample)]
    pub(crate) sample: Option<Sample>,
    /// With --sample: the level between the windows
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = BetweenArg::Basic)]
    pub(crate) between: BetweenArg,
    /// Also write the raw stream to a file that `gcwatch report`, PerfView and dotnet-trace read. Its name may contain
    /// {pid}, {name} and {time}. If FILE is a directory, gcwatch chooses the name
    #[arg(long, value_name = "FILE.nettrace")]
    pub(crate) record: Option<PathBuf>,
    /// Start a new file after SIZE (100MiB, 1GB), at the next point from which it can be read alone; keep the last N
    /// files (0: all). Their number goes before the extension
    #[arg(long, value_name = "SIZE,N", value_parser = values::rotation, requires = "record")]
    pub(crate) rotate: Option<Rotation>,
    /// Stop watching after this time; the target keeps running
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) duration: Option<Duration>,
    /// Stop watching after this many complete collections at the level watched (collections of the 100 ms after that
    /// are shown too)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) gcs: Option<u64>,
    /// Stop watching at the first collection for which this holds, such as `pause > 200ms`, and exit with 10; can be
    /// given more than once
    #[arg(long, value_name = "CONDITION")]
    pub(crate) stop_on: Vec<StopCondition>,
    /// With --stop-on and --rotate: go on watching, and keep the files with the collection, the one before and the one
    /// after, at most N times
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        requires_all = ["stop_on", "rotate"]
    )]
    pub(crate) keep_recording: Option<u32>,
    /// Show what allocates, by type and by method, from the runtime's samples. On .NET 8 and 9 it also sends other events
    /// then, such as one for each finalized object
    #[arg(long, conflicts_with = "no_names")]
    pub(crate) alloc: bool,
    /// Omit the names of types and methods. At level roots they lengthen each pause slightly, at the other levels the
    /// runtime lists its methods when the watch ends
    #[arg(long)]
    pub(crate) no_names: bool,
    /// Take a graph of the heap when a collection meets this condition for the first time, such as `heap.after > 500MiB`,
    /// and go on watching; can be given more than once. The program stands still while it is copied, at its next blocking
    /// collection
    #[arg(long, value_name = "CONDITION", conflicts_with = "no_names")]
    pub(crate) graph_at: Vec<StopCondition>,
    /// The file for --graph-at, which gcwatch graph reads [default: gcwatch-PID.gcgraph]
    #[arg(long, value_name = "FILE.gcgraph", requires = "graph_at")]
    pub(crate) graph_output: Option<PathBuf>,
    /// Use this build of the profiler library
    #[arg(long, value_name = "FILE")]
    pub(crate) profiler_path: Option<PathBuf>,
}

/// `gcwatch run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// Watch every .NET process that the command starts, not only the first; each has its own report
    #[arg(long)]
    pub(crate) follow: bool,
    /// With --follow: watch only processes with this name, such as testhost; can be given more than once
    #[arg(long, value_name = "NAME", requires = "follow")]
    pub(crate) only: Vec<String>,
    /// Run the command so many times, one after the other. The files of --output and --record get the number of the run
    /// in their names: gc-1.json, gc-2.json
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: Option<u32>,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) assertions: AssertionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `gcwatch attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// The process
    #[arg(value_name = "PID|NAME", required_unless_present_any = ["process_id", "name", "diagnostic_port"])]
    pub(crate) pid: Option<String>,
    /// The process id, spelt as in the .NET tools
    #[arg(short, long, value_name = "PID", conflicts_with = "pid")]
    pub(crate) process_id: Option<u32>,
    /// The one .NET process with this name
    #[arg(short, long, conflicts_with_all = ["pid", "process_id"])]
    pub(crate) name: Option<String>,
    /// The path of a diagnostics socket or pipe, optionally `,connect`
    #[arg(long, value_name = "PATH", conflicts_with_all = ["pid", "process_id", "name"])]
    pub(crate) diagnostic_port: Option<String>,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) careful: CarefulArgs,
    #[command(flatten)]
    pub(crate) assertions: AssertionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What roots may cost where nobody asked for them.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits without --level, --sample and --assert")]
pub(crate) struct CarefulArgs {
    /// Watch roots continuously only if a blocking gen2 collection is estimated to take at most this long; otherwise
    /// in windows, as with --sample 1/30s
    #[arg(long, value_name = "TIME", value_parser = values::pause, default_value = "100ms")]
    pub(crate) max_blocking_gc: Duration,
    /// Switch to windows once gen2 collections that watching makes blocking have stopped the program for this share
    /// of the time (measured over at least 10 s), or one of them for this long
    #[arg(long, value_name = "PERCENT,TIME", value_parser = values::step_back, default_value = "1%,250ms")]
    pub(crate) step_back: StepBackLimits,
}

/// `gcwatch ps`.
#[derive(Debug, Args)]
pub(crate) struct PsArgs {
    /// Report format; text is a table
    #[arg(long, value_enum, default_value_t = PsFormat::Text)]
    pub(crate) format: PsFormat,
    /// Short for --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Also list processes that cannot be watched, and say why
    #[arg(long)]
    pub(crate) why: bool,
}

/// `gcwatch report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Recordings, also compressed (.gz, .xz, .zst); `-` is stdin. Files of one rotation make one
    /// report, in whatever order they are given
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) assertions: AssertionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `gcwatch diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Two recordings or JSON documents, also compressed; or with `--`, all those before a change. A directory stands for
    /// all recordings and documents in it, and a pattern such as `before/*.json` for the files that match
    #[arg(required = true, value_name = "BEFORE")]
    pub(crate) before: Vec<PathBuf>,
    /// Those after the change, in several runs
    #[arg(last = true, value_name = "AFTER")]
    pub(crate) after: Vec<PathBuf>,
    /// Compare nothing (exit code 11) if the runs differ in program, arguments, runtime, system, GC, processors or level,
    /// if a side is twice as long as the other, or if data is lost or incomplete
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,
}

/// What a comparison fails on, and how it is shown.
#[derive(Debug, Args)]
pub(crate) struct ComparisonArgs {
    /// A change that must not occur, such as `gen2.per_gib > +10%` (exit code 10); can be given more than once. With
    /// several runs a side it must also be more than the spread between runs
    #[arg(long, value_name = "EXPR")]
    pub(crate) fail_on: Vec<ChangeAssertion>,
    /// Call a difference better or worse only from this percentage on [default: 5]
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    pub(crate) min_effect: Option<f64>,
    /// Report format; text is a table
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub(crate) format: DiffFormat,
    /// Nobody chose the format.
    #[arg(skip)]
    pub(crate) format_by_default: bool,
    /// Where to write; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub(crate) color: When,
    /// Units of sizes: iec (KiB), si (kB), or bytes
    #[arg(long, value_enum, default_value_t = Units::Iec)]
    pub(crate) units: Units,
}

impl ComparisonArgs {
    /// The smallest difference that is called better or worse, in percent.
    pub(crate) fn min_effect_percent(&self) -> f64 {
        self.min_effect.unwrap_or(MIN_EFFECT_PERCENT)
    }
}

/// `gcwatch try`.
#[derive(Debug, Args)]
pub(crate) struct TryArgs {
    /// A variant: variables of the environment for the command, separated by commas; can be given more than once
    /// [default: the settings of the GC that the program's runtime has]
    #[arg(long = "env", value_name = "NAME=VALUE,...")]
    pub(crate) variants: Vec<Variables>,
    /// Runs of each variant that count
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Runs of each variant before them that do not count
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) warmup: u32,
    /// Also compare a number that the command prints on stdout: a regular expression with one group, such as
    /// `(\d+) requests/s`; the last match counts, and decides instead of the time
    #[arg(long, value_name = "REGEX", value_parser = values::pattern)]
    pub(crate) metric: Option<regex::Regex>,
    /// More is better for --metric, not less
    #[arg(long, requires = "metric")]
    pub(crate) higher_is_better: bool,
    /// Show the settings of the best variant for this only [default: for each]
    #[arg(long, value_enum, value_name = "GOAL")]
    pub(crate) goal: Option<GoalArg>,
    /// Go on if a run fails; its exit code is not looked at
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// Show what the commands print, on stderr
    #[arg(long)]
    pub(crate) show_output: bool,
    #[command(flatten)]
    pub(crate) comparison: ComparisonArgs,
    /// The program and its arguments; or several commands with `:::` between them, which are compared with the first
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// `try --goal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GoalArg {
    /// The shortest wall time, or the best --metric
    Time,
    /// The shortest pauses (p99)
    Pause,
    /// The least memory
    Memory,
}

impl From<GoalArg> for Goal {
    fn from(goal: GoalArg) -> Goal {
        match goal {
            GoalArg::Time => Goal::Time,
            GoalArg::Pause => Goal::Pause,
            GoalArg::Memory => Goal::Memory,
        }
    }
}

/// `diff --format` and `try --format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    Text,
    Json,
    Markdown,
    /// Annotations of a workflow of GitHub
    Github,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line per collection as it happens, then a summary
    Text,
    /// One document
    Json,
    /// A line per collection, as it happens
    Ndjson,
    /// A row per collection
    Csv,
    /// For a comment on a pull request or a job summary
    Markdown,
    /// The assertions as test cases (XML)
    Junit,
    /// Annotations of a workflow of GitHub: what fails, what could not be judged, what gcwatch found
    Github,
    /// For a metrics scraper; the output file is replaced every few seconds
    Openmetrics,
}

/// `ps --format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PsFormat {
    Text,
    Json,
    /// For shell completion: process id, tab, name
    #[value(hide = true)]
    Pids,
}

/// `--level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelArg {
    Basic,
    Moves,
    Roots,
}

/// `--between`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BetweenArg {
    Basic,
    Moves,
}

impl From<BetweenArg> for Level {
    fn from(level: BetweenArg) -> Level {
        match level {
            BetweenArg::Basic => Level::Basic,
            BetweenArg::Moves => Level::Moves,
        }
    }
}

impl From<LevelArg> for Level {
    fn from(level: LevelArg) -> Level {
        match level {
            LevelArg::Basic => Level::Basic,
            LevelArg::Moves => Level::Moves,
            LevelArg::Roots => Level::Roots,
        }
    }
}
