//! Keeps the replayable state of a stream, which each later file of a rotation repeats: the profiler's hello,
//! definitions, and static fields.

use std::collections::VecDeque;
use std::ops::Range;

use dotnet_diagnostics_client::nettrace::raw::{EventBlock, RepeatedEvent};

use crate::gc::replayable_state::ReplayableState;

/// The capture thread of repeated events. No thread of a process has this id.
pub(crate) const THREAD: u64 = 0;
/// Blocks end after this many bytes. Runtimes write blocks of up to 100 KiB.
const BLOCK_BYTES: usize = 64 << 10;

/// Memory that each of the two logs may take. Definitions take less, as the profiler sends a limited number; changes of
/// static fields may take more in a watch of days.
const MAX_LOG_BYTES: usize = 32 << 20;
/// Kinds of events of which only the last one counts. There are three.
const MAX_STATES: usize = 16;

/// The replayable state so far: a definition for each type, method, field and module, and the last complete list of
/// static fields with the changes since then.
#[derive(Debug, Default)]
pub(super) struct Preamble {
    states: Vec<RepeatedEvent>,
    definitions: Log,
    statics: Log,
    /// What was in force at the sequence points that are not written yet: a range of each log.
    marks: VecDeque<[Range<u64>; 2]>,
}

/// Events, numbered in the order of the stream.
#[derive(Debug, Default)]
struct Log {
    events: VecDeque<RepeatedEvent>,
    /// The number of the first event.
    first: u64,
    /// Events before this number are void.
    valid_from: u64,
    /// The memory of all events.
    bytes: usize,
}

fn memory(event: &RepeatedEvent) -> usize {
    size_of::<RepeatedEvent>() + event.payload().len()
}

impl Log {
    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn void(&mut self) {
        self.valid_from = self.end();
    }

    fn in_force(&self) -> Range<u64> {
        self.valid_from..self.end()
    }

    fn range(&self, range: &Range<u64>) -> impl Iterator<Item = &RepeatedEvent> {
        let numbered = (self.first..).zip(&self.events);
        numbered.filter(|(number, _)| range.contains(number)).map(|(_, event)| event)
    }

    /// Adds an event. If there is no room for it, it is left out and all events before it become void. Later files then
    /// say less, but nothing wrong.
    fn push(&mut self, event: RepeatedEvent) {
        if self.bytes + memory(&event) > MAX_LOG_BYTES {
            self.void();
        } else {
            self.bytes += memory(&event);
            self.events.push_back(event);
        }
    }

    fn drop_void(&mut self) {
        while self.first < self.valid_from
            && let Some(event) = self.events.pop_front()
        {
            self.bytes -= memory(&event);
            self.first += 1;
        }
    }
}

impl Preamble {
    pub(super) fn add(&mut self, state: ReplayableState, event: impl Into<RepeatedEvent>) {
        match state {
            ReplayableState::Latest => self.state(event.into()),
            ReplayableState::Hello => {
                self.definitions.void();
                self.statics.void();
                self.state(event.into());
            }
            ReplayableState::Definition => self.definitions.push(event.into()),
            ReplayableState::Forget => self.definitions.void(),
            ReplayableState::AllStatics => {
                self.statics.void();
                self.statics.push(event.into());
            }
            ReplayableState::StaticsChange => self.statics.push(event.into()),
        }
        if self.marks.is_empty() {
            self.drop_void();
        }
    }

    fn state(&mut self, event: RepeatedEvent) {
        self.states.retain(|old| old.metadata_id() != event.metadata_id());
        if self.states.len() < MAX_STATES {
            self.states.push(event);
        }
    }

    fn drop_void(&mut self) {
        self.definitions.drop_void();
        self.statics.drop_void();
    }

    /// A sequence point follows the events so far.
    pub(super) fn sequence_point(&mut self) {
        self.marks.push_back([self.definitions.in_force(), self.statics.in_force()]);
    }

    /// The next sequence point is being written. Returns event blocks with what was in force there, if `wanted`.
    pub(super) fn at_sequence_point(&mut self, wanted: bool) -> Vec<EventBlock> {
        let there = self.marks.pop_front();
        let there = there.unwrap_or_else(|| [self.definitions.in_force(), self.statics.in_force()]);
        let blocks = if wanted { self.blocks(&there) } else { Vec::new() };
        if self.marks.is_empty() {
            self.drop_void();
        }
        blocks
    }

    fn blocks(&self, [definitions, statics]: &[Range<u64>; 2]) -> Vec<EventBlock> {
        let in_force = self.definitions.range(definitions).chain(self.statics.range(statics));
        let mut all: Vec<&RepeatedEvent> = self.states.iter().chain(in_force).collect();
        // Events of the same time keep their order.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn event(metadata_id: u32) -> RepeatedEvent {
        RepeatedEvent::new(metadata_id, 1, 1, &[0; 4096])
    }

    #[test]
    fn a_preamble_is_bounded_and_never_half_of_one() {
        let mut preamble = Preamble::default();
        let turns = 4 * MAX_LOG_BYTES / 4096;
        let info = allocation_counter::measure(|| {
            preamble.add(ReplayableState::AllStatics, event(1));
            for turn in 0..turns {
                preamble.add(ReplayableState::Definition, event(2));
                preamble.add(ReplayableState::StaticsChange, event(1));
                preamble.add(ReplayableState::Latest, event(turn as u32));
            }
        });
        assert!(info.bytes_max < 3 * MAX_LOG_BYTES as u64, "{} bytes", info.bytes_max);
        assert_eq!(preamble.states.len(), MAX_STATES);
        let statics = preamble.statics.range(&preamble.statics.in_force()).count();
        assert!(statics < turns / 3, "a full log voids the list and its changes");
    }
}
