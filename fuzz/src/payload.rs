//! Changes of the bytes of one payload.

use libfuzzer_sys::fuzzer_mutate;

/// Room for a payload to grow.
const GROWTH: usize = 64;

/// Lets the fuzzer change a payload, which may grow if it is shorter than `max` bytes.
pub(crate) fn change(payload: &mut Vec<u8>, max: usize) {
    let size = payload.len();
    if size < max {
        payload.resize(size + GROWTH, 0);
    }
    let room = payload.len();
    let size = fuzzer_mutate(payload, size, room);
    payload.truncate(size);
}

/// Puts bytes at a place, if they fit there.
pub(crate) fn put(to: &mut [u8], at: usize, from: &[u8]) {
    if let Some(place) = to.get_mut(at..at + from.len()) {
        place.copy_from_slice(from);
    }
}
