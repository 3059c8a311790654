//! Text for people: a line per collection as it happens, then a summary.

mod allocations;
mod blocks;
mod header;
mod histogram;
mod line;
mod marks;
mod notes;
mod page;
mod panel;
mod root_stats;
mod status;
mod storm;
mod summary;

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Duration;

use super::in_short;
use super::model::{End, Facts, Filter, LiveState, Report};
use super::style::{Line, Role, Style, Terminal, wrap};
use super::units::{Units, bytes};
use super::verdicts::verdict_lines;
use crate::escape::escape_untrusted;
use crate::gc::generation::Generation;
use crate::gc::record::Gc;
use line::Lines;
use marks::Marks;
use status::Status;
use storm::Storm;

/// The maximum width of sentences.
const MAX_SENTENCE: usize = 120;

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextOptions {
    pub(crate) units: Units,
    /// As in [`Filter`].
    pub(crate) min_pause_ns: Option<u64>,
    /// As in [`Filter`].
    pub(crate) generations: Vec<Generation>,
    /// Only the verdicts.
    pub(crate) quiet: bool,
}

/// `--format text`.
pub(crate) struct TextReport<W: Write> {
    out: W,
    terminal: Terminal,
    units: Units,
    filter: Filter,
    quiet: bool,
    style: Style,
    lines: Lines,
    marks: Marks,
    storm: Storm,
    status: Status,
    warned: HashSet<String>,
    /// The settings of the garbage collector, as they were printed.
    flavour: Option<String>,
    /// Lines since the names of the columns; `None`: they were not printed yet.
    since_header: Option<usize>,
    /// The live line is on the screen.
    drawn: bool,
    /// A collection came since the last tick.
    fresh: bool,
    /// The tick after the last one that came.
    quiet_since_ns: u64,
    /// The size of the heap, as the runtime's counters said last.
    heap_bytes: Option<u64>,
}

impl<W: Write> TextReport<W> {
    /// Text that goes to `out`.
    pub(crate) fn new(out: W, terminal: Terminal, options: TextOptions) -> TextReport<W> {
        let style = terminal.style();
        TextReport {
            out,
            terminal,
            units: options.units,
            filter: Filter { min_pause_ns: options.min_pause_ns, generations: options.generations },
            quiet: options.quiet,
            style,
            lines: Lines::new(style, terminal.columns, options.units),
            marks: Marks::default(),
            storm: Storm::default(),
            status: Status::default(),
            warned: HashSet::new(),
            flavour: None,
            since_header: None,
            drawn: false,
            fresh: false,
            quiet_since_ns: 0,
            heap_bytes: None,
        }
    }

    fn sentence_columns(&self) -> usize {
        self.terminal.columns.clamp(20, MAX_SENTENCE)
    }

    /// Takes the live line off the screen.
    fn erase(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.drawn) {
            self.out.write_all(b"\r\x1b[2K")?;
        }
        Ok(())
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        self.erase()?;
        writeln!(self.out, "{line}")
    }

    fn print_all(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.print(line))
    }

    /// A line among the columns; their names come first, and again with every screenful.
    fn print_row(&mut self, line: &str) -> io::Result<()> {
        let due = match (self.since_header, self.terminal.rows) {
            (None, _) => true,
            // One line for the names themselves, one for the live line.
            (Some(since), Some(rows)) => since + 2 >= rows.max(8),
            (Some(_), None) => false,
        };
        if due {
            if self.since_header.is_none() {
                self.print("")?;
            }
            let header = self.lines.header();
            self.print(&header)?;
            self.since_header = Some(0);
        }
        self.since_header = self.since_header.map(|n| n + 1);
        self.print(line)
    }

    fn show(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        let mark = self.marks.judge(gc);
        if !self.filter.shows(gc) {
            return Ok(());
        }
        self.learn(facts)?;
        if self.lines.needs(gc.level) && self.since_header.is_some() {
            // The names of the columns are not those of the lines above.
            self.since_header = None;
        }
        let swallowed = self.storm.swallows(gc, self.marks.glaring(gc, mark));
        if let Some(at) = gc.at_ns
            && let Some(folded) = self.storm.due(at, self.style)
        {
            self.print_row(&folded)?;
        }
        if swallowed {
            self.storm.add(gc, || self.lines.row(gc, mark));
            return Ok(());
        }
        let row = self.lines.row(gc, mark);
        self.marks.shown(gc, mark);
        self.print_row(&row)?;
        if facts.watch.blocks {
            for line in blocks::largest(gc, self.style, self.units) {
                self.print_row(&line)?;
            }
        }
        Ok(())
    }

    /// The settings of the garbage collector may be known only now.
    fn learn(&mut self, facts: &Facts) -> io::Result<()> {
        let flavour = header::flavour(&facts.target.gc);
        if self.since_header.is_none() && self.flavour.is_none() && flavour.is_some() {
            self.flavour = flavour.clone();
            let lines =
                wrap(self.style, Role::Plain, &flavour.unwrap_or_default(), 2, self.sentence_columns());
            self.print_all(&lines)?;
        }
        Ok(())
    }
}

impl<W: Write> TextReport<W> {
    /// The last lines: what is wrong, and what to change.
    fn in_short(&self, facts: &Facts, end: &End<'_>) -> Vec<String> {
        let columns = self.sentence_columns();
        let mut lines = Vec::new();
        for (n, finding) in in_short::shown(end.findings, self.units, self.style.unicode).iter().enumerate() {
            let title = format!("{}.\u{a0}{}.", n + 1, finding.title);
            lines.extend(wrap(self.style, Role::Strong, &title, 3, columns));
            let remedy = format!("\u{a0}\u{a0}\u{a0}{}.", finding.remedy);
            lines.extend(wrap(self.style, Role::Plain, &remedy, 3, columns));
        }
        let head = match (lines.is_empty(), in_short::nothing(facts, end)) {
            (false, _) => "In short".to_owned(),
            (true, Some(nothing)) => format!("In short: {nothing}."),
            (true, None) => return lines,
        };
        let mut head = wrap(self.style, Role::Strong, &head, 2, columns);
        head.insert(0, String::new());
        head.extend(lines);
        head
    }
}

impl<W: Write> Report for TextReport<W> {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.lines.needs(facts.watch.level);
        self.flavour = header::flavour(&facts.target.gc);
        let lines = header::opening(facts, self.style, self.sentence_columns());
        self.print_all(&lines)?;
        self.out.flush()
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.fresh = true;
        self.status.add(gc);
        self.show(facts, gc)?;
        self.out.flush()
    }

    fn tick_every(&self) -> Option<Duration> {
        const LIVE: Duration = Duration::from_millis(100);
        const FOLDED: Duration = Duration::from_millis(250);
        match (self.quiet, self.terminal.live) {
            (true, _) => None,
            (false, true) => Some(LIVE),
            // A fold ends by itself where no other collection comes.
            (false, false) => self.storm.folds().then_some(FOLDED),
        }
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        // Collections arrive up to a tenth of a second late, and later on a busy machine: while any
        // come, the stream's own clock ends a fold, so that a replay folds the same.
        const LATE_NS: u64 = 500_000_000;
        if std::mem::take(&mut self.fresh) {
            self.quiet_since_ns = state.elapsed_ns;
        }
        let quiet = state.elapsed_ns.saturating_sub(self.quiet_since_ns) >= LATE_NS;
        if quiet && let Some(folded) = self.storm.due(state.elapsed_ns.saturating_sub(LATE_NS), self.style) {
            self.print_row(&folded)?;
        }
        self.heap_bytes = state.counters.heap_bytes.or(self.heap_bytes);
        if self.terminal.live {
            let line = self.status.line(state, self.style, self.units, self.terminal.columns);
            self.erase()?;
            write!(self.out, "{line}")?;
            self.drawn = true;
        }
        self.out.flush()
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        if self.quiet || !self.warned.insert(message.to_owned()) {
            return Ok(());
        }
        let text = format!("gcwatch: {}", escape_untrusted(message));
        let lines = match self.terminal.rows {
            Some(_) => wrap(self.style, Role::High, &text, 2, self.sentence_columns()),
            // Programs look for the text of a warning, and read lines.
            None => vec![Line::of(self.style, Role::High, &text).into_string()],
        };
        self.print_all(&lines)?;
        self.out.flush()
    }

    fn nothing_watched(&mut self, _facts: &Facts, _end: &End<'_>) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        let columns = self.terminal.columns.max(40);
        let verdicts = verdict_lines(end.verdicts, Terminal { columns, ..self.terminal }, self.units);
        if self.quiet {
            self.print_all(&verdicts)?;
            return self.out.flush();
        }
        if let Some(folded) = self.storm.flush(self.style) {
            self.print_row(&folded)?;
        }
        self.print("")?;
        let legend = self.marks.legend();
        let mut lines = summary::summary(facts, end, &legend, self.style, self.units, columns);
        if let Some(heap) = self.heap_bytes.filter(|_| end.summary.gcs == 0) {
            lines.insert(1, format!("heap {} by the runtime's counters", bytes(heap, self.units)));
        }
        self.print_all(&lines)?;
        if !verdicts.is_empty() {
            self.print("")?;
            self.print_all(&verdicts)?;
        }
        let lines = self.in_short(facts, end);
        self.print_all(&lines)?;
        self.out.flush()
    }
}

impl<W: Write> Drop for TextReport<W> {
    fn drop(&mut self) {
        // Where there was no end, an error comes next: not behind the live line. Nobody is left to
        // tell of a failure. A file to which nothing was written stays as it was: flushing would empty it.
        if self.drawn {
            let _ = self.erase().and_then(|()| self.out.flush());
        }
    }
}

#[cfg(test)]
mod tests;
