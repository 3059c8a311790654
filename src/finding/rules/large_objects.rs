//! Gen2 collections that come because of large objects, which die soon.

use crate::finding::figures::{LARGE, Numbers, promoted, size_before};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence, short};
use crate::finding::series::Series;
use crate::gc::allocations::{AllocationSummary, Row};
use crate::gc::facts::BackgroundGc;
use crate::gc::generation::Generation;
use crate::gc::record::{Allocated, Gc, Kind, Reason};

pub(super) const ID: &str = "large-objects";

const MIN_GCS: u64 = 5;
const MIN_PART_OF_GEN2: f64 = 0.5;
const MIN_PER_SECOND: f64 = 0.5;
/// Of more, the program needs its large objects.
const MAX_SURVIVORS: f64 = 0.5;
const ALLOC_LOH: Reason = Reason(4);

/// What has a name, and is not a text in parentheses.
fn is_name(name: &str) -> bool {
    !name.starts_with('(')
}

/// The type and the method with the most bytes of large objects, and their share of all large objects.
fn most_large(allocations: &AllocationSummary) -> Option<(&Row, f64)> {
    let row = allocations.large_objects.first().filter(|row| is_name(&row.type_name))?;
    Some((row, row.estimate.share(&allocations.large)))
}

/// Gen2 collections by their reason, and the large object heap before and after.
#[derive(Debug, Default)]
pub(super) struct LargeObjects {
    full: u64,
    by_budget: u64,
    pause_ns: u64,
    survivors: Series,
    allocated: Allocated,
    /// There were background collections, in which some runtimes do not tell all that is allocated.
    background: bool,
    numbers: Numbers,
}

impl Rule for LargeObjects {
    fn add(&mut self, gc: &Gc) {
        self.background |= gc.kind == Some(Kind::Background);
        if let Some(allocated) = gc.allocated {
            self.allocated += allocated;
        }
        if gc.generation != Some(Generation::GEN2) {
            return;
        }
        self.full += 1;
        if gc.reason == Some(ALLOC_LOH) {
            self.by_budget += 1;
            self.pause_ns = self.pause_ns.saturating_add(gc.pause_ns.unwrap_or(0));
            self.numbers.add(gc);
            if let Some((survived, before)) =
                promoted(gc, LARGE).zip(size_before(gc, LARGE).filter(|&bytes| bytes > 0))
            {
                self.survivors.add(survived as f64 / before as f64);
            }
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let rate = self.by_budget as f64 / watch.seconds()?;
        let part = self.by_budget as f64 / self.full.max(1) as f64;
        let survivors = self.survivors.median()?;
        let found = self.by_budget >= MIN_GCS
            && part >= MIN_PART_OF_GEN2
            && rate >= MIN_PER_SECOND
            && survivors <= MAX_SURVIVORS;
        if !found {
            return None;
        }
        let background_is_off = matches!(
            watch.facts.watch.background_gc,
            BackgroundGc::OffWhileWatched | BackgroundGc::OffUntilExit
        );
        let mut title = sentence![
            Part::Count(self.by_budget),
            " of ",
            Part::Count(self.full),
            " gen2 collections came because the budget for large objects ran out (",
            Part::PerSecond(rate),
            "); ",
            Part::Share(1.0 - survivors),
            " of the large objects were dead by then",
        ];
        if self.allocated.large_bytes > 0 && self.allocated.in_ns > 0 && !self.background {
            let rate = self.allocated.large_bytes as f64 * 1e9 / self.allocated.in_ns as f64;
            title = title.and(", ").and(Part::BytesPerSecond(rate)).and(" are allocated");
        }
        let most = watch.summary.allocations.as_ref().and_then(most_large);
        if let Some((row, share)) = &most {
            title = title
                .and("; ")
                .and(Part::Share(*share))
                .and(format!(" of them are {}", short(&row.type_name)));
            if is_name(&row.method) {
                title = title.and(format!(" in {}", short(&row.method)));
            }
        }
        if background_is_off {
            title = title.and("; background GC is off here, so the pauses are longer than without gcwatch");
        }
        Some(Finding {
            id: ID,
            severity: if background_is_off { Severity::Notice } else { Severity::Warning },
            title,
            evidence: vec![
                Evidence::new("gen2.alloc_loh.rate", Unit::PerSecond, rate, MIN_PER_SECOND)
                    .in_gcs(&self.numbers.0),
                Evidence::new("gen2.alloc_loh.part", Unit::Percent, part * 100.0, MIN_PART_OF_GEN2 * 100.0),
                Evidence::new("loh.survivors", Unit::Percent, survivors * 100.0, MAX_SURVIVORS * 100.0),
            ],
            remedy: sentence![
                "reuse arrays and buffers of 85,000 bytes and more (ArrayPool, RecyclableMemoryStream), or work in smaller pieces"
            ],
            share: watch.share_of_pauses(self.pause_ns),
        })
    }
}
