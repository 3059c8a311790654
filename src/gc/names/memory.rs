//! How much memory the tables of names take, near enough to bound it.

/// What the allocator, and the room that a map keeps free, add to an entry.
const OVERHEAD_BYTES: usize = 32;

/// A map's entry without what it points to.
pub(super) fn entry_bytes<Entry>() -> usize {
    size_of::<Entry>() + OVERHEAD_BYTES
}

/// Texts that an entry points to.
pub(super) fn text_bytes(name: &str, params: &[String]) -> usize {
    let param = |param: &String| size_of::<String>() + OVERHEAD_BYTES + param.len();
    name.len() + params.iter().map(param).sum::<usize>()
}

/// One entry takes the place of another, if there was one.
pub(super) fn replaced(all: &mut usize, before: Option<usize>, now: usize) {
    *all = all.saturating_sub(before.unwrap_or(0)).saturating_add(now);
}
