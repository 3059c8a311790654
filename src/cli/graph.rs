//! The options of `gcwatch graph`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::look::{Units, When};
use super::values;
use crate::assertion::StopCondition;

/// `gcwatch graph`.
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The process, a file with a graph (.gcgraph, .gcdump, or .nettrace with a heap snapshot), or `diff BEFORE AFTER`: two files to compare
    #[arg(value_name = "PID|NAME|FILE", required_unless_present_any = ["process_id", "name"])]
    pub(crate) source: Option<String>,
    /// With `diff` in front: the second graph
    #[arg(value_name = "FILE", hide = true, num_args = 0..=2)]
    pub(crate) files: Vec<PathBuf>,
    /// The process id, spelt as in the .NET tools
    #[arg(short, long, value_name = "PID", conflicts_with = "source")]
    pub(crate) process_id: Option<u32>,
    /// The one .NET process with this name
    #[arg(short, long, conflicts_with_all = ["source", "process_id"])]
    pub(crate) name: Option<String>,
    /// Keep the graph in this file; as one for PerfView and Visual Studio if its name ends with .gcdump [default: it is
    /// only shown]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) taking: TakingArgs,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// When to use colours [NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected]
    #[arg(long, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub(crate) color: When,
    /// Units of sizes: iec (KiB), si (kB), or bytes
    #[arg(long, value_enum, default_value_t = Units::Iec)]
    pub(crate) units: Units,
    /// Log each step (-vv: everything)
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// How a graph is taken.
#[derive(Debug, Args)]
#[command(next_help_heading = "Taking a graph")]
pub(crate) struct TakingArgs {
    /// How long to wait for a collection of the program
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "10s")]
    pub(crate) within: Duration,
    /// Take it when a collection meets this condition, such as `heap.after > 500MiB`: watch until then, and use the next
    /// collection. Can be given more than once
    #[arg(long, value_name = "CONDITION")]
    pub(crate) at: Vec<StopCondition>,
    /// Do not wait: induce a full, blocking collection
    #[arg(long)]
    pub(crate) induce: bool,
    /// Where the process cannot be copied: walk its heap while the program stands still. An estimate of how long is shown
    /// before
    #[arg(long)]
    pub(crate) pause_ok: bool,
    /// How long the copy of the process may live
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "5m")]
    pub(crate) deadline: Duration,
    /// Take a second graph after this time, and show what is new, gone and the same. All objects are followed meanwhile, so
    /// gen2 collections block the program. With --output app.gcgraph, the first one is kept as app-before.gcgraph
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) again: Option<Duration>,
    /// Keep the contents of strings in the file; they may be secrets
    #[arg(long)]
    pub(crate) strings: bool,
    /// Use this build of the profiler library
    #[arg(long, value_name = "FILE")]
    pub(crate) profiler_path: Option<PathBuf>,
}

impl TakingArgs {
    /// Whether an option was given that means nothing without a process. Times have defaults, so they do not count.
    pub(crate) fn needs_process(&self) -> bool {
        let flags = self.induce || self.pause_ok || self.strings;
        flags || self.again.is_some() || !self.at.is_empty() || self.profiler_path.is_some()
    }
}

/// What of a graph is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading a graph")]
pub(crate) struct ReadingArgs {
    /// Look around in it, in the terminal: types, what keeps what alive, objects with their fields and paths (? shows all keys)
    #[arg(long, conflicts_with_all = ["format", "of_type", "object", "top"])]
    pub(crate) browse: bool,
    /// Report format
    #[arg(long, value_enum, default_value_t = GraphFormat::Text)]
    pub(crate) format: GraphFormat,
    /// How many types, objects and paths to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) top: u32,
    /// Show what holds the objects of this type
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) of_type: Option<String>,
    /// Show the object at this address, and what holds it
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "of_type")]
    pub(crate) object: Option<u64>,
}

/// A report format of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// An address, as hexadecimal digits with or without `0x`.
fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "give hexadecimal digits, such as 0x7f3a20".to_owned())
}
