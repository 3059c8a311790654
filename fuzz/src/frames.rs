//! Changes payloads of a `.gcgraph` file. The result has right checksums, so that the change reaches the decoders.

use std::io::Cursor;

use dotnet_heap_graph::format::{FrameBuffer, FrameKind, Reader, Writer};
use libfuzzer_sys::fuzzer_mutate;

use super::dice::{Dice, EDGES};
use super::payload;

/// A payload of this length or more does not grow, and a file with more in all is changed as bytes only.
const MAX_PAYLOAD: usize = 256 << 10;

type Frames = Vec<(FrameKind, Vec<u8>)>;

/// Changes the first `size` bytes of `data`, which has more room. Returns the new size.
pub fn mutate_frames(data: &mut [u8], size: usize, seed: u32) -> usize {
    let mut dice = Dice::new(seed);
    let room = data.len();
    // Now and then change the container itself.
    let parsed = if dice.below(20) == 0 { None } else { read(&data[..size]) };
    let Some(mut frames) = parsed else { return fuzzer_mutate(data, size, room) };
    for _ in 0..=dice.below(4) {
        change(&mut frames, &mut dice);
    }
    let written = write(&frames);
    let size = written.len().min(room);
    data[..size].copy_from_slice(&written[..size]);
    size
}

fn read(bytes: &[u8]) -> Option<Frames> {
    let reader = Reader::new(Cursor::new(bytes.to_vec())).ok()?;
    let all: usize = reader.frames().iter().map(|frame| frame.payload_bytes() as usize).sum();
    let mut buffer = FrameBuffer::default();
    let frames = reader.frames().iter().filter(|_| all <= MAX_PAYLOAD);
    let frames: Frames = frames
        .filter_map(|frame| Some((frame.kind(), reader.payload(frame, &mut buffer).ok()?.to_vec())))
        .collect();
    (!frames.is_empty()).then_some(frames)
}

fn write(frames: &Frames) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out).expect("a list of bytes accepts every write");
    for (kind, payload) in frames {
        // A payload that is too large for a frame is left out.
        let _ = writer.write_frame(*kind, payload);
    }
    out
}

fn change(frames: &mut Frames, dice: &mut Dice) {
    let (a, b) = (dice.below(frames.len()), dice.below(frames.len()));
    match dice.below(16) {
        0 => frames.swap(a, b),
        1 if frames.len() > 1 => drop(frames.remove(a)),
        2 => frames.insert(b, frames[a].clone()),
        3 => frames[a].0 = FrameKind(dice.below(12) as u8),
        // Copy an address or an index from one place to another.
        4 | 5 => {
            let size = [1, 2, 4, 8, 16][dice.below(5)];
            let from = &frames[b].1;
            let start = dice.below(from.len());
            let copied = from.get(start..start + size).unwrap_or_default().to_vec();
            let at = dice.below(frames[a].1.len());
            payload::put(&mut frames[a].1, at, &copied);
        }
        6 => {
            let value = EDGES[dice.below(EDGES.len())].to_le_bytes();
            let at = dice.below(frames[a].1.len());
            payload::put(&mut frames[a].1, at, &value[..[1, 2, 4, 8][dice.below(4)]]);
        }
        // A number of seven bits, as most of a graph are.
        7..=11 => {
            let at = dice.below(frames[a].1.len());
            let value = dice.below(128) as u8;
            payload::put(&mut frames[a].1, at, &[value]);
        }
        _ => payload::change(&mut frames[a].1, MAX_PAYLOAD),
    }
}
