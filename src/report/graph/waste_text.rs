//! The lines about memory that may be wasted.

use super::page::Page;
use super::waste::{HeldByRow, KeptBy, Waste};
use crate::report::style::Role;
use crate::report::units::{count, plural};

/// Less than this share of the heap is not worth a line, in parts of a thousand.
const MIN_SHARE: u64 = 1;

impl Page {
    /// Shows what is worth it in a heap of this size.
    pub(super) fn waste(&mut self, waste: &Waste, heap_bytes: u64) {
        let worth = |bytes: u64| bytes.saturating_mul(1000) >= heap_bytes.saturating_mul(MIN_SHARE);
        let before = self.len();
        self.head("worth a look");
        let empty = self.len();
        let strings = &waste.strings;
        if worth(strings.wasted.bytes) && strings.wasted.objects > 0 {
            let (wasted, all) = (self.size(strings.wasted.bytes), plural(strings.all.objects, "string"));
            self.point(&format!(
                "equal strings: {wasted} would be saved if each of the {} contents of {all} were there once",
                count(strings.contents)
            ));
            for group in strings.groups.iter().take(3).filter(|group| worth(group.wasted_bytes)) {
                let text = group.text.as_ref().map_or_else(String::new, |text| {
                    format!(" \"{}\"", text.chars().take(40).collect::<String>())
                });
                let held = if group.holders.is_empty() {
                    String::new()
                } else {
                    format!(", held by {}", group.holders.join(", "))
                };
                let wasted = self.size(group.wasted_bytes);
                self.detail(&format!(
                    "{} of {} characters{text}: {wasted}{held}",
                    count(group.strings),
                    group.length
                ));
            }
        }
        for row in waste.sparse_arrays.iter().filter(|row| worth(row.null_bytes)).take(3) {
            let null = self.size(row.null_bytes);
            self.point(&format!(
                "nearly empty: {} of {} hold {null} of nulls ({} of {} elements)",
                plural(row.arrays, "array"),
                row.class,
                count(row.null_elements),
                count(row.elements)
            ));
        }
        self.held_by("empty arrays", &waste.empty_arrays, &worth);
        self.held_by("boxed values", &waste.boxed_values, &worth);
        for row in waste.delegates.iter().filter(|row| worth(row.retained.bytes)).take(3) {
            let retained = self.size(row.retained.bytes);
            self.point(&format!(
                "only delegates ({}) keep {} of {} alive: {retained}; is an event handler never removed?",
                row.delegate,
                plural(row.targets, "object"),
                row.target
            ));
        }
        self.kept("waiting for finalizers", "objects wait", &waste.finalizer, &worth);
        self.kept("dependent handles (ConditionalWeakTable)", "handles", &waste.dependent_handles, &worth);
        for row in waste.pending.iter().filter(|row| worth(row.retained.bytes)).take(3) {
            let retained = self.size(row.retained.bytes);
            self.point(&format!(
                "{}: {} of {} retain {retained}",
                row.work,
                plural(row.own.objects, "object"),
                row.class
            ));
        }
        if self.len() == empty {
            self.truncate(before);
        }
    }

    fn point(&mut self, text: &str) {
        self.sentence(Role::Plain, 0, text);
    }

    fn detail(&mut self, text: &str) {
        self.sentence(Role::Dim, 4, text);
    }

    fn held_by(&mut self, what: &str, rows: &[HeldByRow], worth: &dyn Fn(u64) -> bool) {
        for row in rows.iter().filter(|row| worth(row.own.bytes)).take(3) {
            let held = if row.holders.is_empty() {
                String::new()
            } else {
                format!(", held by {}", row.holders.join(", "))
            };
            let own = self.amount(row.own);
            self.point(&format!("{what}: {own} of {}{held}", row.class));
        }
    }

    fn kept(&mut self, what: &str, counted: &str, kept: &KeptBy, worth: &dyn Fn(u64) -> bool) {
        if kept.kept.objects == 0 || !worth(kept.kept.bytes) {
            return;
        }
        let amount = self.amount(kept.kept);
        let first = kept.types.first().map_or_else(String::new, |row| format!(", mostly {}", row.class));
        self.point(&format!("{what}: {} {counted}, and alone keep {amount} alive{first}", count(kept.count)));
    }
}
