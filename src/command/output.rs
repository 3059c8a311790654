//! Makes a report from the options about output.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use super::observer::Warnings;
use crate::cli::{Format, OutputArgs, Units, When};
use crate::exit::{Code, Failure};
use crate::report::{
    self, CsvReport, Filter, JsonProcesses, JsonReport, JunitProcesses, JunitReport, MarkdownReport,
    MultiProcess, NdjsonReport, OpenMetricsProcesses, OpenMetricsReport, Place, Report, Terminal,
    TextOptions, TextReport, multi_process,
};
use crate::sys::{self, LateFile};

/// Where a report goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    Stdout,
    Stderr,
    File,
}

/// The sink that the options ask for. Text of `run` goes to stderr, because stdout is the child's.
pub(crate) fn sink(args: &OutputArgs, run: bool) -> Sink {
    match args.output.as_deref() {
        Some(path) if path == Path::new("-") => Sink::Stdout,
        Some(_) => Sink::File,
        None if run && args.format == Format::Text => Sink::Stderr,
        None => Sink::Stdout,
    }
}

/// Where a report goes, and how it looks there.
struct Opened<'a> {
    args: &'a OutputArgs,
    sink: Sink,
    terminal: Terminal,
    filter: Filter,
}

impl Opened<'_> {
    fn new(args: &OutputArgs, run: bool, live: bool) -> Opened<'_> {
        let sink = sink(args, run);
        let (terminal, escapes) = match sink {
            Sink::Stdout => of_stream(&io::stdout()),
            Sink::Stderr => of_stream(&io::stderr()),
            Sink::File => (false, false),
        };
        // In `run` the child may write to the same terminal, into the line that gcwatch keeps updating.
        let alone = !run || !io::stdout().is_terminal();
        let lively = live && alone && escapes && !args.quiet;
        let filter = Filter {
            min_pause_ns: args.min_pause.map(|d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
            generations: args.generations.clone(),
        };
        Opened { args, sink, terminal: look(args, terminal, escapes, lively), filter }
    }

    fn writer(&self) -> Result<Box<dyn Write>, Failure> {
        Ok(match (self.sink, self.args.output.as_deref()) {
            (Sink::File, Some(path)) => Box::new(BufWriter::new(create(path)?)),
            (Sink::Stderr, _) => Box::new(BufWriter::new(io::stderr())),
            _ => Box::new(BufWriter::new(sys::stdout())),
        })
    }

    fn place(&self) -> Result<Place, Failure> {
        Ok(match (self.sink, self.args.output.as_deref()) {
            (Sink::File, Some(path)) => match sys::replaceable(path).map_err(|e| not_writable(path, &e))? {
                Some(file) => Place::File(file),
                None => Place::Stream(self.writer()?),
            },
            _ => Place::Stream(self.writer()?),
        })
    }

    fn text_options(&self) -> TextOptions {
        TextOptions {
            units: units(self.args.units),
            min_pause_ns: self.filter.min_pause_ns,
            generations: self.filter.generations.clone(),
            quiet: self.args.quiet,
        }
    }
}

/// Whether the report of a live watch has a line that is updated all the time.
pub(crate) fn shows_live_line(args: &OutputArgs, run: bool) -> bool {
    args.format == Format::Text && Opened::new(args, run, true).terminal.live
}

/// Opens the sink and makes the report; also returns where warnings go.
///
/// # Errors
/// The file cannot be created.
pub(crate) fn open(args: &OutputArgs, run: bool, live: bool) -> Result<(Box<dyn Report>, Warnings), Failure> {
    let to = Opened::new(args, run, live);
    let report: Box<dyn Report> = match args.format {
        Format::Text => Box::new(TextReport::new(to.writer()?, to.terminal, to.text_options())),
        Format::Json => Box::new(JsonReport::new(to.writer()?)),
        Format::Ndjson => Box::new(NdjsonReport::new(to.writer()?, to.filter)),
        Format::Csv => Box::new(CsvReport::new(to.writer()?, to.filter)),
        Format::Markdown => Box::new(MarkdownReport::new(to.writer()?, units(args.units))),
        Format::Junit => Box::new(JunitReport::new(to.writer()?, units(args.units))),
        Format::Openmetrics => Box::new(OpenMetricsReport::new(to.place()?)),
    };
    Ok((report, warnings(args, live)))
}

/// As [`open`], for several processes.
///
/// # Errors
/// The file cannot be created.
pub(crate) fn open_multi_process(args: &OutputArgs, run: bool) -> Result<MultiProcess, Failure> {
    let to = Opened::new(args, run, false);
    let units = units(args.units);
    let format: Box<dyn multi_process::Format> = match args.format {
        Format::Text => Box::new(multi_process::Text::new(to.writer()?, to.terminal, to.text_options())),
        Format::Json => Box::new(JsonProcesses::new(to.writer()?)),
        Format::Ndjson => multi_process::ndjson(to.writer()?, to.filter),
        Format::Csv => multi_process::csv(to.writer()?, to.filter),
        Format::Markdown => multi_process::markdown(to.writer()?, units),
        Format::Junit => Box::new(JunitProcesses::new(to.writer()?, units)),
        Format::Openmetrics => Box::new(OpenMetricsProcesses::new(to.place()?)),
    };
    Ok(MultiProcess::new(format))
}

/// Where warnings go: to the report in text, which is the only format that can hold them.
pub(crate) fn warnings(args: &OutputArgs, live: bool) -> Warnings {
    match args.format {
        Format::Text => Warnings::Report,
        _ if live => Warnings::Stderr,
        _ => Warnings::Nowhere,
    }
}

/// Describes the terminal or file that text goes to.
fn look(args: &OutputArgs, terminal: bool, escapes: bool, live: bool) -> Terminal {
    let size = terminal.then(terminal_size::terminal_size).flatten();
    Terminal {
        columns: size.map_or(80, |(width, _)| usize::from(width.0)),
        rows: size.map(|(_, height)| usize::from(height.0)),
        colour: colour(args.color, escapes),
        live,
        unicode: unicode(),
    }
}

/// The report's units for an option.
pub(crate) fn units(units: Units) -> report::Units {
    match units {
        Units::Iec => report::Units::Iec,
        Units::Si => report::Units::Si,
        Units::Bytes => report::Units::Bytes,
    }
}

/// Describes stdout, for a report that is written in one go.
pub(crate) fn terminal(color: When) -> Terminal {
    let (terminal, escapes) = of_stream(&io::stdout());
    let size = terminal.then(terminal_size::terminal_size).flatten();
    Terminal {
        columns: size.map_or(80, |(width, _)| usize::from(width.0)),
        rows: None,
        colour: colour(color, escapes),
        live: false,
        unicode: unicode(),
    }
}

/// Opens a file that is written later.
///
/// # Errors
/// The file cannot be created.
pub(crate) fn create(path: &Path) -> Result<LateFile, Failure> {
    LateFile::create(path).map_err(|e| not_writable(path, &e))
}

fn not_writable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::FAILED, format!("cannot write {}: {error}", path.display()))
        .remedy("choose another --output")
}

/// Whether a stream is a terminal, and whether that understands escape sequences.
fn of_stream<S: IsTerminal + sys::AsStream>(stream: &S) -> (bool, bool) {
    let terminal = stream.is_terminal();
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    (terminal, terminal && !dumb && sys::shows_escapes(stream))
}

/// Describes stderr, for what a command says beside its report.
pub(crate) fn stderr(args: &OutputArgs) -> Terminal {
    let (terminal, escapes) = of_stream(&io::stderr());
    look(args, terminal, escapes, false)
}

/// Follows the conventions of `NO_COLOR`, `CLICOLOR_FORCE` and `TERM=dumb`.
fn colour(when: When, escapes: bool) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR") => false,
        When::Auto if set("CLICOLOR_FORCE") => true,
        When::Auto => escapes,
    }
}

/// Whether to use Unicode bars and arrows: in a UTF-8 locale, and with no locale set, as today's terminals use UTF-8.
fn unicode() -> bool {
    let value =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|n| std::env::var(n).ok().filter(|v| !v.is_empty()));
    value.is_none_or(|v| v.to_ascii_lowercase().replace('-', "").contains("utf8"))
}
