//! What a stream tells once, and every file of a rotation has to tell again: who the profiler is, and what its
//! identifiers mean.

use std::collections::VecDeque;
use std::ops::Range;

use dotnet_diagnostics_client::nettrace::{EventBlock, RepeatedEvent};

use crate::gc::replayable_state::ReplayableState;

/// Capture thread of events that a file repeats. No thread of a process has this id.
pub(crate) const THREAD: u64 = 0;
/// Runtimes write blocks of up to 100 KiB.
const BLOCK_BYTES: usize = 64 << 10;

/// Memory that each of the two lists may take. What identifiers mean is told in less by the most that the profiler names;
/// changes of static fields may take more in a watch of days.
const MOST_BYTES: usize = 32 << 20;
/// Events of which the last holds: there are three kinds.
const MOST_STATES: usize = 16;

/// The events so far. They are as many as there are types, methods and modules to name, and changes of static fields
/// since all of them were told.
#[derive(Debug, Default)]
pub(super) struct Carried {
    states: Vec<RepeatedEvent>,
    meanings: Log,
    statics: Log,
    /// What was in force at sequence points that have not been written yet.
    marks: VecDeque<[Range<u64>; 2]>,
}

/// Events by number.
#[derive(Debug, Default)]
struct Log {
    events: VecDeque<RepeatedEvent>,
    /// Number of the first of them.
    first: u64,
    /// Those before it are void.
    valid_from: u64,
    /// Memory of all.
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

    /// Takes in one more event. Where there is no room for it, none is in force until all is told anew: the later files
    /// then know less, and nothing that is wrong.
    fn push(&mut self, event: RepeatedEvent) {
        if self.bytes + memory(&event) > MOST_BYTES {
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

impl Carried {
    pub(super) fn tell(&mut self, state: ReplayableState, event: impl Into<RepeatedEvent>) {
        match state {
            ReplayableState::Latest => self.state(event.into()),
            ReplayableState::Hello => {
                self.meanings.void();
                self.statics.void();
                self.state(event.into());
            }
            ReplayableState::Definition => self.meanings.push(event.into()),
            ReplayableState::Forget => self.meanings.void(),
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
        if self.states.len() < MOST_STATES {
            self.states.push(event);
        }
    }

    fn drop_void(&mut self) {
        self.meanings.drop_void();
        self.statics.drop_void();
    }

    /// All events before a sequence point have been told.
    pub(super) fn sequence_point(&mut self) {
        self.marks.push_back([self.meanings.in_force(), self.statics.in_force()]);
    }

    /// The next sequence point is being written: what was in force there, as event blocks.
    pub(super) fn at_sequence_point(&mut self, wanted: bool) -> Vec<EventBlock> {
        let there = self.marks.pop_front();
        let there = there.unwrap_or_else(|| [self.meanings.in_force(), self.statics.in_force()]);
        let blocks = if wanted { self.blocks(&there) } else { Vec::new() };
        if self.marks.is_empty() {
            self.drop_void();
        }
        blocks
    }

    fn blocks(&self, [meanings, statics]: &[Range<u64>; 2]) -> Vec<EventBlock> {
        let told = self.meanings.range(meanings).chain(self.statics.range(statics));
        let mut all: Vec<&RepeatedEvent> = self.states.iter().chain(told).collect();
        // Those of the same time stay as they came.
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
    fn what_is_carried_is_bounded_and_never_half_of_it() {
        let mut carried = Carried::default();
        let turns = 4 * MOST_BYTES / 4096;
        let info = allocation_counter::measure(|| {
            carried.tell(ReplayableState::AllStatics, event(1));
            for turn in 0..turns {
                carried.tell(ReplayableState::Definition, event(2));
                carried.tell(ReplayableState::StaticsChange, event(1));
                carried.tell(ReplayableState::Latest, event(turn as u32));
            }
        });
        assert!(info.bytes_max < 3 * MOST_BYTES as u64, "{} bytes", info.bytes_max);
        assert_eq!(carried.states.len(), MOST_STATES);
        let statics = carried.statics.range(&carried.statics.in_force()).count();
        assert!(statics < turns / 3, "the table that changes belong to is gone, and so are they");
    }
}
