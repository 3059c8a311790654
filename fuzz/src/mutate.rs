//! Changes single events of a recording. The result is still readable, so that the change reaches the model.

use libfuzzer_sys::fuzzer_mutate;

use super::Stream;
use super::dice::{Dice, EDGES};
use super::payload;

/// A payload of this length or more does not grow: EventPipe has no longer events.
const MAX_PAYLOAD: usize = 64 << 10;

/// Changes the first `size` bytes of `data`, which has more room. Returns the new size.
pub fn mutate(data: &mut [u8], size: usize, seed: u32) -> usize {
    let mut dice = Dice::new(seed);
    let room = data.len();
    // Now and then change the container itself.
    let parsed = if dice.below(10) == 0 { None } else { Stream::read(&data[..size]) };
    let Some(mut stream) = parsed else { return fuzzer_mutate(data, size, room) };
    for _ in 0..=dice.below(4) {
        change(&mut stream, &mut dice);
    }
    let written = stream.write(room);
    let size = written.len().min(room);
    data[..size].copy_from_slice(&written[..size]);
    size
}

fn change(stream: &mut Stream, dice: &mut Dice) {
    let count = stream.events.len();
    let (a, b) = (dice.below(count), dice.below(count));
    match dice.below(12) {
        0 => stream.events.swap(a, b),
        1 if count > 1 => drop(stream.events.remove(a)),
        2 => stream.events.insert(b, stream.events[a].clone()),
        // Several events in a row, like those of a collection.
        3 => {
            let some = stream.events[a..count.min(a + 1 + dice.below(20))].to_vec();
            stream.events.splice(b..b, some);
        }
        4 if count > 8 => drop(stream.events.drain(a..count.min(a + 1 + dice.below(8)))),
        5 => {
            let thread = stream.events[b].thread;
            stream.events[a].thread = if dice.below(3) == 0 { dice.below(5) as u64 } else { thread };
        }
        6 => {
            let at = stream.events[b].timestamp;
            stream.events[a].timestamp = at.wrapping_add(EDGES[dice.below(EDGES.len())] as i64);
        }
        7 => stream.events[a].metadata_id = stream.events[b].metadata_id,
        // Copy an id or a count of one event to another.
        8 => {
            let from = stream.events[b].payload.clone();
            let size = [1, 2, 4, 8][dice.below(4)];
            let (to, at) = (dice.below(stream.events[a].payload.len()), dice.below(from.len()));
            payload::put(&mut stream.events[a].payload, to, from.get(at..at + size).unwrap_or_default());
        }
        9 => {
            let value = EDGES[dice.below(EDGES.len())].to_le_bytes();
            let to = dice.below(stream.events[a].payload.len());
            payload::put(&mut stream.events[a].payload, to, &value[..[1, 2, 4, 8][dice.below(4)]]);
        }
        _ => payload::change(&mut stream.events[a].payload, MAX_PAYLOAD),
    }
}
