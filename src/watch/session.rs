//! Stream bytes in, report out. The one path that live and replayed watching share.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use dotnet_diagnostics_client::nettrace::{self, Item, Reader};
use netcore_profiler::wire;

use super::playback::{Next, PartEnd, Playback, stream_event};
use super::recording::Recorder;
use super::step_back::StepBack;
use crate::assertion::{Assertions, Verdict};
use crate::exit::{Code, Failure};
use crate::gc::facts::{BackgroundGc, Exit, Gap, Lost, Sample, WindowLength};
use crate::gc::fold::Fold;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Incomplete, Level};
use crate::gc::replayable_state::replayable_state;
use crate::gc::summary::{StopTotals, Summary};
use crate::report::{End, Facts, LiveState, Report};

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More may come.
    Goes,
    /// The stream's end tag was there.
    Ended,
    /// It cannot be read any further.
    Broken,
}

const MAKERS_GIVEN_UP: &str =
    "this program made more than 20,000 handles within 100 ms: who makes its handles is no longer looked at";

/// The report cannot be written: its reader has gone (`| head`), or its disk is full.
pub(crate) type ReportError = io::Error;

/// One stream being read.
pub(crate) struct Session<'r> {
    reader: Reader,
    fold: Fold,
    report: &'r mut dyn Report,
    recorder: Option<Recorder>,
    /// Why the recording ended early.
    pub(crate) record_error: Option<(PathBuf, io::Error)>,
    pub(crate) facts: Facts,
    summary: Summary,
    checks: Assertions,
    lost: Lost,
    clock: Option<nettrace::TraceInfo>,
    began: bool,
    /// The bytes come from a target. A recording of them holds whole objects only, and is to tell the same.
    pub(crate) live: bool,
    /// The facts come from a look ahead: the stream read so far knows less.
    looked_ahead: bool,
    /// The stream's end tag was there.
    ended: bool,
    damaged: Option<nettrace::Error>,
    damages: u64,
    /// Records shown so far.
    pub(crate) records: u64,
    /// What `--gcs` counts: complete collections, seen at the level that the watch set out with.
    pub(crate) counted: u64,
    /// Collections shown with their roots.
    pub(crate) at_roots: u64,
    /// Collections of generation 2 shown.
    pub(crate) full: u64,
    /// Whether the profiler costs too much, where that is a question.
    step_back: Option<StepBack>,
    wished: Level,
    incomplete_by_loss: u64,
    /// Half-armed collections since the last one with roots, if there was one.
    half_armed: u64,
    armed_seen: bool,
    border: Border,
    later_part: bool,
}

/// Where it stands in a recording of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Border {
    /// Before the first event of the first file.
    Start,
    /// Before the first event of another file; whether one is missing before it.
    Reached { lost: bool },
    /// In the middle of a file.
    None,
}

impl<'r> Session<'r> {
    pub(crate) fn new(facts: Facts, report: &'r mut dyn Report) -> Session<'r> {
        // In windows among others all count.
        let wished = if facts.watch.sample.is_some() { Level::Basic } else { facts.watch.level };
        let keep_blocks = facts.watch.blocks;
        Session {
            reader: Reader::new(),
            fold: Fold::new(keep_blocks),
            report,
            recorder: None,
            record_error: None,
            facts,
            summary: Summary::default(),
            checks: Assertions::default(),
            lost: Lost::default(),
            clock: None,
            began: false,
            live: false,
            looked_ahead: false,
            ended: false,
            damaged: None,
            damages: 0,
            records: 0,
            counted: 0,
            at_roots: 0,
            full: 0,
            step_back: None,
            wished,
            incomplete_by_loss: 0,
            half_armed: 0,
            armed_seen: false,
            border: Border::Start,
            later_part: false,
        }
    }

    /// Keeps what comes.
    pub(crate) fn recorded(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// The first lines need not wait for what the stream tells first.
    pub(crate) fn looked_ahead(&mut self) {
        self.looked_ahead = true;
    }

    /// Bounds to judge in the end.
    #[must_use]
    pub(crate) fn judging(mut self, checks: &Assertions) -> Session<'r> {
        self.checks = checks.clone();
        self
    }

    /// The report's first lines.
    pub(crate) fn begin(&mut self) -> Result<(), ReportError> {
        self.began = true;
        // A recording that was read so far has no length yet, as a watch that begins has none.
        let duration_ns = self.facts.watch.duration_ns.take();
        self.report.start(&self.facts)?;
        self.facts.watch.duration_ns = duration_ns;
        Ok(())
    }

    /// What the stream has told besides collections.
    pub(crate) fn stream_info(&self) -> &crate::gc::stream_info::StreamInfo {
        &self.fold.stream_info
    }

    /// What was wrong first with the file that was read last, if anything.
    pub(crate) fn damage(&self) -> Option<&nettrace::Error> {
        self.damaged.as_ref()
    }

    /// Whether anything was read that makes this a trace.
    pub(crate) fn is_trace(&self) -> bool {
        self.clock.is_some()
    }

    /// Takes in the next bytes, in pieces of any size.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<Progress, ReportError> {
        self.reader.feed(bytes);
        if self.recorder.is_none() {
            return self.drain();
        }
        // Whatever kills us, what was shown is in the recording: it is written in between.
        let mut finished = Vec::new();
        let mut reader = std::mem::take(&mut self.reader);
        let progress = loop {
            let progress = self.step(&mut reader);
            finished.extend(std::iter::from_fn(|| self.finished()));
            if let Some(progress) = progress {
                break progress;
            }
        };
        self.reader = reader;
        let (boundary, objects) = (self.reader.boundary(), self.reader.objects());
        if let Some(recorder) = &mut self.recorder
            && let Err(e) = recorder.write(bytes, boundary, objects)
        {
            let path = recorder.path().to_owned();
            self.recorder = None;
            self.not_recorded(path, e)?;
        }
        for gc in &finished {
            self.show(gc)?;
        }
        Ok(progress)
    }

    /// The recording ends here, or could not even begin. Watching goes on without.
    pub(crate) fn not_recorded(&mut self, path: PathBuf, error: io::Error) -> Result<(), ReportError> {
        let what = format!("the recording {} ends here: {error}", path.display());
        self.record_error = Some((path, error));
        self.report.warn(&what)
    }

    /// Takes in the rest of a file. How it ended.
    pub(crate) fn replay(&mut self, playback: &mut Playback) -> Result<PartEnd, ReportError> {
        while let Some(batch) = playback.next() {
            let end = batch.each(|next| {
                self.take(next);
                self.show_finished()
            })?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
        Ok(PartEnd { clean: false, broken: None })
    }

    /// What comes next is the following file of the same recording. To be called after the end of the one before.
    pub(crate) fn next_part(&mut self) {
        self.damaged = None;
        self.border = Border::Reached { lost: false };
    }

    /// What is read is a later part of a watch: files before it are not here.
    pub(crate) fn is_later_part(&self) -> bool {
        self.later_part
    }

    /// Events are held back for order.
    pub(crate) fn holds(&self) -> bool {
        self.reader.held_events() > 0
    }

    /// The bytes so far end where the runtime had nothing more to write.
    pub(crate) fn flush_ended(&self) -> bool {
        self.reader.flush_ended()
    }

    /// More bytes are on their way: a flush has begun, and its end has not been seen.
    pub(crate) fn flush_runs(&self) -> bool {
        self.reader.within_object() || !self.reader.flush_ended()
    }

    /// A flush is over: what is held back for order may go. Live only; a file has the next flush.
    pub(crate) fn quiet(&mut self) -> Result<(), ReportError> {
        self.reader.release_held();
        self.drain().map(|_| ())
    }

    /// A window of `--sample` was skipped; `busy`: a background collection ran.
    pub(crate) fn window_skipped(&mut self, busy: bool) {
        self.fold.stream_info.window_skipped(busy);
    }

    /// A background collection is going on.
    pub(crate) fn background_runs(&self) -> bool {
        self.fold.background_runs()
    }

    /// A collection is going on, as far as the stream has come.
    pub(crate) fn collects(&self) -> bool {
        self.fold.runs()
    }

    /// How often the report wants a tick.
    pub(crate) fn tick_every(&self) -> Option<Duration> {
        self.report.tick_every()
    }

    /// The line that is alive; `elapsed_ns` since the watch began.
    pub(crate) fn tick(&mut self, elapsed_ns: u64) -> Result<(), ReportError> {
        self.report.tick(&LiveState { elapsed_ns, lost: self.lost })
    }

    /// A warning with its remedy.
    pub(crate) fn warn(&mut self, message: &str) -> Result<(), ReportError> {
        self.report.warn(message)
    }

    fn drain(&mut self) -> Result<Progress, ReportError> {
        let mut reader = std::mem::take(&mut self.reader);
        let drained = loop {
            let progress = self.step(&mut reader);
            let shown = self.show_finished();
            if let (Some(progress), Ok(())) = (progress, &shown) {
                break Ok(progress);
            }
            if let Err(e) = shown {
                break Err(e);
            }
        };
        self.reader = reader;
        drained
    }

    /// Takes in what comes next of the session's own reader; how far the stream has come, once nothing does.
    fn step(&mut self, reader: &mut Reader) -> Option<Progress> {
        let next = match reader.next_item() {
            Ok(None) => return Some(Progress::Goes),
            Ok(Some(Item::Trace(trace))) => Next::Trace(trace),
            Ok(Some(Item::Event(event))) => {
                let (stream_event, repeated) = stream_event(&event, self.clock.as_ref()?);
                if let Some(recorder) = &mut self.recorder
                    && let Some(state) = replayable_state(&stream_event)
                {
                    recorder.replayable_state(state, &event);
                }
                Next::Event { stream_event, repeated }
            }
            Ok(Some(Item::SequencePoint { .. })) => Next::SequencePoint,
            Ok(Some(Item::Lost(lost))) => Next::Lost(lost),
            Ok(Some(Item::Truncated)) => Next::Cut,
            Ok(Some(Item::End(end))) => {
                self.ended |= end.clean;
                return Some(if end.clean { Progress::Ended } else { Progress::Broken });
            }
            Ok(Some(_)) => return None,
            Err(error) => Next::Damaged(error),
        };
        self.take(next);
        None
    }

    fn take(&mut self, next: Next<'_>) {
        match next {
            Next::Trace(trace) => {
                self.facts.watch.started_at =
                    jiff::Timestamp::from_nanosecond(trace.sync_time_utc.into()).ok();
                self.facts.target.pid.get_or_insert(trace.process_id);
                self.clock = Some(trace.clone());
            }
            // Each file tells again what the one before has told.
            Next::Event { repeated: true, .. } if self.border == (Border::Reached { lost: false }) => {}
            Next::Event { stream_event, repeated } => {
                if !repeated {
                    self.border = Border::None;
                }
                self.fold.event(stream_event);
                if repeated && self.border == Border::Start {
                    self.fold.stream_info.repeated();
                }
            }
            Next::SequencePoint => {
                self.later_part |= self.border == Border::Start;
                if let Some(recorder) = &mut self.recorder {
                    recorder.sequence_point();
                }
            }
            Next::Lost(lost) => {
                if let Border::Reached { lost } = &mut self.border {
                    *lost = true;
                }
                self.lost.events = self.lost.events.saturating_add(lost.events);
                self.fold.lost(lost.events);
            }
            Next::Cut => self.fold.cut(),
            Next::Unread => {
                self.damages += 1;
                self.fold.lost(1);
            }
            Next::Damaged(error) => {
                self.damaged.get_or_insert(error);
                self.damages += 1;
                self.fold.lost(1);
            }
        }
    }

    /// Hands finished records on.
    fn show_finished(&mut self) -> Result<(), ReportError> {
        while let Some(gc) = self.finished() {
            self.show(&gc)?;
        }
        for notice in self.fold.stream_info.take_notices() {
            self.report.warn(&notice)?;
        }
        Ok(())
    }

    fn show(&mut self, gc: &Gc) -> Result<(), ReportError> {
        if !self.began {
            if !self.looked_ahead {
                self.learn();
            }
            self.begin()?;
        }
        self.learn();
        self.count(gc);
        self.report.gc(&self.facts, gc)?;
        let end_ns = gc.at_ns.zip(gc.pause_ns).map(|(at_ns, pause_ns)| at_ns.saturating_add(pause_ns));
        let decided_ns = self.facts.watch.stepped_back.as_ref().map(|stepped_back| stepped_back.at_ns);
        if decided_ns.is_some()
            && end_ns == decided_ns
            && let Some(line) = self.step_back_line()
        {
            self.report.warn(&line)?;
        }
        if self.fold.stream_info.handle_watch_off() {
            // It is said once.
            self.report.warn(MAKERS_GIVEN_UP)?;
        }
        Ok(())
    }

    /// The next record that is finished. Whether the profiler may stay is judged here, between two events, so that live
    /// and replayed watches decide at the same place of the stream.
    fn finished(&mut self) -> Option<Gc> {
        let gc = self.fold.take()?;
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
            // From here on most collections are seen without their roots, and all count.
            self.wished = Level::Basic;
        }
        Some(gc)
    }

    /// The profiler costs too much to stay.
    pub(crate) fn stepped_back(&self) -> bool {
        self.facts.watch.stepped_back.is_some()
    }

    /// What is said of that.
    pub(crate) fn step_back_line(&self) -> Option<String> {
        let stepped_back = self.facts.watch.stepped_back.as_ref()?;
        let sample = self.facts.watch.sample?;
        Some(format!(
            "stepping back from roots: {}; from here on roots of 1 GC every {} s, basic between",
            stepped_back.reason,
            sample.every.as_secs()
        ))
    }

    fn count(&mut self, gc: &Gc) {
        self.full += u64::from(gc.generation == Some(Generation::GEN2) && gc.complete());
        self.records += 1;
        self.counted += u64::from(gc.complete() && gc.level >= self.wished);
        self.at_roots += u64::from(gc.roots.is_some());
        self.lost.ranges = self.lost.ranges.saturating_add(gc.missing.ranges);
        self.lost.roots = self.lost.roots.saturating_add(gc.missing.roots);
        match gc.incomplete {
            Some(Incomplete::Lost) => self.incomplete_by_loss += 1,
            Some(Incomplete::HalfArmed) => self.half_armed += 1,
            None if gc.level == Level::Roots => {
                // The mask that is written as the profiler comes may meet a collection that is running: it is cut off
                // as one at the start of the watch.
                if self.armed_seen || !self.came_late() {
                    self.incomplete_by_loss += self.half_armed;
                }
                (self.half_armed, self.armed_seen) = (0, true);
            }
            _ => {}
        }
        self.summary.add(gc);
        self.checks.add(gc);
    }

    /// The profiler came into a process that was running.
    fn came_late(&self) -> bool {
        self.stream_info().hello.is_some_and(|hello| hello.load == wire::Load::ATTACH)
    }

    /// What the stream has told goes where it was not known better.
    fn learn(&mut self) {
        let info = &self.fold.stream_info;
        let target = &mut self.facts.target;
        fn fill<T: Clone>(known: &mut Option<T>, told: &Option<T>) {
            if known.is_none() {
                known.clone_from(told);
            }
        }
        fill(&mut target.command_line, &info.command_line);
        fill(&mut target.os, &info.os);
        fill(&mut target.arch, &info.arch);
        fill(&mut target.runtime_version, &info.runtime_version);
        if info.gc.server.is_some() && info.gc.server != target.gc.server {
            target.gc.server = info.gc.server;
            target.gc.source = info.gc.source;
        }
        fill(&mut target.gc.concurrent, &info.gc.concurrent);
        fill(&mut target.gc.heaps, &info.gc.heaps);
        fill(&mut target.gc.source, &info.gc.source);
        let watch = &mut self.facts.watch;
        watch.level = watch.level.max(info.level());
        watch.arming = info.arming();
        if watch.stepped_back.is_none() {
            watch.background_gc = info.background_gc();
        }
        watch.step_back = watch.step_back.or(info.step_back.map(|plan| plan.limits));
        let (sample, windows) = info.windows();
        watch.sample = watch.sample.or(sample);
        watch.windows = windows;
        watch.duration_ns = Some(self.fold.last_ns);
    }

    /// A part of the stream is missing, and why; what was said first holds.
    pub(crate) fn has_gap(&mut self, why: Gap) {
        self.lost.gap.get_or_insert(why);
    }

    /// No more bytes will come: what is open is cut off and shown as such.
    pub(crate) fn finish(&mut self) -> Result<Progress, ReportError> {
        let progress = self.end_of_part()?;
        if self.live && !self.ended {
            self.has_gap(Gap::Left);
        }
        self.over()?;
        Ok(progress)
    }

    /// No more bytes of this file will come.
    pub(crate) fn end_of_part(&mut self) -> Result<Progress, ReportError> {
        if self.live {
            self.reader.finish_at_boundary();
        } else {
            self.reader.finish();
        }
        self.drain()
    }

    /// And there is no other file.
    pub(crate) fn over(&mut self) -> Result<(), ReportError> {
        self.fold.end();
        self.show_finished()?;
        self.learn();
        Ok(())
    }

    /// Says that the recording is cut short, if it is.
    pub(crate) fn recording_failed(&self) -> Option<Failure> {
        let (path, error) = self.record_error.as_ref()?;
        Some(
            Failure::new(Code::FAILED, format!("the recording {} ends early: {error}", path.display()))
                .remedy("what is in it can be read; give --record a place with room"),
        )
    }

    /// Whether anything that should be there is missing.
    pub(crate) fn incomplete(&self) -> bool {
        // And as it goes: what ran then is cut off as one at the end.
        let half_armed = if self.fold.lease_lost_ns.is_some() { 0 } else { self.half_armed };
        self.all_lost() != Lost::default() || self.incomplete_by_loss + half_armed > 0 || self.damages > 0
    }

    /// What becomes of the bounds, now that all has come.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        self.checks.judge(&self.summary, &self.all_lost(), &self.facts.watch)
    }

    fn all_lost(&self) -> Lost {
        let events = self.lost.events.saturating_add(self.fold.lost_totals);
        Lost { gcs: self.summary.numbers.not_received(), events, ..self.lost }
    }

    /// The summary, and the end of the report.
    pub(crate) fn end(mut self, exit: &Exit) -> Result<(), ReportError> {
        let verdicts = self.verdicts();
        self.lost = self.all_lost();
        let (count, ns) = self.fold.other_suspensions;
        self.summary.other_suspensions = StopTotals { count, ns };
        let end = End { summary: &self.summary, lost: &self.lost, verdicts: &verdicts, exit };
        self.report.end(&self.facts, &end)
    }
}
