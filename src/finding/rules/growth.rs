//! What survives gen2 collections becomes more and more.

use crate::finding::figures::{LARGE, promoted};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, Sentence, sentence, short};
use crate::finding::series::Series;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Kind};

pub(super) const ID: &str = "heap-growth";

/// Growth from the first third of the collections to the second, and from the second to the last.
const MIN_RATIOS: [f64; 2] = [1.1, 1.2];
const MIN_GROWTH_BYTES: f64 = 32e6;
/// Of fewer gen2 collections it is not sure that the growth goes on.
const SURE_GCS: u64 = 10;

/// The bytes that survived each gen2 collection.
#[derive(Debug, Default)]
pub(super) struct Growth {
    live: Series,
    large: Series,
    last_gcs: Vec<u32>,
}

impl Rule for Growth {
    fn add(&mut self, gc: &Gc) {
        if gc.generation != Some(Generation::GEN2) {
            return;
        }
        // A background collection does not mark gen0 and gen1 on its own.
        let first = if gc.kind == Some(Kind::Background) { 2 } else { 0 };
        let parts: Option<Vec<u64>> =
            (first..gc.generations.len()).map(|index| promoted(gc, index)).collect();
        if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
            self.live.add(parts.into_iter().fold(0, u64::saturating_add) as f64);
            self.large.add(promoted(gc, LARGE).unwrap_or(0) as f64);
            self.last_gcs.extend(gc.number);
            if self.last_gcs.len() > 3 {
                self.last_gcs.remove(0);
            }
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let [first, second, last] = self.live.thirds()?;
        let growth = last - first;
        let grows = second > MIN_RATIOS[0] * first && last > MIN_RATIOS[1] * second;
        if !grows || growth < MIN_GROWTH_BYTES {
            return None;
        }
        let is_large = self.large.thirds().is_some_and(|[before, _, after]| after - before > growth / 2.0);
        let place = if is_large { " in the large object heap" } else { "" };
        let title = sentence![
            "what survives gen2 collections grew from ",
            Part::Bytes(first as u64),
            " to ",
            Part::Bytes(last as u64),
            place,
            " over ",
            Part::Count(self.live.count()),
            " of them",
        ];
        let (title, mut remedy) = whose(watch, growth, title);
        // Programs also grow while they start.
        let is_short = self.live.count() < SURE_GCS;
        if is_short {
            remedy = sentence!["see in a longer watch whether it goes on; "].with(remedy);
        }
        Some(Finding {
            id: ID,
            severity: if is_short { Severity::Notice } else { Severity::Warning },
            title,
            evidence: vec![
                Evidence::new("live.growth", Unit::Bytes, growth, MIN_GROWTH_BYTES).in_gcs(&self.last_gcs),
                Evidence::new(
                    "live.growth_ratio",
                    Unit::Percent,
                    (last / second.max(1.0) - 1.0) * 100.0,
                    (MIN_RATIOS[1] - 1.0) * 100.0,
                ),
            ],
            remedy,
            share: (growth / last).min(1.0),
        })
    }
}

/// Adds what roots hold directly and grew with it.
fn whose(watch: &Watch<'_>, growth: f64, title: Sentence) -> (Sentence, Sentence) {
    const MIN_PART: f64 = 0.1;
    let Some(rows) = watch.summary.growth.rows() else {
        let remedy = sentence![
            "watch with --level roots to see which static fields and handles grow; a cache needs a bound"
        ];
        return (title, remedy);
    };
    let large = |row: &&crate::gc::growth::GrowthRow| {
        row.last.bytes.saturating_sub(row.first.bytes) as f64 >= growth * MIN_PART
    };
    match rows.iter().find(large) {
        Some(row) => {
            let name = short(row.field.as_deref().unwrap_or(&row.type_name));
            let more = row.last.bytes.saturating_sub(row.first.bytes);
            let what = format!("; {} {name} alone by ", row.source.name());
            let remedy =
                sentence![format!("bound what {name} holds, or remove entries that are no longer used")];
            (title.and(what).and(Part::Bytes(more)), remedy)
        }
        None => (
            title.and("; no static field and no handle grew itself: it is inside an object that stays"),
            sentence![
                "look for a collection or cache without a bound; a heap dump at two times shows which one"
            ],
        ),
    }
}
