//! Tables by ids and names. Several are asked for each root of each collection: the standard library's hash costs more
//! there than all the rest.

/// A map with a fast hash. Its seed is this process's own.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
/// The same for sets.
pub(crate) type HashSet<T> = std::collections::HashSet<T, foldhash::fast::RandomState>;
