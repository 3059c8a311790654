//! Adds up what a stream contains: facts about the target and the watch, collections, and losses.

use std::path::PathBuf;

use dotnet_diagnostics_client::nettrace;
use netcore_profiler::wire;

use super::decoder::StreamItem;
use super::step_back::StepBack;
use crate::gc::allocation::Allocation;
use crate::gc::facts::{BackgroundGc, Facts, Gap, Lost, Sample, WindowLength};
use crate::gc::fold::Fold;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Incomplete, Level};
use crate::gc::stream_info::StreamInfo;
use crate::gc::summary::{StopTotals, Summary};

const HANDLE_WATCH_GIVEN_UP: &str = "this program made more than 20,000 handles within 100 ms: gcwatch no longer records which methods make its handles";

/// Numbers of collections, counted while a watch runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// All collections that were shown.
    pub(crate) shown: u64,
    /// What `--gcs` counts: complete collections at the level that the watch began with, or above.
    pub(crate) at_level: u64,
    /// Collections with roots.
    pub(crate) with_roots: u64,
    /// Complete collections of generation 2.
    pub(crate) gen2: u64,
}

/// The results of a watch.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) facts: Facts,
    /// Collections that were shown.
    pub(crate) shown: u64,
    pub(crate) summary: Summary,
    pub(crate) lost: Lost,
    /// Something was lost, or the input is damaged.
    pub(crate) incomplete: bool,
    /// Why the recording ended early.
    pub(crate) record_error: Option<(PathBuf, std::io::Error)>,
}

/// Adds up one stream.
pub(crate) struct Aggregator {
    fold: Fold,
    allocation: Allocation,
    pub(crate) facts: Facts,
    pub(crate) counts: Counts,
    summary: Summary,
    lost: Lost,
    /// The first damage in the current file.
    damage: Option<nettrace::Error>,
    damages: u64,
    is_trace: bool,
    /// Decides when the profiler costs too much, in a watch that then steps back.
    step_back: Option<StepBack>,
    /// `--gcs` counts complete collections of this level or a higher one.
    counted_level: Level,
    incomplete_by_loss: u64,
    /// Half-armed collections since the last complete one at level `roots`.
    half_armed: u64,
    roots_seen: bool,
    border: Border,
    later_part: bool,
}

/// The position of the stream in a recording of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    /// Before the first event of the first file.
    Start,
    /// Before the first event of a later file. `lost`: events between the files are missing.
    Reached { lost: bool },
    /// In the middle of a file.
    None,
}

impl Aggregator {
    pub(crate) fn new(facts: Facts) -> Aggregator {
        // With sampling windows most collections have no roots, so all of them count.
        let counted_level = if facts.watch.sample.is_some() { Level::Basic } else { facts.watch.level };
        Aggregator {
            fold: Fold::new(facts.watch.blocks),
            allocation: Allocation::default(),
            facts,
            counts: Counts::default(),
            summary: Summary::default(),
            lost: Lost::default(),
            damage: None,
            damages: 0,
            is_trace: false,
            step_back: None,
            counted_level,
            incomplete_by_loss: 0,
            half_armed: 0,
            roots_seen: false,
            border: Border::Start,
            later_part: false,
        }
    }

    /// Adds one item of the stream.
    pub(crate) fn item(&mut self, item: StreamItem<'_>) {
        match item {
            StreamItem::Trace(trace) => {
                self.facts.watch.started_at =
                    jiff::Timestamp::from_nanosecond(trace.sync_time_utc.into()).ok();
                self.facts.target.pid.get_or_insert(trace.process_id);
                self.facts.target.processors = Some(trace.processors).filter(|known| *known > 0);
                self.is_trace = true;
            }
            // The file before it had the same events.
            StreamItem::Event { repeated: true, .. } if self.border == (Border::Reached { lost: false }) => {}
            StreamItem::Event { stream_event, repeated, .. } => {
                if !repeated {
                    self.border = Border::None;
                }
                self.fold.event(stream_event);
                if repeated && self.border == Border::Start {
                    self.fold.stream_info.repeated();
                }
            }
            StreamItem::SequencePoint { .. } => self.later_part |= self.border == Border::Start,
            StreamItem::Lost(lost) => {
                if let Border::Reached { lost } = &mut self.border {
                    *lost = true;
                }
                self.lost.events = self.lost.events.saturating_add(lost.events);
                self.fold.lost(lost.events);
            }
            StreamItem::Truncated => self.fold.cut(),
            StreamItem::Unread => self.damaged(None),
            StreamItem::Damaged(error) => self.damaged(Some(error)),
            StreamItem::End { .. } | StreamItem::Other => {}
        }
    }

    fn damaged(&mut self, error: Option<nettrace::Error>) {
        self.damage = self.damage.take().or(error);
        self.damages += 1;
        self.fold.lost(1);
    }

    /// The next item is the first of the next file of the same recording.
    pub(crate) fn next_part(&mut self) {
        self.damage = None;
        self.border = Border::Reached { lost: false };
    }

    /// The stream has ended: collections that are still open are truncated.
    pub(crate) fn end(&mut self) {
        self.fold.end();
    }

    /// The next finished record. Give it to [`shown`](Self::shown) before the next item. The decision to step back is
    /// made here, between two events, so that a replay decides at the same place of the stream.
    pub(crate) fn finished(&mut self) -> Option<Gc> {
        let mut gc = self.fold.take()?;
        gc.allocated = self.allocation.add(&gc);
        let Some(plan) = self.fold.stream_info.step_back.filter(|_| self.fold.lease_lost_ns.is_none()) else {
            return Some(gc);
        };
        let rule = self.step_back.get_or_insert_with(|| StepBack::new(&plan));
        if let Some(stepped_back) = rule.add(&gc) {
            self.fold.stream_info.set_stepped_back();
            let watch = &mut self.facts.watch;
            watch.stepped_back = Some(stepped_back);
            watch.sample =
                Some(Sample { each: WindowLength::Gcs(1), every: plan.every, between: Level::Basic });
            watch.background_gc = BackgroundGc::OffInWindows;
            // From here on most collections have no roots, so all of them count.
            self.counted_level = Level::Basic;
        }
        Some(gc)
    }

    /// Counts a record that is about to be shown.
    pub(crate) fn shown(&mut self, gc: &Gc) {
        let counts = &mut self.counts;
        counts.shown += 1;
        counts.at_level += u64::from(gc.complete() && gc.level >= self.counted_level);
        counts.with_roots += u64::from(gc.roots.is_some());
        counts.gen2 += u64::from(gc.generation == Some(Generation::GEN2) && gc.complete());
        self.lost.ranges = self.lost.ranges.saturating_add(gc.missing.ranges);
        self.lost.roots = self.lost.roots.saturating_add(gc.missing.roots);
        match gc.incomplete {
            Some(Incomplete::Lost) => self.incomplete_by_loss += 1,
            Some(Incomplete::HalfArmed) => self.half_armed += 1,
            None if gc.level == Level::Roots => {
                // An attached profiler may write its first event mask during a collection. That collection is
                // half-armed, but no loss: it is like one that ran when the watch began.
                if self.roots_seen || !self.profiler_was_attached() {
                    self.incomplete_by_loss += self.half_armed;
                }
                (self.half_armed, self.roots_seen) = (0, true);
            }
            _ => {}
        }
        self.summary.add(gc);
    }

    /// The warnings to show after this record, one line each.
    pub(crate) fn warnings_after(&mut self, gc: &Gc) -> Vec<String> {
        let mut lines = Vec::new();
        let end_ns = gc.at_ns.zip(gc.pause_ns).map(|(at_ns, pause_ns)| at_ns.saturating_add(pause_ns));
        let decided_ns = self.facts.watch.stepped_back.as_ref().map(|stepped_back| stepped_back.at_ns);
        if decided_ns.is_some() && end_ns == decided_ns {
            lines.extend(self.step_back_line());
        }
        if self.fold.stream_info.handle_watch_off() {
            // The report shows a repeated warning once.
            lines.push(HANDLE_WATCH_GIVEN_UP.to_owned());
        }
        lines
    }

    /// New notes of the profiler that the user has to see.
    pub(crate) fn notices(&mut self) -> Vec<String> {
        self.fold.stream_info.take_notices()
    }

    /// Whether the watch has stepped back because the profiler costs too much.
    pub(crate) fn stepped_back(&self) -> bool {
        self.facts.watch.stepped_back.is_some()
    }

    fn step_back_line(&self) -> Option<String> {
        let stepped_back = self.facts.watch.stepped_back.as_ref()?;
        let sample = self.facts.watch.sample?;
        Some(format!(
            "stepping back from roots: {}; from here on roots of 1 GC every {} s, basic between",
            stepped_back.reason,
            sample.every.as_secs()
        ))
    }

    /// Whether the profiler was attached to a running process.
    fn profiler_was_attached(&self) -> bool {
        self.stream_info().hello.is_some_and(|hello| hello.load == wire::Load::ATTACH)
    }

    /// The stream info so far.
    pub(crate) fn stream_info(&self) -> &StreamInfo {
        &self.fold.stream_info
    }

    /// A sampling window was skipped. `busy`: because a background collection ran.
    pub(crate) fn window_skipped(&mut self, busy: bool) {
        self.fold.stream_info.window_skipped(busy);
    }

    /// Whether a background collection runs.
    pub(crate) fn background_runs(&self) -> bool {
        self.fold.background_runs()
    }

    /// Whether a collection runs, as far as the stream has been read.
    pub(crate) fn collects(&self) -> bool {
        self.fold.runs()
    }

    /// Completes the facts with the stream info.
    pub(crate) fn learn(&mut self) {
        self.fold.stream_info.complete(&mut self.facts);
        self.facts.watch.duration_ns = Some(self.fold.last_ns);
    }

    /// Notes why a part of the stream is missing. The first reason stays.
    pub(crate) fn has_gap(&mut self, why: Gap) {
        self.lost.gap.get_or_insert(why);
    }

    /// The losses so far. Lost collections are counted at the end of the watch.
    pub(crate) fn lost_so_far(&self) -> Lost {
        self.lost
    }

    /// The first damage in the file that was read last.
    pub(crate) fn damage(&self) -> Option<&nettrace::Error> {
        self.damage.as_ref()
    }

    /// Whether the input is a trace: its trace object was read.
    pub(crate) fn is_trace(&self) -> bool {
        self.is_trace
    }

    /// Whether the first file is a later part of a recording, so that earlier parts are missing.
    pub(crate) fn is_later_part(&self) -> bool {
        self.later_part
    }

    /// Ends the watch and returns its results.
    pub(crate) fn into_results(mut self) -> Results {
        self.summary.induced.resolve(&self.fold.callers);
        self.summary.allocations = self.fold.allocations.summary(&self.fold.callers);
        let events = self.lost.events.saturating_add(self.fold.lost_totals);
        let lost = Lost { gcs: self.summary.numbers.not_received(), events, ..self.lost };
        // A profiler that leaves may half-arm a collection. That is no loss: it is like one at the end of the watch.
        let half_armed = if self.fold.lease_lost_ns.is_some() { 0 } else { self.half_armed };
        let incomplete =
            lost != Lost::default() || self.incomplete_by_loss + half_armed > 0 || self.damages > 0;
        let (count, ns) = self.fold.other_suspensions;
        let summary = Summary { other_suspensions: StopTotals { count, ns }, ..self.summary };
        let shown = self.counts.shown;
        Results { facts: self.facts, shown, summary, lost, incomplete, record_error: None }
    }
}
