//! Checks that memory and work are in proportion to the input.

/// The memory that any input may use at once.
const MAX_LIVE_BYTES: u64 = 64 << 20;
/// The additional memory for each byte of input.
const MAX_LIVE_PER_BYTE: u64 = 64;
/// The memory that any input may allocate in total, as a measure of work that does not depend on the machine.
const MAX_ALLOCATED_BYTES: u64 = 256 << 20;
const MAX_ALLOCATED_PER_BYTE: u64 = 64 << 10;

/// Runs `work` and measures its allocations.
///
/// # Panics
/// If it needs more memory than `len` bytes of input may.
pub fn bounded(len: usize, work: impl FnOnce()) {
    let info = allocation_counter::measure(work);
    let len = len as u64;
    let live = MAX_LIVE_BYTES + MAX_LIVE_PER_BYTE * len;
    assert!(info.bytes_max <= live, "{} bytes were in use at once for {len}", info.bytes_max);
    let all = MAX_ALLOCATED_BYTES + MAX_ALLOCATED_PER_BYTE * len;
    assert!(info.bytes_total <= all, "{} bytes were allocated for {len}", info.bytes_total);
}
