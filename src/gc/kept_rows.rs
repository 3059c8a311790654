//! Single ranges and roots, which `--blocks` keeps.

/// Ranges of one kind, or roots, that are kept of one collection: some 300 MiB. A heap of 10 million objects has fewer.
const MAX_ROWS: usize = 1 << 23;

/// Keeps rows as long as there is room. Returns how many were left out: they count as missing.
pub(super) fn keep_rows<T>(rows: &mut Vec<T>, more: impl ExactSizeIterator<Item = T>) -> u64 {
    let room = MAX_ROWS.saturating_sub(rows.len());
    let left_out = more.len().saturating_sub(room);
    rows.extend(more.take(room));
    left_out as u64
}
