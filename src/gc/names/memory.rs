//! An estimate of the memory that the tables of names take.

/// What the allocator, and the room that a map keeps free, add to an entry.
const OVERHEAD_BYTES: usize = 32;

/// A map's entry, without the memory that it points to.
pub(super) fn entry_bytes<Entry>() -> usize {
    size_of::<Entry>() + OVERHEAD_BYTES
}

/// The texts that an entry points to.
pub(super) fn text_bytes(name: &str, params: &[String]) -> usize {
    let param = |param: &String| size_of::<String>() + OVERHEAD_BYTES + param.len();
    name.len() + params.iter().map(param).sum::<usize>()
}

/// Updates the total `all` where an entry is added, or replaces another.
pub(super) fn replaced(all: &mut usize, before: Option<usize>, now: usize) {
    *all = all.saturating_sub(before.unwrap_or(0)).saturating_add(now);
}
