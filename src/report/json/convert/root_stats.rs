//! Roots by name.

use crate::gc::generation::Generation;
use crate::gc::growth::GrowthRow;
use crate::gc::induced::InducedTotals;
use crate::gc::names::Name;
use crate::gc::root_stats::{RootStats, RootStatsTotals};
use crate::report::json::number::Convert;
use crate::report::json::types::root_stats as wire;

/// Rows of a list in JSON; the model has all of them.
const MAX_ROWS: usize = 100;

/// Whether a list has more rows than are written.
pub(crate) fn cut(stats: &RootStats) -> bool {
    let statics = stats.statics.as_ref().map_or(0, Vec::len);
    [stats.methods.len(), stats.types.len(), stats.pinned.len(), statics].iter().any(|n| *n > MAX_ROWS)
}

fn text(name: &Option<Name>) -> Option<String> {
    name.as_ref().map(|name| name.to_string())
}

pub(crate) fn origins(to: &mut Convert, stats: &RootStats) -> wire::RootOrigins {
    let of = stats.origins;
    wire::RootOrigins { runtime: to.int(of.runtime), app: to.int(of.app), unknown: to.int(of.unknown) }
}

pub(crate) fn methods(to: &mut Convert, stats: &RootStats) -> Vec<wire::RootMethod> {
    let rows = stats.methods.iter().take(MAX_ROWS).map(|m| wire::RootMethod {
        name: m.name.to_string(),
        slots: to.int(m.slots),
        objects: to.int(m.objects),
        pinned_slots: to.int(m.pinned_slots),
    });
    rows.collect()
}

pub(crate) fn types(to: &mut Convert, stats: &RootStats) -> Vec<wire::RootType> {
    let rows = stats.types.iter().take(MAX_ROWS).map(|t| wire::RootType {
        name: t.name.to_string(),
        kind: t.kind.name(),
        flags: t.flags.names().collect(),
        count: to.int(t.count),
        bytes: to.int(t.bytes),
        generation: t.generation.map(Generation::name),
    });
    rows.collect()
}

pub(crate) fn statics(to: &mut Convert, stats: &RootStats) -> Option<Vec<wire::RootStatic>> {
    let rows = stats.statics.as_ref()?.iter().take(MAX_ROWS).map(|s| wire::RootStatic {
        field: s.field.to_string(),
        type_name: s.type_name.to_string(),
        bytes: to.int(s.bytes),
        generation: s.generation.map(Generation::name),
        thread_static: s.thread_static,
    });
    Some(rows.collect())
}

pub(crate) fn pinned(to: &mut Convert, stats: &RootStats) -> Vec<wire::Pinned> {
    let rows = stats.pinned.iter().take(MAX_ROWS).map(|p| wire::Pinned {
        type_name: p.type_name.to_string(),
        by: p.by,
        handle_type: p.handle_type,
        created_by: text(&p.allocated_by),
        generation: p.generation.map(Generation::name),
        count: to.int(p.count),
        bytes: to.int(p.bytes),
        seen_in_gcs: to.int(p.seen_in_gcs),
    });
    rows.collect()
}

pub(crate) fn triggered_by(frames: &[Name]) -> wire::TriggeredBy {
    wire::TriggeredBy { frames: frames.iter().map(|name| name.to_string()).collect() }
}

pub(crate) fn growth(to: &mut Convert, rows: Vec<GrowthRow>) -> Vec<wire::Growth> {
    let rows = rows.iter().map(|row| wire::Growth {
        what: row.source.name(),
        type_name: row.type_name.to_string(),
        field: text(&row.field),
        count: wire::FirstLast { first: to.int(row.first.count), last: to.int(row.last.count) },
        bytes: wire::FirstLast { first: to.int(row.first.bytes), last: to.int(row.last.bytes) },
        at_least: row.at_least,
    });
    rows.collect()
}

pub(crate) fn induced(to: &mut Convert, sum: &InducedTotals) -> Option<Vec<wire::InducedBy>> {
    let rows = sum.rows()?;
    let rows = rows.iter().take(MAX_ROWS).map(|row| wire::InducedBy {
        method: row.method.to_string(),
        count: to.int(row.count),
        pause_ns: to.int(row.pause_ns),
    });
    Some(rows.collect())
}

pub(crate) fn method_sums(to: &mut Convert, sum: &RootStatsTotals) -> Vec<wire::MethodSum> {
    let rows = sum.methods().into_iter().take(MAX_ROWS).map(|m| wire::MethodSum {
        name: m.name.to_string(),
        gcs: to.int(m.gcs),
        slots: to.int(m.slots),
        pinned_slots: to.int(m.pinned_slots),
    });
    rows.collect()
}

pub(crate) fn type_sums(to: &mut Convert, sum: &RootStatsTotals) -> Vec<wire::TypeSum> {
    let rows = sum.types().into_iter().take(MAX_ROWS).map(|t| wire::TypeSum {
        name: t.name.to_string(),
        kind: t.kind.name(),
        gcs: to.int(t.gcs),
        count: wire::MaxLast { max: to.int(t.max_count), last: to.int(t.last_count) },
        bytes: wire::MaxLast { max: to.int(t.max_bytes), last: to.int(t.last_bytes) },
    });
    rows.collect()
}

pub(crate) fn pinned_sums(to: &mut Convert, sum: &RootStatsTotals) -> Vec<wire::PinnedSum> {
    let rows = sum.pinned().into_iter().take(MAX_ROWS).map(|p| wire::PinnedSum {
        type_name: p.type_name.to_string(),
        by: p.by,
        handle_type: p.handle_type,
        created_by: text(&p.allocated_by),
        generation: p.generation.map(Generation::name),
        gcs: to.int(p.gcs),
        max_count: to.int(p.max_count),
        max_bytes: to.int(p.max_bytes),
        seen_in_gcs: to.int(p.seen_in_gcs),
    });
    rows.collect()
}
