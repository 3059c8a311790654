//! One table of the metrics that watching changes, and of how it changes them.

use super::metric::Metric;
use crate::gc::facts::{BackgroundGc, Watch};
use crate::gc::record::Level;

/// A way in which watching changes the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// Background GC was off: every collection of generation 2 blocked.
    BackgroundGcOff,
    /// The pauses contain work for gcwatch: the runtime reported blocks (`moves`, `roots`), or searched for roots.
    WorkInPauses,
}

use Disturbance::{BackgroundGcOff, WorkInPauses};

impl Disturbance {
    /// The word in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            BackgroundGcOff => "background_gc_off",
            WorkInPauses => "work_in_pauses",
        }
    }

    /// The words in reports, as part of a sentence.
    pub(crate) fn words(self) -> &'static str {
        match self {
            BackgroundGcOff => "background GC was off",
            WorkInPauses => "pauses hold work for gcwatch",
        }
    }
}

/// What disturbs each metric. Both disturbances change the length of a pause. Whether collections of generation 2 block
/// changes the number and kinds of collections, what they move, and the size of the heap after them: a background
/// collection compacts nothing, and younger collections run beside it.
///
/// Roots are counted in the collections that were seen. The event session itself adds a few dozen roots at every level;
/// this table leaves that out.
const TABLE: [(&str, &[Disturbance]); 44] = [
    ("pause", &[BackgroundGcOff, WorkInPauses]),
    ("pause.gen0", &[BackgroundGcOff, WorkInPauses]),
    ("pause.gen1", &[BackgroundGcOff, WorkInPauses]),
    ("pause.gen2", &[BackgroundGcOff, WorkInPauses]),
    ("suspend", &[BackgroundGcOff]),
    ("pause.percent", &[BackgroundGcOff, WorkInPauses]),
    ("gc.count", &[BackgroundGcOff]),
    ("gc.gen0.count", &[BackgroundGcOff]),
    ("gc.gen1.count", &[BackgroundGcOff]),
    ("gc.gen2.count", &[BackgroundGcOff]),
    ("gc.gen2.blocking.count", &[BackgroundGcOff]),
    ("gc.background.count", &[BackgroundGcOff]),
    ("gc.induced.count", &[BackgroundGcOff]),
    ("heap.after", &[BackgroundGcOff]),
    ("heap.before", &[BackgroundGcOff]),
    ("heap.growth.percent", &[BackgroundGcOff]),
    ("committed", &[BackgroundGcOff]),
    ("promoted", &[BackgroundGcOff]),
    ("frag.gen2.percent", &[BackgroundGcOff]),
    ("frag.loh.percent", &[BackgroundGcOff]),
    ("pinned", &[BackgroundGcOff]),
    ("handles", &[BackgroundGcOff]),
    ("moved.bytes", &[BackgroundGcOff]),
    ("moved.blocks", &[BackgroundGcOff]),
    ("surviving.bytes", &[BackgroundGcOff]),
    ("surviving.blocks", &[BackgroundGcOff]),
    ("roots.total", &[]),
    ("roots.holding", &[]),
    ("roots.stack", &[]),
    ("roots.handle", &[]),
    ("roots.finalizer", &[]),
    ("roots.other", &[]),
    ("roots.pinning", &[]),
    ("roots.weak", &[]),
    ("roots.interior", &[]),
    ("roots.refcounted", &[]),
    ("alloc", &[]),
    ("alloc.rate", &[]),
    ("gc.per_gib", &[BackgroundGcOff]),
    ("gen2.per_gib", &[BackgroundGcOff]),
    ("pause.per_gib", &[BackgroundGcOff, WorkInPauses]),
    ("promoted.percent", &[]),
    ("heap.live", &[BackgroundGcOff]),
    ("lost", &[]),
];

/// What changed the value of this metric in this watch.
pub(crate) fn disturbances(metric: &Metric, watch: &Watch) -> Vec<Disturbance> {
    let of = TABLE.iter().find(|(name, _)| *name == metric.name).map_or(&[][..], |(_, of)| of);
    of.iter().copied().filter(|disturbance| happened(*disturbance, watch)).collect()
}

fn happened(disturbance: Disturbance, watch: &Watch) -> bool {
    // Between windows the profiler is not loaded.
    let profiler_came = watch.sample.is_none() || watch.windows.taken > 0 || watch.stepped_back.is_some();
    let graph_taken = watch.graph.as_ref().is_some_and(|graph| graph.taken.is_some());
    match disturbance {
        BackgroundGcOff => match watch.background_gc {
            BackgroundGc::OffWhileWatched | BackgroundGc::OffUntilExit | BackgroundGc::OffForGraph => true,
            BackgroundGc::OffInWindows => profiler_came,
            BackgroundGc::Untouched | BackgroundGc::Walked | BackgroundGc::None => false,
        },
        WorkInPauses => match watch.level {
            Level::Basic => watch.background_gc == BackgroundGc::OffForGraph || graph_taken,
            Level::Moves => true,
            Level::Roots => {
                profiler_came || watch.sample.is_some_and(|sample| sample.between == Level::Moves)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::assertion::METRICS;
    use crate::gc::facts::{Sample, WindowLength};

    #[test]
    fn every_metric_is_in_the_table_once() {
        let mut listed: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
        let mut metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        listed.sort_unstable();
        metrics.sort_unstable();
        assert_eq!(listed, metrics);
    }

    fn of(
        name: &str,
        level: Level,
        background_gc: BackgroundGc,
        sample: Option<(Level, u64)>,
    ) -> Vec<Disturbance> {
        let metric = METRICS.iter().find(|metric| metric.name == name).expect("a metric");
        let mut watch = Watch::default();
        (watch.level, watch.background_gc) = (level, background_gc);
        if let Some((between, taken)) = sample {
            watch.sample =
                Some(Sample { each: WindowLength::Gcs(1), every: Duration::from_secs(30), between });
            watch.windows.taken = taken;
        }
        disturbances(metric, &watch)
    }

    #[test]
    fn each_level_disturbs_what_it_changes() {
        use BackgroundGc::{
            None as NoneThere, OffForGraph, OffInWindows, OffUntilExit, OffWhileWatched, Untouched, Walked,
        };
        use Level::{Basic, Moves, Roots};
        const NOTHING: &[Disturbance] = &[];
        for (level, background, pause, count, moved) in [
            (Basic, Untouched, NOTHING, NOTHING, NOTHING),
            (Basic, NoneThere, NOTHING, NOTHING, NOTHING),
            (Basic, OffForGraph, &[BackgroundGcOff, WorkInPauses], &[BackgroundGcOff], &[BackgroundGcOff]),
            (Moves, Walked, &[WorkInPauses], NOTHING, NOTHING),
            (Moves, NoneThere, &[WorkInPauses], NOTHING, NOTHING),
            (Roots, NoneThere, &[WorkInPauses], NOTHING, NOTHING),
            (
                Roots,
                OffWhileWatched,
                &[BackgroundGcOff, WorkInPauses],
                &[BackgroundGcOff],
                &[BackgroundGcOff],
            ),
            (Roots, OffUntilExit, &[BackgroundGcOff, WorkInPauses], &[BackgroundGcOff], &[BackgroundGcOff]),
        ] {
            let at = |name| of(name, level, background, None);
            assert_eq!(at("pause"), pause, "{level:?} {background:?}");
            assert_eq!(at("pause.percent"), pause, "{level:?} {background:?}");
            assert_eq!(at("gc.gen2.count"), count, "{level:?} {background:?}");
            assert_eq!(at("heap.after"), count, "{level:?} {background:?}");
            assert_eq!(at("moved.bytes"), moved, "{level:?} {background:?}");
            assert_eq!((at("roots.stack"), at("lost")), (vec![], vec![]), "{level:?} {background:?}");
        }
        // Windows change nothing if none was taken.
        let windows = |name, between, taken| of(name, Roots, OffInWindows, Some((between, taken)));
        assert_eq!(windows("pause", Basic, 0), []);
        assert_eq!(windows("pause", Moves, 0), [WorkInPauses]);
        assert_eq!(windows("pause", Basic, 1), [BackgroundGcOff, WorkInPauses]);
        assert_eq!(
            (windows("gc.count", Basic, 0), windows("gc.count", Basic, 1)),
            (vec![], vec![BackgroundGcOff])
        );
    }
}
