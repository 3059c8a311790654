//! What a stream tells once, and every file of a rotation has to tell again: who the profiler is, and what its
//! identifiers mean.

use std::collections::VecDeque;

use dotnet_diagnostics_client::nettrace::{EventBlock, RepeatedEvent};

use crate::gc::lasting::Lasting;

/// Capture thread of events that a file repeats. No thread of a process has this id.
pub(crate) const THREAD: u64 = 0;
/// Runtimes write blocks of up to 100 KiB.
const BLOCK_BYTES: usize = 64 << 10;

/// The events so far. They are as many as there are types, methods and modules to name.
#[derive(Debug, Default)]
pub(super) struct Carried {
    states: Vec<RepeatedEvent>,
    meanings: VecDeque<RepeatedEvent>,
    /// How many meanings were dropped at the front.
    dropped: u64,
    /// Those before are void.
    void_before: u64,
    /// What was in force at sequence points that have not been written yet.
    marks: VecDeque<(u64, u64)>,
}

impl Carried {
    pub(super) fn tell(&mut self, lasting: Lasting, event: impl Into<RepeatedEvent>) {
        match lasting {
            Lasting::State => {
                let event = event.into();
                self.states.retain(|old| old.metadata_id() != event.metadata_id());
                self.states.push(event);
            }
            Lasting::Meaning => self.meanings.push_back(event.into()),
            Lasting::Forget => self.void_before = self.end(),
        }
    }

    fn end(&self) -> u64 {
        self.dropped + self.meanings.len() as u64
    }

    /// All events before a sequence point have been told.
    pub(super) fn sequence_point(&mut self) {
        self.marks.push_back((self.void_before, self.end()));
    }

    /// The next sequence point is being written: what was in force there, as event blocks.
    pub(super) fn at_sequence_point(&mut self, wanted: bool) -> Vec<EventBlock> {
        let (from, to) = self.marks.pop_front().unwrap_or((self.void_before, self.end()));
        let blocks = if wanted { self.blocks(from, to) } else { Vec::new() };
        if self.marks.is_empty() {
            while self.dropped < self.void_before && self.meanings.pop_front().is_some() {
                self.dropped += 1;
            }
        }
        blocks
    }

    fn blocks(&self, from: u64, to: u64) -> Vec<EventBlock> {
        let numbered = (self.dropped..).zip(&self.meanings);
        let meanings = numbered.filter(|(n, _)| (from..to).contains(n)).map(|(_, event)| event);
        let mut all: Vec<&RepeatedEvent> = self.states.iter().chain(meanings).collect();
        all.sort_by_key(|event| event.timestamp());
        let mut blocks = Vec::new();
        let mut block = EventBlock::new(THREAD);
        for event in all {
            block.push(event);
            if block.len() >= BLOCK_BYTES {
                let next = block.next();
                blocks.push(std::mem::replace(&mut block, next));
            }
        }
        blocks.extend(Some(block).filter(|block| !block.is_empty()));
        blocks
    }
}
