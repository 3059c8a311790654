//! Makes a report from the options about output.

use std::io::{self, BufWriter, IsTerminal, LineWriter, Write};
use std::path::Path;

use super::observer::Warnings;
use crate::cli::{Format, OutputArgs, Units, When};
use crate::exit::{Code, Failure};
use crate::report::{
    self, Both, CsvReport, Filter, GithubOptions, GithubProcesses, GithubReport, JsonProcesses, JsonReport,
    JunitProcesses, JunitReport, MarkdownProcesses, MarkdownReport, MultiProcess, NdjsonReport,
    OpenMetricsProcesses, OpenMetricsReport, Place, Report, Terminal, TextOptions, TextReport, multi_process,
};
use crate::sys::{self, LateFile};

/// Where a report goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    Stdout,
    Stderr,
    File,
}

/// Whether people read the format beside what the program prints.
pub(crate) fn is_for_people(format: Format) -> bool {
    matches!(format, Format::Text | Format::Github)
}

/// The sink that the options ask for. Text and annotations of `run` go to stderr, because stdout is the child's.
pub(crate) fn sink(args: &OutputArgs, run: bool) -> Sink {
    match args.output.as_deref() {
        Some(path) if path == Path::new("-") => Sink::Stdout,
        Some(_) => Sink::File,
        None if run && is_for_people(args.format) => Sink::Stderr,
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

    fn github_options(&self) -> GithubOptions {
        GithubOptions { units: units(self.args.units), quiet: self.args.quiet }
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
    let github = to.github_options();
    let report: Box<dyn Report> = match args.format {
        Format::Text => Box::new(TextReport::new(to.writer()?, to.terminal, to.text_options())),
        Format::Json => Box::new(JsonReport::new(to.writer()?)),
        Format::Ndjson => Box::new(NdjsonReport::new(to.writer()?, to.filter)),
        Format::Csv => Box::new(CsvReport::new(to.writer()?, to.filter)),
        Format::Markdown => Box::new(MarkdownReport::new(to.writer()?, units(args.units))),
        Format::Junit => Box::new(JunitReport::new(to.writer()?, units(args.units))),
        Format::Github => Box::new(GithubReport::new(to.writer()?, github)),
        Format::Openmetrics => Box::new(OpenMetricsReport::new(to.place()?)),
    };
    let report: Box<dyn Report> = match annotates(args.format_by_default) {
        true => Box::new(Both(report, Box::new(GithubReport::new(beside(), github)))),
        false => report,
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
    let github = to.github_options();
    let format: Box<dyn multi_process::Format> = match args.format {
        Format::Text => Box::new(multi_process::Text::new(to.writer()?, to.terminal, to.text_options())),
        Format::Json => Box::new(JsonProcesses::new(to.writer()?)),
        Format::Ndjson => multi_process::ndjson(to.writer()?, to.filter),
        Format::Csv => multi_process::csv(to.writer()?, to.filter),
        Format::Markdown => Box::new(MarkdownProcesses::new(to.writer()?, units)),
        Format::Junit => Box::new(JunitProcesses::new(to.writer()?, units)),
        Format::Github => Box::new(GithubProcesses::new(to.writer()?, github)),
        Format::Openmetrics => Box::new(OpenMetricsProcesses::new(to.place()?)),
    };
    let format: Box<dyn multi_process::Format> = match annotates(args.format_by_default) {
        true => Box::new(Both(format, Box::new(GithubProcesses::new(beside(), github)))),
        false => format,
    };
    Ok(MultiProcess::new(format))
}

/// Whether to write annotations beside the text: in a workflow of GitHub, if nobody chose the format.
fn annotates(format_by_default: bool) -> bool {
    format_by_default && std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Writes annotations to stderr, if nobody chose a format, in a workflow of GitHub.
pub(crate) fn annotate(format_by_default: bool, annotations: &str) {
    if annotates(format_by_default) {
        // There is no place to report a failure.
        let _ignored = io::stderr().write_all(annotations.as_bytes());
    }
}

/// Where annotations go that nobody asked for: to stderr, which GitHub reads, too. Stdout may be the input of a program.
fn beside() -> impl Write {
    /// Stderr. Nobody is there to hear that it is closed.
    struct Beside(io::Stderr);

    impl Write for Beside {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ignored = self.0.write_all(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    LineWriter::new(Beside(io::stderr()))
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

/// Whether stdout is a terminal on which text can be written anywhere.
pub(crate) fn moves_cursor() -> bool {
    of_stream(&io::stdout()).1
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
