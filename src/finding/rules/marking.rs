//! Pauses that are spent looking for objects, not on objects: from deep stacks, from very many handles, or from old objects
//! that point to new ones.

use crate::finding::figures::Numbers;
use crate::finding::model::{Evidence, Finding, Severity, Unit};
use crate::finding::rule::{Rule, Watch};
use crate::finding::sentence::{Part, Sentence, sentence};
use crate::finding::series::Series;
use crate::gc::record::Gc;
use crate::gc::root_kind::{MarkKind, RootKind};

const MIN_GCS: u64 = 5;
/// Of the time spent marking.
const MIN_PART_OF_MARK: f64 = 0.6;
/// Of the pauses, without the work for gcwatch. The collector visits the same roots again when it relocates, which is not counted here.
const MIN_PART_OF_PAUSES: f64 = 0.1;
const MIN_MEDIAN_NS: f64 = 2e6;
/// Marking objects takes about 1 ms per MiB, more if they are small. What takes longer is the search for them.
const MIN_NS_PER_MIB: f64 = 2e6;
const MIB: f64 = 1_048_576.0;

/// What is marked from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Stacks,
    Handles,
    OlderGenerations,
}

impl From {
    pub(super) const fn id(self) -> &'static str {
        match self {
            From::Stacks => "stacks",
            From::Handles => "handles",
            From::OlderGenerations => "older-generations",
        }
    }

    fn kind(self) -> MarkKind {
        match self {
            From::Stacks => MarkKind::STACK,
            From::Handles => MarkKind::HANDLE,
            From::OlderGenerations => MarkKind::OLDER_GENERATION,
        }
    }

    fn metric(self) -> [&'static str; 3] {
        match self {
            From::Stacks => ["mark.stack.part", "mark.stack.median", "mark.stack.pace"],
            From::Handles => ["mark.handle.part", "mark.handle.median", "mark.handle.pace"],
            From::OlderGenerations => ["mark.older.part", "mark.older.median", "mark.older.pace"],
        }
    }
}

/// Marking from one kind of root, against all marking.
#[derive(Debug)]
pub(super) struct Marking {
    from: From,
    each_ns: Series,
    ns: u64,
    mark_ns: u64,
    pause_ns: u64,
    promoted_bytes: u64,
    handles: u32,
    numbers: Numbers,
}

impl Marking {
    pub(super) fn new(from: From) -> Marking {
        Marking {
            from,
            each_ns: Series::default(),
            ns: 0,
            mark_ns: 0,
            pause_ns: 0,
            promoted_bytes: 0,
            handles: 0,
            numbers: Numbers::default(),
        }
    }

    fn subject(&self, watch: &Watch<'_>) -> Sentence {
        match self.from {
            From::Stacks => {
                let frames = watch.summary.roots.as_ref().and_then(|roots| {
                    let stack = RootKind::ALL.iter().position(|kind| *kind == RootKind::STACK)?;
                    roots.by_kind.get(stack)?.median()
                });
                let title = sentence!["reading the stacks of the threads"];
                match frames.filter(|&count| count > 0) {
                    Some(count) => title.and(" (").and(Part::Count(count)).and(" references)"),
                    None => title,
                }
            }
            From::Handles => {
                sentence!["reading ", Part::Count(u64::from(self.handles)), " GC handles"]
            }
            From::OlderGenerations => {
                sentence!["looking for references from old objects to new ones"]
            }
        }
    }

    fn remedy(&self) -> Sentence {
        match self.from {
            From::Stacks => {
                sentence!["make recursion less deep where it allocates, or use fewer threads at once"]
            }
            From::Handles => sentence![
                "use fewer GCHandles and weak references: one handle for an array or a table instead of one for each object"
            ],
            From::OlderGenerations => sentence![
                "write fewer references to new objects into old ones: change tables in blocks, keep numbers or structs in them, or reuse the objects"
            ],
        }
    }
}

impl Rule for Marking {
    fn add(&mut self, gc: &Gc) {
        let (Some(phases), Some(pause_ns)) = (gc.phases, gc.own_pause_at_most_ns()) else { return };
        let ns = phases.mark_from(self.from.kind()).unwrap_or(0);
        self.each_ns.add(ns as f64);
        self.ns = self.ns.saturating_add(ns);
        self.mark_ns = self.mark_ns.saturating_add(phases.mark_ns);
        self.pause_ns = self.pause_ns.saturating_add(pause_ns);
        let promoted = gc.promoted_by.get(self.from.kind().index()).copied().flatten();
        self.promoted_bytes = self.promoted_bytes.saturating_add(promoted.unwrap_or(0));
        self.handles = self.handles.max(gc.handles.unwrap_or(0));
        if ns as f64 >= MIN_MEDIAN_NS {
            self.numbers.add(gc);
        }
    }

    fn judge(&self, watch: &Watch<'_>) -> Option<Finding> {
        let median = self.each_ns.median()?;
        let of_mark = self.ns as f64 / self.mark_ns.max(1) as f64;
        let of_pauses = self.ns as f64 / self.pause_ns.max(1) as f64;
        let ns_per_mib = self.ns as f64 / (self.promoted_bytes as f64 / MIB).max(1.0);
        let found = self.each_ns.count() >= MIN_GCS
            && of_mark >= MIN_PART_OF_MARK
            && of_pauses >= MIN_PART_OF_PAUSES
            && median >= MIN_MEDIAN_NS
            && ns_per_mib >= MIN_NS_PER_MIB;
        if !found {
            return None;
        }
        let [part, each, pace] = self.from.metric();
        let title = self.subject(watch).with(sentence![
            " takes ",
            Part::Ns(median as u64),
            " a collection, ",
            Part::Share(of_mark),
            " of all marking; only ",
            Part::Bytes(self.promoted_bytes / self.each_ns.count().max(1)),
            " a collection are found there",
        ]);
        Some(Finding {
            id: self.from.id(),
            severity: Severity::Warning,
            title,
            evidence: vec![
                Evidence::new(part, Unit::Percent, of_mark * 100.0, MIN_PART_OF_MARK * 100.0),
                Evidence::new(each, Unit::Ns, median, MIN_MEDIAN_NS).in_gcs(&self.numbers.0),
                Evidence::new(pace, Unit::NsPerMib, ns_per_mib, MIN_NS_PER_MIB),
            ],
            remedy: self.remedy(),
            share: watch.share_of_pauses(self.ns),
        })
    }
}
