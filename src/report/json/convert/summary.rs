//! The summary.

use super::blocks::{distribution, rows};
use super::root_stats;
use super::roots::promoted;
use crate::gc::summary::{Group, RootsSummary, Samples, StopTotals, Summary, Tally};
use crate::report::json::number::Convert;
use crate::report::json::types::summary as wire;

pub(crate) fn summary(to: &mut Convert, sum: &Summary, duration_ns: Option<u64>) -> wire::Summary {
    wire::Summary {
        gcs: to.int(sum.gcs),
        incomplete: to.int(sum.incomplete_gcs()),
        by_generation_and_kind: sum
            .groups
            .iter()
            .map(|((generation, kind), group)| wire::Group {
                generation: generation.0,
                kind: kind.name(),
                count: to.int(group.count),
                pause_ns: pauses(to, group),
            })
            .collect(),
        numbers_without_record: to.int(sum.numbers.absent()),
        other_suspensions: stops(to, sum.other_suspensions),
        pause_percent: sum.pause_percent(duration_ns).map(rounded),
        own_pause_percent_at_most: sum.own_pause_percent_at_most(duration_ns).map(rounded),
        gen2_blocked_by_watching: stops(to, sum.blocked_by_watching),
        moved: sum.moved.as_ref().map(|moved| wire::MovedSum {
            blocks: to.int(moved.count.blocks),
            bytes: to.int(moved.count.bytes),
            bytes_at_least: moved.bytes_at_least,
            stayed_blocks: to.int(moved.stayed.blocks),
            stayed_bytes: to.int(moved.stayed.bytes),
            block_bytes: distribution(to, &moved.sizes),
            distance_bytes: distribution(to, &moved.distances),
            histogram: rows(to, &moved.sizes),
        }),
        surviving: sum.surviving.as_ref().map(|surviving| wire::SurvivingSum {
            blocks: to.int(surviving.count.blocks),
            bytes: to.int(surviving.count.bytes),
            bytes_at_least: surviving.bytes_at_least,
            block_bytes: distribution(to, &surviving.sizes),
            histogram: rows(to, &surviving.sizes),
        }),
        roots: roots(to, sum),
        growth: sum.growth.rows().map(|rows| root_stats::growth(to, rows)),
        induced_by: root_stats::induced(to, &sum.induced),
        heap_after_bytes: wire::HeapAfter {
            max: to.known(sum.heap_after_max_bytes),
            last: to.known(sum.heap_after_last_bytes),
        },
        cost: (sum.cost.is_some() || sum.extra_stops.count > 0).then(|| wire::CostSum {
            callback_ns: to.known(sum.cost.map(|c| c.callback_ns)),
            walk_ns: to.known(sum.cost.map(|c| c.walk_ns)),
            naming_ns: to.known(sum.cost.and_then(|c| c.naming_ns)),
            armed_gcs: to.known(sum.cost.map(|c| c.armed_gcs)),
            extra_stops: stops(to, sum.extra_stops),
        }),
    }
}

/// Three decimals: more than the clock is worth, and the same text everywhere.
fn rounded(percent: f64) -> f64 {
    (percent * 1e3).round() / 1e3
}

fn pauses(to: &mut Convert, group: &Group) -> wire::Pauses {
    let samples: &Samples = &group.pauses;
    wire::Pauses {
        // No pause measured at all is not a pause of 0.
        total: to.known((samples.count() > 0).then(|| samples.total())),
        p50: to.known(samples.percentile(50.0)),
        p90: to.known(samples.percentile(90.0)),
        p99: to.known(samples.percentile(99.0)),
        max: to.known(samples.max()),
    }
}

fn stops(to: &mut Convert, stops: StopTotals) -> wire::Stops {
    wire::Stops { count: to.int(stops.count), ns: to.int(stops.ns) }
}

fn roots(to: &mut Convert, sum: &Summary) -> Option<wire::RootsSum> {
    let promoted_bytes = promoted(to, &sum.promoted_by);
    if sum.roots.is_none() && promoted_bytes.is_none() {
        return None;
    }
    let unseen = RootsSummary::default();
    let roots = sum.roots.as_ref().unwrap_or(&unseen);
    let [stack, handle, finalizer, other] = roots.by_kind.each_ref().map(|t| typical(to, t));
    let [pinning, weak, interior, refcounted] = roots.by_flag.each_ref().map(|t| typical(to, t));
    Some(wire::RootsSum {
        gcs: to.int(roots.gcs),
        total: typical(to, &roots.total),
        holding: typical(to, &roots.holding),
        by_kind: wire::TypicalKinds { stack, handle, finalizer, other },
        by_flag: wire::TypicalFlags { pinning, weak, interior, refcounted },
        promoted_bytes,
        methods: roots.stats.as_ref().map(|h| root_stats::method_sums(to, h)),
        types: roots.stats.as_ref().map(|h| root_stats::type_sums(to, h)),
        pinned: roots.stats.as_ref().map(|h| root_stats::pinned_sums(to, h)),
    })
}

fn typical(to: &mut Convert, tally: &Tally) -> wire::Typical {
    wire::Typical { p50: to.known(tally.median()), max: to.known(tally.max()) }
}
