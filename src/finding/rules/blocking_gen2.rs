//! Gen2 collections that stop the program for their whole length: with background GC on, and with it switched off.

use crate::finding::figures::Numbers;
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::rules::memory_limit::is_shortage;
use crate::finding::sentence::{Part, Sentence, sentence};
use crate::gc::facts::BackgroundGc;
use crate::gc::generation::Generation;
use crate::gc::record::{Gc, Kind};
use crate::gc::summary::{Conditions, condition_words};

const MIN_GCS: u64 = 3;
const MIN_PART_OF_PAUSES: f64 = 0.1;
const MIN_MEAN_NS: f64 = 25e6;

/// Whether the program's background GC is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Background {
    On,
    Off,
}

impl Background {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Background::On => "blocking-gen2",
            Background::Off => "concurrent-off",
        }
    }

    /// Whether it is so, and gcwatch has no part in it.
    fn holds(self, watch: &Watch<'_>) -> bool {
        let concurrent = watch.facts.target.gc.concurrent;
        let by_gcwatch = !matches!(
            watch.facts.watch.background_gc,
            BackgroundGc::Untouched | BackgroundGc::Walked | BackgroundGc::None
        );
        match self {
            Background::On => concurrent == Some(true) && !by_gcwatch,
            Background::Off => concurrent == Some(false),
        }
    }
}

/// Blocking gen2 collections that the program did not ask for, and that memory does not force.
#[derive(Debug)]
pub(super) struct BlockingGen2 {
    background: Background,
    gcs: u64,
    pause_ns: u64,
    conditions: Conditions,
    numbers: Numbers,
}

impl BlockingGen2 {
    pub(super) fn new(background: Background) -> BlockingGen2 {
        BlockingGen2 {
            background,
            gcs: 0,
            pause_ns: 0,
            conditions: Conditions::default(),
            numbers: Numbers::default(),
        }
    }

    fn remedy(&self) -> Sentence {
        match self.background {
            Background::Off => sentence![
                "switch background GC on: DOTNET_gcConcurrent=1, or System.GC.Concurrent in runtimeconfig.json; pauses get shorter, and the GC uses more CPU time"
            ],
            Background::On => sentence![
                "the GC blocks where gen2 has too many gaps or is still small: let objects of one age die together, reuse them, or keep fewer; DOTNET_GCConserveMemory changes when it compacts"
            ],
        }
    }
}

impl Rule for BlockingGen2 {
    fn add(&mut self, gc: &Gc) {
        let full = gc.generation == Some(Generation::GEN2) && gc.kind == Some(Kind::Blocking);
        if full && !gc.reason.is_some_and(|reason| reason.induced()) && !is_shortage(gc) {
            self.gcs += 1;
            self.pause_ns = self.pause_ns.saturating_add(gc.pause_ns.unwrap_or(0));
            self.conditions.add(gc);
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let share = watch.share_of_pauses(self.pause_ns);
        let mean_ns = self.pause_ns as f64 / self.gcs.max(1) as f64;
        let found = self.gcs >= MIN_GCS && share >= MIN_PART_OF_PAUSES && mean_ns >= MIN_MEAN_NS;
        if !found || !self.background.holds(watch) {
            return None;
        }
        let mut title = sentence![
            Part::Count(self.gcs),
            " gen2 collections stopped the program for ",
            Part::Ns(mean_ns as u64),
            " on average (",
            Part::Share(share),
            " of all pauses), ",
            match self.background {
                Background::On => "although background GC is on",
                Background::Off => "because background GC is switched off",
            },
        ];
        if self.background == Background::On
            && let Some((condition, gcs)) = self.conditions.most_frequent()
        {
            title = title.and("; ").and(Part::Count(gcs));
            title = title.and(format!(" because {}", condition_words(condition)));
        }
        Some(Finding {
            id: self.background.id(),
            severity: Severity::Warning,
            title,
            evidence: vec![
                Evidence::new("gen2.blocking.count", Unit::Count, self.gcs as f64, MIN_GCS as f64)
                    .in_gcs(&self.numbers.0),
                Evidence::new("gen2.blocking.part", Unit::Percent, share * 100.0, MIN_PART_OF_PAUSES * 100.0),
                Evidence::new("gen2.blocking.mean", Unit::Ns, mean_ns, MIN_MEAN_NS),
            ],
            remedy: self.remedy(),
            share,
        })
    }
}
