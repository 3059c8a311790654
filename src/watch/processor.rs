//! Processes a stream, the same way for a live watch and a replay: it decodes the bytes, records them, adds the events
//! up, and gives each collection to the observer.

use std::io;
use std::path::PathBuf;

use dotnet_diagnostics_client::nettrace::raw::RawReader;

use super::aggregator::{Aggregator, Results};
use super::counters::{self, CounterReader};
use super::decoder::{Decoder, StreamItem};
use super::observer::Observer;
use super::playback::{PartEnd, Playback};
use super::recording::{Plan, Recorder};
use crate::gc::facts::{Facts, Gap, LiveState};
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
        Ok(())
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
