//! What people and scripts get to see: one way of writing per format.

mod blocking;
mod csv;
mod diff;
mod json;
mod junit;
mod markdown;
mod missing;
mod openmetrics;
mod outlive;
mod overall;
mod share;
mod text;
pub(crate) mod together;
mod units;

use std::io;
use std::time::Duration;

use crate::check::Verdict;
use crate::gc::facts::{Arming, BackgroundGc, Exit, Lost, Target, Watch, WindowCounts};
use crate::gc::record::{Gc, Level};
use crate::gc::summary::Summary;

pub(crate) use csv::CsvReport;
pub(crate) use diff::{DiffReport, DiffSide, Judged};
pub(crate) use json::{JsonProcesses, JsonReport, NdjsonReport, read as read_document, schema};
pub(crate) use junit::{JunitProcesses, JunitReport};
pub(crate) use markdown::MarkdownReport;
pub(crate) use openmetrics::{OpenMetricsProcesses, OpenMetricsReport, Place};
pub(crate) use outlive::Outlive;
pub(crate) use text::{Terminal, TextOptions, TextReport, verdict_lines};
pub(crate) use together::{NOT_WATCHED, Together, label};
pub(crate) use units::Units;

/// The version that reports carry.
pub(crate) const TOOL_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Upper bounds, in bytes, of the rows of a histogram of block sizes; a last row has none.
pub(crate) const SIZE_BOUNDS: [u64; 8] =
    [1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// What is known of the watch so far. It may grow while the watch runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    pub(crate) target: Target,
    pub(crate) watch: Watch,
}

impl Default for Facts {
    fn default() -> Facts {
        let watch = Watch {
            level: Level::Basic,
            level_reason: None,
            started_at: None,
            duration_ns: None,
            background_gc: BackgroundGc::Untouched,
            arming: None::<Arming>,
            sample: None,
            windows: WindowCounts::default(),
            blocks: false,
            estimate: None,
            max_blocking_ns: None,
            step_back: None,
            windows_after_gen2: false,
            stepped_back: None,
        };
        Facts { target: Target::default(), watch }
    }
}

/// How a watch ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) lost: &'a Lost,
    /// What became of the bounds that were asked for.
    pub(crate) verdicts: &'a [Verdict],
    pub(crate) exit: &'a Exit,
}

/// The watch between two collections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LiveState {
    /// Time since the watch began, ns, on the scale of [`Gc::at_ns`].
    pub(crate) elapsed_ns: u64,
    pub(crate) lost: Lost,
}

/// One way of writing down a watch. Calls come in the order start, any number of gc, tick and
/// warn, end. An error is the writer's.
pub(crate) trait Report: std::fmt::Debug {
    /// Once, as soon as the watch is known to be running.
    fn start(&mut self, facts: &Facts) -> io::Result<()>;

    /// A finished record, complete or cut off; it never changes again.
    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()>;

    /// How often it wants a [tick](Self::tick) as things stand: each one wakes a processor that may sleep.
    fn tick_every(&self) -> Option<Duration> {
        None
    }

    /// Now and then, whether something happened or not.
    fn tick(&mut self, _state: &LiveState) -> io::Result<()> {
        Ok(())
    }

    /// Something the reader should know, with its remedy, in one line. Where the format has no
    /// place for it nothing is written: the caller then says it on stderr.
    fn warn(&mut self, _message: &str) -> io::Result<()> {
        Ok(())
    }

    /// Once, at the end.
    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()>;
}

/// Which collections get a line of their own in text, CSV and NDJSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Only those that stopped the program at least this long.
    pub(crate) min_pause_ns: Option<u64>,
    /// Only these generations; empty: all.
    pub(crate) generations: Vec<u8>,
}

impl Filter {
    /// What is not known of a collection cannot hide it.
    pub(crate) fn shows(&self, gc: &Gc) -> bool {
        let long = match (self.min_pause_ns, gc.pause_ns) {
            (Some(min), Some(pause)) => pause >= min,
            _ => true,
        };
        let wanted = gc.generation.is_none_or(|generation| self.generations.contains(&generation));
        long && (wanted || self.generations.is_empty())
    }
}

#[cfg(test)]
mod sample;
