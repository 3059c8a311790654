//! Processes a stream, the same way for a live watch and a replay: it decodes the bytes, records them, adds the events
//! up, and gives each collection to the observer.

use std::io;
use std::path::PathBuf;

use dotnet_diagnostics_client::nettrace::raw::RawReader;

use super::aggregator::{Aggregator, Results};
use super::control::Ended;
use super::counters::{self, CounterReader};
use super::decoder::{Decoder, StreamItem};
use super::observer::Observer;
use super::playback::{PartEnd, Playback};
use super::recording::{Plan, Recorder};
use crate::exit::Failure;
use crate::gc::facts::{Facts, Gap, LiveState, TakenGraph, WatchGraph};
use crate::gc::record::Gc;
use crate::gc::replayable_state::replayable_state;

/// How far a stream has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More may come.
    Continues,
    /// The stream's end tag was read.
    Ended,
    /// The stream cannot be read any further.
    Broken,
}

/// The observer's failure: the reader of the report has gone (`| head`), or the disk is full.
pub(crate) type ObserverError = io::Error;

/// Processes one stream, from its bytes to the observer.
pub(crate) struct StreamProcessor<'o> {
    pub(crate) decoder: Decoder,
    pub(crate) aggregator: Aggregator,
    pub(crate) observer: &'o mut dyn Observer,
    counters: CounterReader,
    recorder: Option<Recorder>,
    record_error: Option<(PathBuf, io::Error)>,
    started: bool,
    /// The facts come from a look ahead, which read more than this stream so far.
    looked_ahead: bool,
    /// The stream's end tag was read.
    ended: bool,
}

impl<'o> StreamProcessor<'o> {
    /// `looked_ahead`: the facts come from an earlier reading of the whole recording.
    pub(crate) fn new(
        facts: Facts,
        observer: &'o mut dyn Observer,
        looked_ahead: bool,
    ) -> StreamProcessor<'o> {
        StreamProcessor {
            decoder: Decoder::default(),
            aggregator: Aggregator::new(facts),
            observer,
            counters: CounterReader::default(),
            recorder: None,
            record_error: None,
            started: false,
            looked_ahead,
            ended: false,
        }
    }

    /// Starts the observer and, if one was requested, the recording. The target is known now.
    pub(crate) fn begin(&mut self, recording: Option<&Plan>) -> Result<(), ObserverError> {
        let Some(plan) = recording else { return self.start() };
        let target = &self.aggregator.facts.target;
        let (warning, opened) = (plan.warning(), plan.open(target.pid, target.title.as_deref()));
        self.start()?;
        if let Some(warning) = warning {
            self.observer.warn(&warning)?;
        }
        match opened {
            Ok(recorder) => self.recorder = Some(recorder),
            Err((path, e)) => self.not_recorded(path, e)?,
        }
        Ok(())
    }

    fn start(&mut self) -> Result<(), ObserverError> {
        self.started = true;
        // At its start a watch has no duration. A replay must start with the same facts.
        let facts = &mut self.aggregator.facts;
        let duration_ns = facts.watch.duration_ns.take();
        self.observer.start(facts)?;
        facts.watch.duration_ns = duration_ns;
        let impossible = facts.watch.graph.as_ref().and_then(|graph| graph.not_taken.clone());
        impossible.map_or(Ok(()), |why| self.observer.warn(&no_graph_text(&why, None)))
    }

    /// Processes the next bytes of a live stream, in pieces of any size.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<Progress, ObserverError> {
        self.decoder.reader.feed(bytes);
        if self.recorder.is_none() {
            return self.drain();
        }
        // Write the recording first, and show the records then: whatever kills us, what was shown is recorded.
        let mut finished = Vec::new();
        let progress = loop {
            let progress = self.step();
            finished.extend(std::iter::from_fn(|| self.aggregator.finished()));
            if let Some(progress) = progress {
                break progress;
            }
        };
        let reader = &self.decoder.reader;
        if let Some(recorder) = &mut self.recorder
            && let Err(e) = recorder.write(bytes, reader.boundary(), reader.objects())
        {
            let path = recorder.path().to_owned();
            self.recorder = None;
            self.not_recorded(path, e)?;
        }
        for gc in &finished {
            self.show(gc)?;
        }
        self.recording_notices()?;
        Ok(progress)
    }

    /// Keeps the recording of a collection that met a condition for it.
    fn keep(&mut self, gc: &Gc) {
        let Some(recorder) = &mut self.recorder else { return };
        if let Some(condition) = self.observer.keeps() {
            let number = gc.number.map_or_else(String::new, |number| format!(" #{number}"));
            recorder.keep(&format!("GC{number} met {condition}"), gc.at_ns.unwrap_or(0));
        }
    }

    fn recording_notices(&mut self) -> Result<(), ObserverError> {
        let notices = self.recorder.as_mut().map_or_else(Vec::new, Recorder::take_notices);
        notices.iter().try_for_each(|notice| self.observer.warn(notice))
    }

    /// The recording ends here, or could not begin. The watch continues without it.
    fn not_recorded(&mut self, path: PathBuf, error: io::Error) -> Result<(), ObserverError> {
        let what = format!("the recording {} ends here: {error}", path.display());
        self.record_error = Some((path, error));
        self.observer.warn(&what)
    }

    /// Processes the rest of a file. Returns how it ended.
    pub(crate) fn replay(&mut self, playback: &mut Playback) -> Result<PartEnd, ObserverError> {
        while let Some(batch) = playback.next() {
            let end = batch.each(|item| {
                self.aggregator.item(item);
                self.show_finished()
            })?;
            if let Some(end) = end {
                return Ok(end);
            }
        }
        Ok(PartEnd { clean: false, broken: None })
    }

    /// A flush is over: releases the events that were held for their order. A replay need not, as the next flush does.
    pub(crate) fn release_held(&mut self) -> Result<(), ObserverError> {
        self.decoder.reader.release_held();
        self.drain().map(|_| ())
    }

    /// Updates the live line of the report. `elapsed_ns`: since the watch began.
    pub(crate) fn tick(&mut self, elapsed_ns: u64) -> Result<(), ObserverError> {
        let (lost, counters) = (self.aggregator.lost_so_far(), self.counters.now);
        self.observer.tick(&LiveState { elapsed_ns, lost, counters })
    }

    /// Whether there can be no graph of `--graph-at`.
    pub(crate) fn graph_is_impossible(&self) -> bool {
        self.aggregator.facts.watch.graph.as_ref().is_some_and(|graph| graph.not_taken.is_some())
    }

    /// A collection has met a condition of `--graph-at`.
    pub(crate) fn graph_is_due(&mut self) -> Result<(), ObserverError> {
        let (condition, met_at_gc) = match self.observer.wants_graph() {
            Some((condition, number)) => (condition.to_owned(), number),
            None => return Ok(()),
        };
        let line = format!(
            "{} met {condition}: a heap graph is taken at the next blocking collection",
            gc_text(met_at_gc)
        );
        if let Some(graph) = &mut self.aggregator.facts.watch.graph {
            (graph.condition, graph.met_at_gc) = (Some(condition), met_at_gc);
        }
        self.observer.warn(&line)
    }

    /// The graph of `--graph-at` is written, or cannot be.
    pub(crate) fn graph_done(&mut self, done: Result<TakenGraph, Failure>) -> Result<(), ObserverError> {
        let Some(graph) = &mut self.aggregator.facts.watch.graph else { return Ok(()) };
        let line = match done {
            Ok(taken) => {
                let line = taken_text(&taken);
                graph.taken = Some(taken);
                line
            }
            Err(failure) => {
                let line = no_graph_text(&failure.what, failure.remedy.first().map(String::as_str));
                graph.not_taken = Some(failure.what);
                line
            }
        };
        self.observer.warn(&line)
    }

    /// The watch is over. If there is no graph of `--graph-at`, says why.
    pub(crate) fn no_graph_came(&mut self, ended: &Ended) -> Result<(), ObserverError> {
        let over = |graph: &&mut WatchGraph| graph.taken.is_none() && graph.not_taken.is_none();
        let Some(graph) = self.aggregator.facts.watch.graph.as_mut().filter(over) else { return Ok(()) };
        let met = self.observer.wants_graph();
        if let (None, Some((condition, number))) = (&graph.condition, met) {
            (graph.condition, graph.met_at_gc) = (Some(condition.to_owned()), number);
        }
        let who = if matches!(ended, Ended::Target { .. }) { "the program" } else { "the watch" };
        let (why, remedy) = match &graph.condition {
            None => ("no collection met a condition of --graph-at".to_owned(), None),
            Some(condition) => (
                format!("{condition} was met, but {who} ended before the graph was whole"),
                Some("a condition that is met earlier, such as a lower limit, leaves more time"),
            ),
        };
        let line = no_graph_text(&why, remedy);
        graph.not_taken = Some(why);
        self.observer.warn(&line)
    }

    fn drain(&mut self) -> Result<Progress, ObserverError> {
        loop {
            let progress = self.step();
            self.show_finished()?;
            if let Some(progress) = progress {
                return Ok(progress);
            }
        }
    }

    /// Processes the next item. Returns the progress if there is none at present.
    fn step(&mut self) -> Option<Progress> {
        let Some(item) = self.decoder.next() else { return Some(Progress::Continues) };
        if let StreamItem::End { clean } = item {
            self.ended |= clean;
            return Some(if clean { Progress::Ended } else { Progress::Broken });
        }
        // Counters are for the live line alone: no figure of a record may depend on whether they come.
        if let StreamItem::Event { stream_event, event: Some(event), .. } = &item
            && stream_event.provider == counters::PROVIDER
        {
            self.counters.add(event, stream_event.at_ns);
            return None;
        }
        if let Some(recorder) = &mut self.recorder {
            match &item {
                StreamItem::Event { stream_event, event: Some(event), .. } => {
                    if let Some(state) = replayable_state(stream_event) {
                        recorder.replayable_state(state, event);
                    }
                }
                StreamItem::SequencePoint { at_ns, .. } => recorder.sequence_point(*at_ns),
                _ => {}
            }
        }
        self.aggregator.item(item);
        None
    }

    fn show_finished(&mut self) -> Result<(), ObserverError> {
        while let Some(gc) = self.aggregator.finished() {
            self.show(&gc)?;
        }
        for notice in self.aggregator.notices() {
            self.observer.warn(&notice)?;
        }
        Ok(())
    }

    fn show(&mut self, gc: &Gc) -> Result<(), ObserverError> {
        if !self.started {
            if !self.looked_ahead {
                self.aggregator.learn();
            }
            self.start()?;
        }
        self.aggregator.learn();
        self.aggregator.shown(gc);
        self.observer.gc(&self.aggregator.facts, gc)?;
        self.keep(gc);
        for line in self.aggregator.warnings_after(gc) {
            self.observer.warn(&line)?;
        }
        Ok(())
    }

    /// No more bytes of a live stream will come. An incomplete object at its end is ignored, as its recording lacks it.
    pub(crate) fn finish_live(&mut self) -> Result<(), ObserverError> {
        self.decoder.reader.finish_at_boundary();
        self.drain()?;
        if !self.ended {
            self.aggregator.has_gap(Gap::Left);
        }
        self.finish()?;
        if let Some(recorder) = &mut self.recorder {
            recorder.finish();
        }
        self.recording_notices()
    }

    /// Nothing more will come: collections that are still open are truncated and shown.
    pub(crate) fn finish(&mut self) -> Result<(), ObserverError> {
        self.aggregator.end();
        self.show_finished()?;
        self.aggregator.learn();
        Ok(())
    }

    /// The results of the watch.
    pub(crate) fn into_results(self) -> Results {
        Results { record_error: self.record_error, ..self.aggregator.into_results() }
    }
}

fn gc_text(number: Option<u32>) -> String {
    number.map_or_else(|| "a collection".to_owned(), |number| format!("gc#{number}"))
}

fn taken_text(taken: &TakenGraph) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    let names = if taken.names_missing { "; some names are missing" } else { "" };
    format!(
        "the heap graph was taken at {}: {}, {} objects, {} MiB; the program stood still for {:.1} ms, its copy lived {:.0} ms{names}",
        gc_text(taken.gc_number),
        taken.file,
        taken.objects,
        taken.object_bytes >> 20,
        ms(taken.pause_ns),
        ms(taken.copy_ns),
    )
}

fn no_graph_text(why: &str, remedy: Option<&str>) -> String {
    let remedy = remedy.map_or_else(String::new, |remedy| format!(": {remedy}"));
    format!("there is no heap graph: {why}{remedy}")
}
