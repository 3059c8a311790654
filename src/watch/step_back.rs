//! Decides when the profiler costs the program too much and has to leave (`attach` without a level).
//!
//! With the profiler loaded every collection of generation 2 blocks. Those that could have run in the background are
//! the cost of watching. If they stop the program for too long, roots are watched in windows from then on. The rule
//! uses finished records and the stream's clock, so that a replay decides the same.

use crate::gc::facts::{StepBackLimits, SteppedBack};
use crate::gc::record::Gc;
use crate::gc::stream_info::StepBackPlan;

/// The share is one of at least this time, so within the first ten seconds 100 ms are 1 %. Otherwise a first pause of
/// 11 ms, one second after the start, would already be too much.
const MIN_WATCHED_NS: u64 = 10_000_000_000;

/// What such collections have cost since the profiler was loaded.
#[derive(Debug)]
pub(crate) struct StepBack {
    limits: StepBackLimits,
    since_ns: u64,
    gcs: u64,
    stopped_ns: u64,
    over: bool,
}

impl StepBack {
    pub(crate) fn new(plan: &StepBackPlan) -> StepBack {
        StepBack { limits: plan.limits, since_ns: plan.since_ns, gcs: 0, stopped_ns: 0, over: false }
    }

    /// Adds one collection. Returns the decision to step back, once.
    pub(crate) fn add(&mut self, gc: &Gc) -> Option<SteppedBack> {
        let (at_ns, pause_ns) = gc.at_ns.zip(gc.pause_ns)?;
        if self.over || !gc.complete() || !gc.blocked_by_watching() {
            return None;
        }
        self.gcs = self.gcs.saturating_add(1);
        self.stopped_ns = self.stopped_ns.saturating_add(pause_ns);
        let now_ns = at_ns.saturating_add(pause_ns);
        let watched_ns = now_ns.saturating_sub(self.since_ns).max(MIN_WATCHED_NS);
        let share = self.stopped_ns as f64 / watched_ns as f64;
        let ms = |ns: u64| format!("{:.1} ms", ns as f64 / 1e6);
        let reason = if pause_ns > self.limits.max_pause_ns() {
            format!("a gen2 GC that blocked because of watching stopped the program for {}", ms(pause_ns))
        } else if share > self.limits.share() {
            let (time, total) = (watched_ns as f64 / 1e9, ms(self.stopped_ns));
            let gcs = if self.gcs == 1 { "a gen2 GC".to_owned() } else { format!("{} gen2 GCs", self.gcs) };
            format!("{gcs} that blocked because of watching stopped the program for {total} of {time:.0} s")
        } else {
            return None;
        };
        self.over = true;
        Some(SteppedBack { at_ns: now_ns, reason })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::gc::generation::Generation;
    use crate::gc::record::{Cost, Kind, Level, Reason};

    const MS: u64 = 1_000_000;

    fn full(at_ms: u64, pause_ms: u64, reason: u32) -> Gc {
        let mut gc = Gc::unknown(Level::Roots);
        (gc.generation, gc.kind, gc.reason) =
            (Some(Generation::GEN2), Some(Kind::Blocking), Some(Reason(reason)));
        (gc.at_ns, gc.pause_ns) = (Some(at_ms * MS), Some(pause_ms * MS));
        gc.cost = Some(Cost { callback_ns: 0, walk_ns: 0, naming_ns: None, armed: true });
        gc
    }

    fn rule() -> StepBack {
        let limits = StepBackLimits { share_ppm: 10_000, max_pause_ms: 250 };
        StepBack::new(&StepBackPlan { since_ns: 1000 * MS, limits, every: Duration::from_secs(30) })
    }

    #[test]
    fn one_long_pause_is_enough() {
        let mut rule = rule();
        assert_eq!(rule.add(&full(2000, 50, 0)), None);
        let stepped = rule.add(&full(3000, 251, 4)).expect("over 250 ms");
        assert_eq!(stepped.at_ns, 3251 * MS);
        assert!(stepped.reason.contains("251.0 ms"), "{}", stepped.reason);
        assert_eq!(rule.add(&full(4000, 900, 0)), None, "the decision comes once");
    }

    #[test]
    fn a_share_is_one_of_ten_seconds_at_least() {
        let mut early = rule();
        assert_eq!(early.add(&full(2000, 90, 0)), None, "9 % of the first second");
        let stepped = early.add(&full(2500, 11, 0)).expect("101 ms are more than 1 % of 10 s");
        assert!(stepped.reason.contains("2 gen2 GCs") && stepped.reason.contains("of 10 s"), "{stepped:?}");
        let mut late = rule();
        // 200 ms are less than 1 % of 40 s, and more than 1 % of 19 s.
        assert_eq!(late.add(&full(41_000, 200, 0)), None);
        assert!(rule_after(21_000).is_some());
    }

    fn rule_after(at_ms: u64) -> Option<SteppedBack> {
        let mut rule = rule();
        rule.add(&full(at_ms - 1000, 200, 0)).or_else(|| rule.add(&full(at_ms, 10, 0)))
    }

    #[test]
    fn collections_that_block_anyway_do_not_count() {
        let mut rule = rule();
        for reason in [1, 5, 6, 9, 10, 12, 17] {
            assert_eq!(rule.add(&full(2000, 5000, reason)), None, "reason {reason}");
        }
        let mut without = full(2000, 5000, 0);
        without.cost = None;
        assert_eq!(rule.add(&without), None, "the profiler was not loaded");
        let mut background = full(2000, 5000, 0);
        background.kind = Some(Kind::Background);
        let mut young = full(2000, 5000, 0);
        young.generation = Some(Generation::GEN1);
        assert_eq!((rule.add(&background), rule.add(&young)), (None, None));
        assert!(rule.add(&full(2000, 5000, 7)).is_some(), "induced, but not as a blocking collection");
    }
}
