//! Collections that are over, and a program that does not go on: its threads wait for a processor.

use crate::finding::figures::{Numbers, ratio};
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, sentence};
use crate::finding::series::Series;
use crate::gc::record::Gc;
use crate::gc::summary::resume_ns;

pub(super) const ID: &str = "cpu-shortage";

const MIN_GCS: u64 = 5;
const MIN_PART_OF_PAUSES: f64 = 0.5;
const MIN_QUARTILE_NS: f64 = 5e6;

/// The time from the end of a collection until the program runs, against the pauses.
#[derive(Debug, Default)]
pub(super) struct CpuShortage {
    each_ns: Series,
    resume_ns: u64,
    gc_ns: u64,
    pause_ns: u64,
    numbers: Numbers,
}

impl Rule for CpuShortage {
    fn add(&mut self, gc: &Gc) {
        let (Some(resume), Some(pause)) = (resume_ns(gc), gc.pause_ns) else { return };
        self.each_ns.add(resume as f64);
        self.resume_ns = self.resume_ns.saturating_add(resume);
        self.gc_ns = self.gc_ns.saturating_add(gc.gc_ns.unwrap_or(0));
        self.pause_ns = self.pause_ns.saturating_add(pause);
        if resume as f64 >= MIN_QUARTILE_NS {
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let (part, quartile) = (ratio(self.resume_ns, self.pause_ns)?, self.each_ns.upper_quartile()?);
        if self.each_ns.count() < MIN_GCS || part < MIN_PART_OF_PAUSES || quartile < MIN_QUARTILE_NS {
            return None;
        }
        Some(Finding {
            id: ID,
            severity: Severity::Warning,
            title: sentence![
                Part::Share(part),
                " of all pauses pass after the collection, until the threads run again (",
                Part::Ns(quartile as u64),
                " or more in a quarter of the collections); the collections themselves take ",
                Part::Ns(self.gc_ns / self.each_ns.count().max(1)),
                " on average",
            ],
            evidence: vec![
                Evidence::new("resume.part", Unit::Percent, part * 100.0, MIN_PART_OF_PAUSES * 100.0),
                Evidence::new("resume.p75", Unit::Ns, quartile, MIN_QUARTILE_NS).in_gcs(&self.numbers.0),
            ],
            remedy: sentence![
                "the processors are busy: run fewer threads that compute, or give the machine or the container more CPU (cpu.max, load)"
            ],
            share: watch.share_of_pauses(self.resume_ns),
        })
    }
}
