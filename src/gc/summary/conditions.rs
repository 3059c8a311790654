//! The conditions for which heaps wanted a collection of gen2.

use std::collections::BTreeMap;

use crate::gc::record::Gc;

/// For each condition, the number of collections of which a heap named it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Conditions(BTreeMap<&'static str, u64>);

impl Conditions {
    /// Takes in one collection. A condition counts once, however many heaps name it.
    pub(crate) fn add(&mut self, gc: &Gc) {
        let mut named: Vec<&'static str> =
            gc.heaps.iter().flat_map(|heap| heap.condemned_reasons.iter().flatten()).copied().collect();
        named.sort_unstable();
        named.dedup();
        for condition in named {
            *self.0.entry(condition).or_default() += 1;
        }
    }

    /// The conditions and their counts, the most frequent first.
    pub(crate) fn rows(&self) -> Vec<(&'static str, u64)> {
        let mut rows: Vec<_> = self.0.iter().map(|(name, gcs)| (*name, *gcs)).collect();
        rows.sort_by_key(|(_, gcs)| std::cmp::Reverse(*gcs));
        rows
    }

    /// The most frequent one that says more than that the budget was used up, else that one.
    pub(crate) fn most_frequent(&self) -> Option<(&'static str, u64)> {
        let rows = self.rows();
        rows.iter().find(|(name, _)| *name != "alloc_budget").or(rows.first()).copied()
    }
}

/// A condition in words: "because" and these words make a sentence.
pub(crate) fn condition_words(name: &str) -> &'static str {
    match name {
        "alloc_budget" => "its budget was used up",
        "time_tuning" => "the last one was long ago",
        "induced_fullgc" | "induced_noforce" | "pm_induced_fullgc" => "the program asked",
        "expand_fullgc" => "the heap could not grow",
        "high_mem" | "very_high_mem" => "the machine's memory is nearly used up",
        "low_ephemeral" => "gen0 and gen1 had little room",
        "low_card" => "references from old objects led to few survivors",
        "eph_high_frag" => "gen0 and gen1 had many gaps",
        "max_high_frag" | "max_high_frag_e" | "max_high_frag_m" | "max_high_frag_vm" => "gen2 had many gaps",
        "max_gen1" => "gen1 was collected often",
        "before_oom" | "limit_before_oom" => "it was the last try before OutOfMemoryException",
        "gen2_too_small" => "gen2 was small",
        "before_bgc" => "a background GC was to begin",
        "almost_max_alloc" => "nearly all of the address range was used",
        "avoid_unproductive" => "another one would have freed little",
        "pm_alloc_loh" => "large objects were allocated under memory pressure",
        "gen1_in_pm" => "gen1 grew under memory pressure",
        "limit_loh_frag" => "the large object heap had gaps near the heap's limit",
        "limit_loh_reclaim" => "large objects could be freed near the heap's limit",
        "servo_initial" | "servo_ngc" | "servo_bgc" | "servo_postpone" => {
            "the GC tunes its background collections"
        }
        "stress_mix" | "stress" => "GC stress is on",
        "aggressive" => "the program asked for an aggressive one",
        _ => "of a condition that this version of gcwatch does not know",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::{HeapStats, Level};

    #[test]
    fn a_condition_counts_once_in_a_collection() {
        let heap = |reasons: &[&'static str]| HeapStats {
            index: 0,
            size_before_bytes: None,
            size_after_bytes: None,
            promoted_bytes: None,
            condemned_reasons: Some(reasons.to_vec()),
        };
        let mut gc = Gc::unknown(Level::Basic);
        gc.heaps = vec![heap(&["alloc_budget", "max_high_frag"]), heap(&["alloc_budget"])];
        let mut conditions = Conditions::default();
        conditions.add(&gc);
        gc.heaps.truncate(0);
        conditions.add(&gc);
        assert_eq!(conditions.rows(), [("alloc_budget", 1), ("max_high_frag", 1)]);
        assert_eq!(conditions.most_frequent(), Some(("max_high_frag", 1)));
    }
}
