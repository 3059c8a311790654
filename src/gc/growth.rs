//! What grows directly behind roots over a watch: the first place to look for a leak.

use std::cmp::Reverse;

use super::named::named;
use super::names::Name;
use super::root_kind::{RootFlags, RootKind};
use super::root_stats::RootStats;
use crate::gc::map::HashMap;

/// Names that are followed, a bound on memory. Later ones are left out.
const MAX_NAMES: usize = 10_000;
/// Rows of the result.
const SHOWN: usize = 20;

named! {
    /// What the root is.
    RootSource {
        Handle = "handle",
        WeakHandle = "weak handle",
        Static = "static",
        ThreadStatic = "thread-static",
    }
}

/// A number of objects and their own bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// Something that is larger at the end than it was at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrowthRow {
    pub(crate) source: RootSource,
    /// Type of the object, in the last collection.
    pub(crate) type_name: Name,
    /// `Class.field` of a static field.
    pub(crate) field: Option<Name>,
    pub(crate) first: Sum,
    pub(crate) last: Sum,
    /// There may be more: the types of some roots of the last collection were not looked up.
    pub(crate) at_least: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Followed {
    type_name: Name,
    first: Sum,
    last: Sum,
}

/// Compares the first collection whose roots have types with the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Collections between them, both included.
    gcs: u64,
    /// The types of some roots of the last one were not looked up.
    cut: bool,
    /// By type for handles, by name for fields.
    followed: HashMap<(RootSource, Name), Followed>,
}

impl Growth {
    /// Adds the next collection. One that has roots without types cannot be the first: such a root may have any of the
    /// types that come later.
    pub(crate) fn add(&mut self, stats: &RootStats) {
        if self.gcs == 0 && stats.untyped > 0 {
            return;
        }
        self.gcs += 1;
        self.cut = stats.untyped > 0;
        let mut handles: HashMap<(RootSource, Name), Sum> = HashMap::default();
        for row in stats.types.iter().filter(|row| row.kind == RootKind::HANDLE) {
            let source =
                if row.flags.has(RootFlags::WEAK) { RootSource::WeakHandle } else { RootSource::Handle };
            let sum = handles.entry((source, row.name.clone())).or_default();
            sum.count = sum.count.saturating_add(row.count);
            sum.bytes = sum.bytes.saturating_add(row.bytes);
        }
        for (key, followed) in &mut self.followed {
            if matches!(key.0, RootSource::Handle | RootSource::WeakHandle) {
                followed.last = handles.remove(key).unwrap_or_default();
            }
        }
        for (key, sum) in handles {
            // There was none in the first collection.
            let first = if self.gcs == 1 { sum } else { Sum::default() };
            let type_name = key.1.clone();
            self.follow(key, Followed { type_name, first, last: sum });
        }
        for row in stats.statics.iter().flatten() {
            let source = if row.thread_static { RootSource::ThreadStatic } else { RootSource::Static };
            let key = (source, row.field.clone());
            let sum = Sum { count: 1, bytes: row.bytes };
            match self.followed.get_mut(&key) {
                Some(followed) => {
                    followed.type_name = row.type_name.clone();
                    followed.last = sum;
                }
                // The profiler finds fields one after the other.
                None => {
                    self.follow(key, Followed { type_name: row.type_name.clone(), first: sum, last: sum })
                }
            }
        }
    }

    fn follow(&mut self, key: (RootSource, Name), followed: Followed) {
        if self.followed.len() < MAX_NAMES {
            self.followed.insert(key, followed);
        }
    }

    /// What grew, sorted by growth in bytes, the largest first; `None` where there are no two collections to compare.
    pub(crate) fn rows(&self) -> Option<Vec<GrowthRow>> {
        if self.gcs < 2 {
            return None;
        }
        let grew = |f: &Followed| f.last.bytes > f.first.bytes || f.last.count > f.first.count;
        let mut rows: Vec<GrowthRow> = self
            .followed
            .iter()
            .filter(|(_, f)| grew(f))
            .map(|((source, name), f)| GrowthRow {
                source: *source,
                type_name: f.type_name.clone(),
                field: matches!(source, RootSource::Static | RootSource::ThreadStatic).then(|| name.clone()),
                first: f.first,
                last: f.last,
                at_least: self.cut && matches!(source, RootSource::Handle | RootSource::WeakHandle),
            })
            .collect();
        rows.sort_by_cached_key(|row| {
            let (first, last) = (row.first, row.last);
            let more = (last.bytes.saturating_sub(first.bytes), last.count.saturating_sub(first.count));
            (Reverse(more), row.source, row.field.clone(), row.type_name.clone())
        });
        rows.truncate(SHOWN);
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::generation::Generation;
    use super::super::root_stats::{StaticRow, TypeRow};
    use super::*;

    fn gc(handles: &[(&str, u64, u64)], fields: &[(&str, &str, u64)], untyped: u64) -> RootStats {
        let held = |(name, count, bytes): &(&str, u64, u64)| TypeRow {
            name: (*name).into(),
            kind: RootKind::HANDLE,
            flags: RootFlags::default(),
            generation: Some(Generation::GEN2),
            count: *count,
            bytes: *bytes,
        };
        let field = |(field, type_name, bytes): &(&str, &str, u64)| StaticRow {
            field: (*field).into(),
            type_name: (*type_name).into(),
            bytes: *bytes,
            generation: Some(Generation::GEN2),
            thread_static: false,
            own: true,
        };
        RootStats {
            types: handles.iter().map(held).collect(),
            statics: Some(fields.iter().map(field).collect()),
            untyped,
            ..RootStats::default()
        }
    }

    #[test]
    fn what_grew_and_nothing_else() {
        let mut growth = Growth::default();
        growth.add(&gc(&[("Unseen", 1, 9)], &[], 5));
        assert_eq!(growth.rows(), None);
        growth.add(&gc(&[("Leak", 2, 48), ("Same", 3, 72), ("Less", 9, 99)], &[("C.f", "A[]", 100)], 0));
        assert_eq!(growth.rows(), None);
        growth.add(&gc(
            &[("Leak", 7, 168), ("Same", 3, 72), ("New", 1, 8)],
            &[("C.f", "B[]", 90), ("C.g", "X", 1)],
            0,
        ));
        growth.add(&gc(
            &[("Leak", 9, 216), ("Same", 3, 72), ("New", 1, 8)],
            &[("C.f", "B[]", 400), ("C.g", "X", 1)],
            7,
        ));
        let rows = growth.rows().expect("there are two collections");
        let short: Vec<_> = rows
            .iter()
            .map(|r| {
                (
                    r.source,
                    &*r.type_name,
                    r.field.as_deref(),
                    r.first.bytes,
                    r.last.bytes,
                    r.last.count,
                    r.at_least,
                )
            })
            .collect();
        assert_eq!(
            short,
            [
                (RootSource::Static, "B[]", Some("C.f"), 100, 400, 1, false),
                (RootSource::Handle, "Leak", None, 48, 216, 9, true),
                (RootSource::Handle, "New", None, 0, 8, 1, true),
            ]
        );
    }
}
