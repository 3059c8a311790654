//! Maps with a fast hash. Each root needs several look-ups, where the standard library's hash would cost more than all
//! other work.

use std::hash::Hash;

/// Names that the totals of a watch keep, a bound on memory.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// A map with a fast hash. Its seed is this process's own.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
/// The same for sets.
pub(crate) type HashSet<T> = std::collections::HashSet<T, foldhash::fast::RandomState>;

/// The entry of a key, made by `new` where there is none yet; `None` where there are [`MAX_ENTRIES`] others.
pub(super) fn bounded_entry<K: Eq + Hash, V>(
    map: &mut HashMap<K, V>,
    key: K,
    new: impl FnOnce() -> V,
) -> Option<&mut V> {
    if map.len() >= MAX_ENTRIES && !map.contains_key(&key) {
        return None;
    }
    Some(map.entry(key).or_insert_with(new))
}
