//! Root stats added up over collections.

use std::cmp::Reverse;

use super::stats::{Origins, RootStats};
use super::types::TypeRow;
use crate::gc::generation::Generation;
use crate::gc::map::{HashMap, bounded_entry};
use crate::gc::names::Name;
use crate::gc::root_kind::{RootFlags, RootKind};

/// A method in all collections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MethodTotals {
    pub(crate) name: Name,
    /// Collections in which its frames had roots.
    pub(crate) gcs: u64,
    pub(crate) slots: u64,
    pub(crate) pinned_slots: u64,
    /// It is a method of the program.
    pub(crate) own: bool,
}

/// Objects of one type that roots of one kind point to, in all collections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TypeTotals {
    pub(crate) name: Name,
    pub(crate) kind: RootKind,
    /// Collections in which there were any.
    pub(crate) gcs: u64,
    pub(crate) max_count: u64,
    pub(crate) max_bytes: u64,
    /// In the last collection.
    pub(crate) last_count: u64,
    pub(crate) last_bytes: u64,
    /// Roots that are not weak, over all collections.
    pub(crate) total_count: u64,
}

/// Objects of one type that are pinned the same way, in all collections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PinnedTotals {
    pub(crate) type_name: Name,
    pub(crate) by: &'static str,
    pub(crate) handle_type: Option<&'static str>,
    pub(crate) allocated_by: Option<Name>,
    /// Generation of the last of them.
    pub(crate) generation: Option<Generation>,
    pub(crate) gcs: u64,
    /// The most objects in one collection.
    pub(crate) max_count: u64,
    pub(crate) max_bytes: u64,
    /// In how many collections in a row the object that is pinned longest was pinned.
    pub(crate) seen_in_gcs: u64,
}

/// Totals over all collections whose roots have names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RootStatsTotals {
    pub(crate) gcs: u64,
    /// Stack slots of all methods.
    pub(crate) slots: u64,
    methods: HashMap<Name, MethodTotals>,
    types: HashMap<(Name, RootKind), TypeTotals>,
    pinned: HashMap<PinnedKey, PinnedTotals>,
    pub(crate) untyped: u64,
    /// Sums over all collections.
    pub(crate) origins: Origins,
}

/// Adds without an overflow, whatever the target sends.
fn add(to: &mut u64, more: u64) {
    *to = to.saturating_add(more);
}

type PinnedKey = (Name, &'static str, Option<&'static str>, Option<Name>);

impl RootStatsTotals {
    pub(crate) fn add(&mut self, stats: &RootStats) {
        self.gcs += 1;
        add(&mut self.untyped, stats.untyped);
        add(&mut self.origins.runtime, stats.origins.runtime);
        add(&mut self.origins.app, stats.origins.app);
        add(&mut self.origins.unknown, stats.origins.unknown);
        for row in &stats.methods {
            add(&mut self.slots, row.slots);
            let new = || MethodTotals { name: row.name.clone(), own: row.own, ..MethodTotals::default() };
            let Some(sum) = bounded_entry(&mut self.methods, row.name.clone(), new) else { continue };
            sum.gcs += 1;
            add(&mut sum.slots, row.slots);
            add(&mut sum.pinned_slots, row.pinned_slots);
        }
        self.add_types(&stats.types);
        // The rows of one collection differ by generation.
        let mut now: HashMap<PinnedKey, PinnedTotals> = HashMap::default();
        for row in &stats.pinned {
            let key = (row.type_name.clone(), row.by, row.handle_type, row.allocated_by.clone());
            let sum = now.entry(key).or_insert_with(|| PinnedTotals {
                type_name: row.type_name.clone(),
                by: row.by,
                handle_type: row.handle_type,
                allocated_by: row.allocated_by.clone(),
                generation: row.generation,
                ..PinnedTotals::default()
            });
            add(&mut sum.max_count, row.count);
            add(&mut sum.max_bytes, row.bytes);
            sum.seen_in_gcs = sum.seen_in_gcs.max(row.seen_in_gcs);
        }
        for (key, row) in now {
            let Some(sum) = bounded_entry(&mut self.pinned, key, || row.clone()) else {
                continue;
            };
            sum.gcs += 1;
            sum.generation = row.generation;
            sum.max_count = sum.max_count.max(row.max_count);
            sum.max_bytes = sum.max_bytes.max(row.max_bytes);
            sum.seen_in_gcs = sum.seen_in_gcs.max(row.seen_in_gcs);
        }
    }

    fn add_types(&mut self, rows: &[TypeRow]) {
        for sum in self.types.values_mut() {
            (sum.last_count, sum.last_bytes) = (0, 0);
        }
        // Weak roots do not keep objects alive.
        let mut now: HashMap<(Name, RootKind), (u64, u64)> = HashMap::default();
        for row in rows.iter().filter(|row| !row.flags.has(RootFlags::WEAK)) {
            let (count, bytes) = now.entry((row.name.clone(), row.kind)).or_default();
            add(count, row.count);
            add(bytes, row.bytes);
        }
        for (key, (count, bytes)) in now {
            let new = || TypeTotals { name: key.0.clone(), kind: key.1, ..TypeTotals::default() };
            let Some(sum) = bounded_entry(&mut self.types, key.clone(), new) else { continue };
            sum.gcs += 1;
            (sum.last_count, sum.last_bytes) = (count, bytes);
            sum.max_count = sum.max_count.max(count);
            sum.max_bytes = sum.max_bytes.max(bytes);
            add(&mut sum.total_count, count);
        }
    }

    /// Those with most slots first.
    pub(crate) fn methods(&self) -> Vec<&MethodTotals> {
        let mut all: Vec<&MethodTotals> = self.methods.values().collect();
        all.sort_by_key(|m| (Reverse(m.slots), &m.name));
        all
    }

    /// The largest first.
    pub(crate) fn types(&self) -> Vec<&TypeTotals> {
        let mut all: Vec<&TypeTotals> = self.types.values().collect();
        all.sort_by_key(|t| (Reverse(t.max_bytes), Reverse(t.total_count), t.kind, &t.name));
        all
    }

    /// The largest first.
    pub(crate) fn pinned(&self) -> Vec<&PinnedTotals> {
        let mut all: Vec<&PinnedTotals> = self.pinned.values().collect();
        all.sort_by_key(|p| {
            let size = (Reverse(p.max_bytes), Reverse(p.max_count));
            (size, p.by, p.handle_type, &p.type_name, &p.allocated_by)
        });
        all
    }
}
