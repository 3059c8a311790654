//! Evaluates assertions: adds collections as they come, and gives the verdicts at the end.

use std::time::Duration;

use super::disturbance::disturbances;
use super::metric::Value;
use super::parse::{Assertion, Op};
use super::statistic::{Statistic, Values};
use super::stop::StopCondition;
use super::verdict::{Verdict, Violation};
use super::warmup::Warmup;
use crate::gc::facts::{Lost, Watch};
use crate::gc::generation::Generation;
use crate::gc::record::{Allocated, Gc, Incomplete, Level};
use crate::gc::summary::{INCOMPLETE, Summary};

/// How many violations are kept for each assertion.
const MAX_VIOLATIONS: usize = 100;
/// Bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;

/// All assertions on one watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assertions {
    evaluations: Vec<Evaluation>,
    stops: Vec<StopCondition>,
    warmup: Option<Warmup>,
    /// The watch goes on when a condition is met.
    goes_on: bool,
    /// The condition that the last collection met.
    met: Option<usize>,
}

#[derive(Debug, Clone)]
struct Evaluation {
    assertion: Assertion,
    state: State,
    violations: Vec<Violation>,
}

#[derive(Debug, Clone)]
enum State {
    PerGc(fn(&Gc) -> Option<u64>, Values),
    Count(fn(&Gc) -> bool, u64),
    /// The size of the heap after the first and after the last gen2 collection.
    Growth(Option<u64>, Option<u64>),
    /// The last known share of free space.
    Fragmentation(Generation, Option<f64>),
    PausePercent,
    AllocatedPerSecond,
    /// A sum over all collections, and what it is for one allocated byte of it.
    OfAllocated {
        of: fn(&Gc) -> Option<u64>,
        sum: u64,
        scale: f64,
    },
    Lost,
}

impl Assertions {
    pub(crate) fn new(assertions: impl IntoIterator<Item = Assertion>) -> Assertions {
        let evaluations = assertions.into_iter().map(Evaluation::new).collect();
        Assertions { evaluations, ..Assertions::default() }
    }

    /// Whether there is nothing to judge.
    pub(crate) fn is_empty(&self) -> bool {
        self.evaluations.is_empty() && self.stops.is_empty()
    }

    /// With conditions that end the watch or, if it `goes_on`, keep the recording around the collection.
    #[must_use]
    pub(crate) fn and_stop_on(mut self, stops: &[StopCondition], goes_on: bool) -> Assertions {
        self.stops.extend_from_slice(stops);
        self.goes_on = goes_on;
        self
    }

    /// With a time at the beginning whose collections count for nothing.
    #[must_use]
    pub(crate) fn after(mut self, warmup: Option<Duration>) -> Assertions {
        self.warmup = warmup.map(Warmup::new);
        self
    }

    /// Whether a collection has met a condition that ends the watch.
    pub(crate) fn end_watch(&self) -> bool {
        !self.goes_on && self.stops.iter().any(StopCondition::is_met)
    }

    /// The condition that the last collection met, if the recording around it is to be kept.
    pub(crate) fn keeps(&self) -> Option<&str> {
        self.stops.get(self.met.filter(|_| self.goes_on)?).map(StopCondition::text)
    }

    /// The lowest level that sees all metrics; `None`: there are no assertions.
    pub(crate) fn level(&self) -> Option<Level> {
        let of_stops = self.stops.iter().map(StopCondition::level);
        self.evaluations.iter().map(|c| c.assertion.metric.level).chain(of_stops).max()
    }

    /// Adds a collection; only complete ones count.
    pub(crate) fn add(&mut self, gc: &Gc) {
        self.met = None;
        if gc.complete() && self.warmup.as_mut().is_none_or(|warmup| warmup.add(gc)) {
            self.evaluations.iter_mut().for_each(|evaluation| evaluation.add(gc));
            for (n, stop) in self.stops.iter_mut().enumerate() {
                if stop.add(gc) {
                    self.met.get_or_insert(n);
                }
            }
        }
    }

    /// The verdicts, in the order of the assertions, then those on the conditions that end a watch.
    pub(crate) fn judge(&self, summary: &Summary, lost: &Lost, watch: &Watch) -> Vec<Verdict> {
        let has_gaps = has_gaps(summary, lost);
        let mut verdicts: Vec<Verdict> = match &self.warmup {
            None => self.judged(summary, lost, watch, has_gaps),
            Some(warmup) => match warmup.rest(watch) {
                Some(rest) => self.judged(&warmup.after, lost, &rest, has_gaps),
                None => self.unjudged("the watch ended within the warm-up"),
            },
        };
        let warmup_ns = self.warmup.as_ref().map(|warmup| warmup.ns);
        verdicts.iter_mut().for_each(|verdict| verdict.warmup_ns = warmup_ns);
        verdicts
    }

    fn judged(&self, summary: &Summary, lost: &Lost, watch: &Watch, has_gaps: bool) -> Vec<Verdict> {
        let judged =
            self.evaluations.iter().map(|evaluation| evaluation.judge(summary, lost, watch, has_gaps));
        judged.chain(self.stops.iter().map(|stop| stop.verdict(watch, has_gaps))).collect()
    }

    /// The verdicts on a process that was not watched.
    pub(crate) fn unjudged(&self, why: &'static str) -> Vec<Verdict> {
        let one = |evaluation: &Evaluation| Verdict {
            text: evaluation.assertion.text.clone(),
            value: None,
            unit: evaluation.assertion.metric.unit,
            level: Level::Basic,
            disturbed_by: Vec::new(),
            holds: None,
            gcs_seen: None,
            unjudged: Some(why),
            warmup_ns: None,
            violations: Vec::new(),
        };
        let stops = self.stops.iter().map(|stop| stop.unjudged(why));
        self.evaluations.iter().map(one).chain(stops).collect()
    }
}

impl Evaluation {
    fn new(assertion: Assertion) -> Evaluation {
        let state = match assertion.metric.value {
            Value::PerGc(of) => State::PerGc(of, Values::new(assertion.statistic.unwrap_or(Statistic::Max))),
            Value::Count(of) => State::Count(of, 0),
            Value::PausePercent => State::PausePercent,
            Value::AllocatedPerSecond => State::AllocatedPerSecond,
            Value::PerGib(of) => State::OfAllocated { of, sum: 0, scale: GIB },
            Value::PercentOfAllocated(of) => State::OfAllocated { of, sum: 0, scale: 100.0 },
            Value::HeapGrowthPercent => State::Growth(None, None),
            Value::FragmentationPercent(generation) => State::Fragmentation(generation, None),
            Value::Lost => State::Lost,
        };
        Evaluation { assertion, state, violations: Vec::new() }
    }

    fn add(&mut self, gc: &Gc) {
        let mut violates = false;
        let mut own = None;
        match &mut self.state {
            State::PerGc(of, values) => {
                if let Some(value) = of(gc) {
                    values.add(value);
                    own = Some(value);
                    let of_all = matches!(self.assertion.statistic, Some(Statistic::Total | Statistic::Mean));
                    violates = !of_all && !self.assertion.op.holds(value as f64, self.assertion.limit);
                }
            }
            State::Count(of, count) => {
                if of(gc) {
                    *count += 1;
                    // A collection that exists cannot violate a lower limit.
                    violates = matches!(self.assertion.op, Op::Lt | Op::Le | Op::Eq);
                }
            }
            State::Growth(first, last) => {
                if gc.generation == Some(Generation::GEN2)
                    && let Some(after) = gc.heap_after_bytes
                {
                    if first.is_some() {
                        *last = Some(after);
                    } else {
                        *first = Some(after);
                    }
                }
            }
            State::Fragmentation(generation, last) => {
                if let Some(g) = gc.generations.get(generation.index())
                    && let (Some(free), Some(size)) = (g.fragmentation_bytes, g.size_after_bytes)
                    && size > 0
                {
                    *last = Some(free as f64 / size as f64 * 100.0);
                }
            }
            State::OfAllocated { of, sum, .. } => *sum = sum.saturating_add(of(gc).unwrap_or(0)),
            State::PausePercent | State::AllocatedPerSecond | State::Lost => {}
        }
        if violates && self.violations.len() < MAX_VIOLATIONS {
            self.violations.extend(gc.number.map(|number| Violation {
                number,
                generation: gc.generation,
                kind: gc.kind,
                reason: gc.reason,
                value: own,
            }));
        }
    }

    fn value(&self, summary: &Summary, lost: &Lost, watch: &Watch) -> Option<f64> {
        match &self.state {
            State::PerGc(_, values) => values.result(),
            State::Count(_, count) => Some(*count as f64),
            State::PausePercent => summary.pause_percent(watch.duration_ns),
            State::AllocatedPerSecond => summary.allocated.and_then(Allocated::per_second),
            State::OfAllocated { sum, scale, .. } => {
                let allocated = summary.allocated.filter(|allocated| allocated.bytes > 0)?;
                Some(*sum as f64 / allocated.bytes as f64 * scale)
            }
            State::Growth(first, last) => {
                let first = (*first).filter(|bytes| *bytes > 0)? as f64;
                Some(((*last)? as f64 - first) / first * 100.0)
            }
            State::Fragmentation(_, last) => *last,
            State::Lost => Some(lost.total() as f64),
        }
    }

    fn judge(&self, summary: &Summary, lost: &Lost, watch: &Watch, has_gaps: bool) -> Verdict {
        let value = self.value(summary, lost, watch);
        let mut holds = value.map(|value| self.assertion.op.holds(value, self.assertion.limit));
        let mut unjudged = match (&self.state, value) {
            (_, Some(_)) => None,
            (State::Growth(..), None) => Some("fewer than two gen2 collections"),
            (_, None) if self.assertion.metric.level > watch.level => Some("not seen at this level"),
            (_, None) => Some("no data"),
        };
        // A lost collection could have violated an assertion that seems to hold.
        let proved = matches!(self.state, State::Count(..)) && self.assertion.op.grows_truer();
        if holds == Some(true) && !proved && !matches!(self.state, State::Lost) && has_gaps {
            (holds, unjudged) = (None, Some("collections or events were lost"));
        }
        Verdict {
            text: self.assertion.text.clone(),
            value,
            unit: self.assertion.metric.unit,
            level: watch.level,
            disturbed_by: disturbances(self.assertion.metric, watch),
            holds,
            gcs_seen: match &self.state {
                State::PerGc(_, values)
                    if watch.sample.is_some() && self.assertion.metric.level > Level::Basic =>
                {
                    Some(values.count())
                }
                _ => None,
            },
            unjudged,
            warmup_ns: None,
            violations: if holds == Some(false) { self.violations.clone() } else { Vec::new() },
        }
    }
}

/// Whether events were lost within the watch. Collections truncated at its start or end do not count.
fn has_gaps(summary: &Summary, lost: &Lost) -> bool {
    let broken =
        INCOMPLETE.iter().zip(summary.incomplete).any(|(why, count)| *why == Incomplete::Lost && count > 0);
    broken || lost.events > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::{GenerationStats, Kind};

    fn numbers(verdict: &Verdict) -> Vec<u32> {
        verdict.violations.iter().map(|b| b.number).collect()
    }

    fn gc(number: u32, generation: u8, pause_ns: u64) -> Gc {
        let mut gc = Gc::unknown(Level::Basic);
        gc.number = Some(number);
        gc.generation = Some(Generation(generation));
        gc.kind = Some(Kind::Blocking);
        gc.pause_ns = Some(pause_ns);
        gc
    }

    fn judge_with(text: &str, gcs: &[Gc], lost: Lost, watch: &Watch) -> Verdict {
        let mut assertions = Assertions::new([text.parse().unwrap()]);
        let mut summary = Summary::default();
        for gc in gcs {
            assertions.add(gc);
            summary.add(gc);
        }
        assertions.judge(&summary, &lost, watch).remove(0)
    }

    fn judge(text: &str, gcs: &[Gc]) -> Verdict {
        judge_with(text, gcs, Lost::default(), &Watch::default())
    }

    #[test]
    fn figures_for_each_gib_that_is_allocated() {
        let allocated = |bytes| Some(Allocated { bytes, large_bytes: 0, in_ns: 1 });
        let (mut young, mut full) = (gc(1, 0, 3_000_000), gc(2, 2, 9_000_000));
        (young.allocated, full.allocated) = (allocated(1 << 30), allocated(1 << 30));
        let promoted = GenerationStats { promoted_bytes: Some(1 << 28), ..GenerationStats::default() };
        full.generations = vec![promoted; 5];
        let gcs = [young, full, gc(3, 0, 0)];
        for (assertion, value) in [
            ("gc.per_gib < 2", 1.5),
            ("gen2.per_gib < 1", 0.5),
            ("pause.per_gib < 1ms", 6_000_000.0),
            ("promoted.percent < 20", 12.5),
            ("heap.live.max < 1GiB", 5.0 * f64::from(1 << 28)),
            ("alloc.total < 1GiB", f64::from(1 << 30) * 2.0),
        ] {
            assert_eq!(judge(assertion, &gcs).value, Some(value), "{assertion}");
        }
        assert_eq!(judge("gc.per_gib < 1", &gcs[2..]).value, None);
    }

    #[test]
    fn names_the_collections_that_violate_an_assertion() {
        let gcs = [gc(1, 0, 5_000_000), gc(2, 2, 12_000_000), gc(3, 1, 20_000_000)];
        let v = judge("pause.max < 10ms", &gcs);
        assert_eq!((v.holds, v.value, numbers(&v)), (Some(false), Some(20e6), vec![2, 3]));
        let v = judge("gc.gen2.count <= 0", &gcs);
        assert_eq!((v.holds, v.value, numbers(&v)), (Some(false), Some(1.0), vec![2]));
        let v = judge("gc.gen2.count >= 2", &gcs);
        assert_eq!((v.holds, numbers(&v)), (Some(false), vec![]));
        let v = judge("pause.max <= 20ms", &gcs);
        assert_eq!((v.holds, numbers(&v)), (Some(true), vec![]));
        assert_eq!(judge("pause.total <= 37ms", &gcs).holds, Some(true));
        assert_eq!(judge("pause.gen1.first == 20ms", &gcs).holds, Some(true));
    }

    #[test]
    fn without_data_there_is_no_verdict() {
        for text in
            ["pause.max < 10ms", "pause.gen2.p99 < 1s", "heap.growth.percent < 5%", "pause.percent < 5%"]
        {
            assert_eq!(judge(text, &[]).holds, None, "{text}");
        }
        assert_eq!(judge("roots.stack.max < 5", &[gc(1, 0, 1)]).unjudged, Some("not seen at this level"));
        assert_eq!(judge("gc.gen2.count <= 0", &[]).holds, Some(true), "a count of 0 is a value");
        let mut one = gc(1, 2, 1);
        one.heap_after_bytes = Some(100);
        assert_eq!(
            judge("heap.growth.percent < 5", &[one.clone()]).unjudged,
            Some("fewer than two gen2 collections")
        );
        let mut two = gc(2, 2, 1);
        two.heap_after_bytes = Some(104);
        assert_eq!(judge("heap.growth.percent < 5", &[one, two]).value, Some(4.0));
    }

    #[test]
    fn a_warm_up_counts_for_nothing() {
        let mut gcs = [gc(1, 2, 50_000_000), gc(2, 2, 3_000_000), gc(3, 2, 4_000_000)];
        for (n, (gc, bytes)) in gcs.iter_mut().zip([100, 400, 420]).enumerate() {
            gc.at_ns = Some(n as u64 * 1_000_000_000);
            gc.heap_after_bytes = Some(bytes);
        }
        let judged = |text: &str, seconds: u64, duration_s: u64| {
            let mut assertions = Assertions::new(text.parse().ok()).after(Some(Duration::from_secs(seconds)));
            let mut summary = Summary::default();
            for gc in &gcs {
                assertions.add(gc);
                summary.add(gc);
            }
            let watch = Watch { duration_ns: Some(duration_s * 1_000_000_000), ..Watch::default() };
            assertions.judge(&summary, &Lost::default(), &watch).swap_remove(0)
        };
        let v = judged("pause.max < 10ms", 1, 8);
        assert_eq!((v.value, v.holds, v.warmup_ns), (Some(4e6), Some(true), Some(1_000_000_000)));
        assert_eq!(judged("pause.max < 10ms", 0, 8).holds, Some(false));
        assert_eq!(judged("heap.growth.percent < 20", 1, 8).value, Some(5.0));
        assert_eq!(judged("heap.growth.percent < 20", 0, 8).value, Some(320.0));
        assert_eq!(judged("pause.percent < 1", 1, 8).value, Some(0.1), "of the 7 s after it");
        assert_eq!(judged("gc.count < 3", 1, 8).value, Some(2.0));
        let short = judged("gc.count < 3", 8, 8);
        assert_eq!((short.holds, short.unjudged), (None, Some("the watch ended within the warm-up")));
    }

    #[test]
    fn incomplete_collections_do_not_count() {
        let mut cut = gc(2, 2, 50_000_000);
        cut.incomplete = Some(Incomplete::EndedAfter);
        let v = judge("pause.max < 10ms", &[gc(1, 0, 1), cut]);
        assert_eq!((v.holds, v.value), (Some(true), Some(1.0)));
    }

    #[test]
    fn after_losses_an_assertion_may_have_no_verdict() {
        let lost = Lost { events: 3, ..Lost::default() };
        let watch = Watch::default();
        let of = |text| judge_with(text, &[gc(1, 0, 5)], lost, &watch).holds;
        assert_eq!(of("pause.max < 10ms"), None);
        assert_eq!(of("pause.max < 1ns"), Some(false), "a loss cannot undo a violation");
        assert_eq!(of("gc.count <= 1"), None);
        assert_eq!(of("gc.count >= 1"), Some(true), "lost collections could only raise the count");
        assert_eq!(of("lost == 0"), Some(false));
        assert_eq!(of("lost <= 3"), Some(true));
    }

    #[test]
    fn level_is_the_lowest_that_sees_all_metrics() {
        let level = |texts: &[&str]| Assertions::new(texts.iter().map(|t| t.parse().unwrap())).level();
        assert_eq!(level(&[]), None);
        assert_eq!(level(&["gc.count < 5", "pause.max < 1s"]), Some(Level::Basic));
        assert_eq!(level(&["gc.count < 5", "moved.bytes.max < 1MiB"]), Some(Level::Moves));
        assert_eq!(level(&["roots.stack.max < 5", "moved.bytes.max < 1MiB"]), Some(Level::Roots));
    }
}
