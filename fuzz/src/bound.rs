//! The promise that memory and work are in proportion to the input, as an oracle.

/// Held at once, whatever the input is.
const HELD_BYTES: u64 = 64 << 20;
/// And for each byte of it: an honest recording needs some, for what it tells of.
const HELD_PER_BYTE: u64 = 64;
/// Allocated in all, as a measure of work that does not hang on the machine.
const ALLOCATED_BYTES: u64 = 256 << 20;
const ALLOCATED_PER_BYTE: u64 = 64 << 10;

/// Does it, and looks at what that took.
///
/// # Panics
/// Where it took more than is in proportion to `len` bytes of input.
pub fn bounded(len: usize, work: impl FnOnce()) {
    let info = allocation_counter::measure(work);
    let len = len as u64;
    let held = HELD_BYTES + HELD_PER_BYTE * len;
    assert!(info.bytes_max <= held, "{} bytes were held at once for {len}", info.bytes_max);
    let all = ALLOCATED_BYTES + ALLOCATED_PER_BYTE * len;
    assert!(info.bytes_total <= all, "{} bytes were allocated for {len}", info.bytes_total);
}
