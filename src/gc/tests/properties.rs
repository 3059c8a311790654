//! Whatever is cut off or lost: a record that calls itself complete is right in every figure, and each collection has
//! one record.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::naive::{self, Expected};
use super::payload;
use super::plan::{Plan, plans};
use super::runtime::{self, Event, What};
use crate::gc::fold::Fold;
use crate::gc::generation::Generation;
use crate::gc::record::{BlockCount, Compacting, Gc, Incomplete, Kind, Level, Pause};
use crate::gc::root_kind::MarkKind;

type Checked = Result<(), TestCaseError>;

/// What the model makes of events; it hears of a loss before each of those in `lost`.
fn fold(plan: &Plan, events: &[Event], lost: &[usize]) -> (Vec<Gc>, (u64, u64)) {
    let (mut fold, mut records) = (Fold::new(false), Vec::new());
    for (n, event) in events.iter().enumerate() {
        if lost.contains(&n) {
            fold.lost(1);
        }
        let (id, payload) = payload::encode(&event.what, plan.pointer_size);
        fold.event(event.in_stream(id, plan.pointer_size, &payload));
        records.extend(std::iter::from_fn(|| fold.take()));
    }
    fold.end();
    records.extend(std::iter::from_fn(|| fold.take()));
    (records, fold.other_suspensions)
}

/// One record for each number.
fn by_number(records: Vec<Gc>) -> Result<BTreeMap<u32, Gc>, TestCaseError> {
    let mut gcs = BTreeMap::new();
    for gc in records {
        let number = gc.number.ok_or_else(|| TestCaseError::fail("no number"))?;
        prop_assert!(gcs.insert(number, gc).is_none(), "GC {} twice", number);
    }
    Ok(gcs)
}

/// What may be wrong in a complete record where events were lost, and the runtime reported that later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sure {
    All,
    /// Not what no other figure speaks for.
    NotAll,
}

fn same(gc: &Gc, expected: &Expected, ranges: bool, sure: Sure) -> Checked {
    prop_assert_eq!(gc.incomplete, None);
    prop_assert_eq!(gc.generation, Some(Generation(expected.generation)));
    prop_assert_eq!(gc.kind, expected.kind);
    prop_assert_eq!(gc.reason.map(|r| r.0), Some(expected.reason));
    prop_assert_eq!(gc.gc_ns, Some(expected.gc_ns));
    prop_assert_eq!(gc.heap_count, Some(expected.heaps));
    prop_assert_eq!(gc.memory_load_percent, Some(payload::MEMORY_LOAD_PERCENT));
    prop_assert_eq!(gc.heaps.len(), expected.heaps as usize);
    prop_assert_eq!(gc.heap_before_bytes, Some(expected.before.values().map(|v| v.0).sum()));
    prop_assert_eq!(gc.heap_after_bytes, Some(expected.after.iter().map(|v| v.0).sum()));
    prop_assert_eq!(gc.promoted_bytes, Some(expected.after.iter().map(|v| v.1).sum()));
    let (pinned, handles, objects, _) = expected.counts;
    prop_assert_eq!((gc.pinned_objects, gc.handles), (Some(pinned), Some(handles)));
    prop_assert_eq!(gc.finalization_objects, Some(objects));
    for (g, stats) in gc.generations.iter().enumerate() {
        prop_assert_eq!(stats.size_before_bytes, expected.before.get(&g).map(|v| v.0));
        prop_assert_eq!(stats.fragmentation_bytes, expected.before.get(&g).map(|v| v.1));
        prop_assert_eq!(stats.size_after_bytes, expected.after.get(g).map(|v| v.0));
        prop_assert_eq!(stats.promoted_bytes, expected.before.get(&g).map(|v| v.2));
    }
    // If no block has ever come, none is known.
    let known = sure == Sure::All || gc.level == Level::Moves && expected.kind != Some(Kind::Background);
    if ranges && known {
        let sum =
            |counts: &[BlockCount]| counts.iter().fold((0, 0), |sum, c| (sum.0 + c.blocks, sum.1 + c.bytes));
        let moved = gc.moved.as_ref().ok_or_else(|| TestCaseError::fail("moved is not known"))?;
        let surviving = gc.surviving.as_ref().ok_or_else(|| TestCaseError::fail("surviving is not known"))?;
        prop_assert_eq!(sum(&[moved.count]), sum(&expected.moved));
        prop_assert_eq!(moved.stayed, expected.stayed);
        prop_assert_eq!(sum(&[surviving.count]), sum(&expected.surviving));
        prop_assert_eq!(gc.level, Level::Moves);
    }
    if sure == Sure::All {
        exactly(gc, expected, ranges)?;
    }
    Ok(())
}

fn exactly(gc: &Gc, expected: &Expected, ranges: bool) -> Checked {
    prop_assert_eq!(gc.trigger_reason, expected.trigger);
    let pauses: Vec<Pause> =
        expected.pauses.iter().map(|p| Pause { phase: expected.phase(p), ..p.clone() }).collect();
    prop_assert_eq!(&gc.pauses, &pauses);
    prop_assert_eq!(gc.at_ns, pauses.first().map(|p| p.at_ns));
    let (caused, own): (Vec<_>, Vec<_>) = pauses.iter().partition(|p| p.caused_by_watching);
    prop_assert_eq!(gc.pause_ns, Some(own.iter().map(|p| p.ns).sum()));
    prop_assert_eq!(gc.caused_by_watching_ns, Some(caused.iter().map(|p| p.ns).sum()));
    prop_assert_eq!(gc.suspend_ns, Some(own.iter().filter_map(|p| p.suspend_ns).sum()));
    prop_assert_eq!(gc.committed_bytes, expected.committed);
    // A background collection's are not its own.
    let marked = expected.marks.get(&7).copied().or(Some(expected.counts.3));
    let finalization_bytes = marked.filter(|_| expected.kind != Some(Kind::Background));
    prop_assert_eq!(gc.finalization_bytes, finalization_bytes);
    for (mark_type, sum) in (0..).zip(&gc.promoted_by) {
        prop_assert_eq!(*sum, expected.marks.get(&mark_type).copied());
    }
    phases(gc, expected)?;
    if ranges {
        for (g, stats) in gc.generations.iter().enumerate() {
            prop_assert_eq!(stats.moved, Some(expected.moved[g]), "moved from {}", Generation::COLLECTED[g]);
            prop_assert_eq!(
                stats.surviving,
                Some(expected.surviving[g]),
                "kept in {}",
                Generation::COLLECTED[g]
            );
        }
    }
    let full = expected.generation == 2;
    prop_assert_eq!(gc.generations[3].compacted, full.then_some(expected.loh_compacted));
    let soh = gc.generations[0].compacted == Some(true);
    prop_assert!(gc.compacting != Some(Compacting::Yes) || soh);
    Ok(())
}

/// The phases of a blocking collection follow each other: the made-up runtime marks from one kind of root after the other.
fn phases(gc: &Gc, expected: &Expected) -> Checked {
    if expected.kind == Some(Kind::Background) {
        prop_assert_eq!(gc.phases, None);
        return Ok(());
    }
    let mut before_ns = expected.started_ns;
    let phases = gc.phases.ok_or_else(|| TestCaseError::fail("the phases are not known"))?;
    for (kind, at_ns) in &expected.marked_at {
        prop_assert_eq!(phases.mark_from(MarkKind(*kind)), Some(at_ns - before_ns));
        before_ns = *at_ns;
    }
    prop_assert_eq!(phases.mark_ns, before_ns - expected.started_ns);
    prop_assert_eq!(phases.rest_ns, expected.gc_ns - phases.mark_ns);
    Ok(())
}

/// An incomplete record has no sum of a part.
fn cut(gc: &Gc, expected: &Expected, why: Incomplete) -> Checked {
    prop_assert_eq!(gc.incomplete, Some(why));
    prop_assert_eq!((gc.pause_ns, gc.at_ns, gc.suspend_ns), (None, None, None));
    prop_assert_eq!(gc.generation, expected.started.then_some(Generation(expected.generation)));
    prop_assert_eq!(gc.reason.map(|r| r.0), expected.started.then_some(expected.reason));
    // What was announced as a background one may yet have run in its first stop.
    let announced = matches!(expected.kind, Some(Kind::Background)) || gc.kind.is_none() && expected.turned;
    prop_assert!(gc.kind == expected.kind.filter(|_| expected.started) || announced && gc.kind.is_none());
    prop_assert_eq!(gc.gc_ns, (expected.started && expected.ended).then_some(expected.gc_ns));
    if why == Incomplete::EndedAfter || !expected.started {
        prop_assert!(gc.moved.is_none() && gc.surviving.is_none());
        prop_assert!(gc.promoted_by.iter().all(Option::is_none));
        prop_assert!(gc.compacting.is_none());
    }
    Ok(())
}

/// Pauses of complete records share no time.
fn apart(gcs: &BTreeMap<u32, Gc>) -> Checked {
    let mut pauses: Vec<_> =
        gcs.values().filter(|gc| gc.complete()).flat_map(|gc| &gc.pauses).map(|p| (p.at_ns, p.ns)).collect();
    pauses.sort_unstable();
    for pair in pauses.windows(2) {
        prop_assert!(pair[0].0 + pair[0].1 <= pair[1].0, "pauses overlap: {:?}", pair);
    }
    Ok(())
}

/// The events, for who has to find out what went wrong.
fn shown(events: &[Event]) -> String {
    let line = |e: &Event| format!("{:>6} thread {} {:?} (gc {:?})\n", e.at_ns, e.thread, e.what, e.gc);
    events.iter().map(line).collect()
}

fn explained(result: Checked, gc: Option<&Gc>, expected: &Expected, events: &[Event]) -> Checked {
    result.map_err(|e| TestCaseError::fail(format!("{e}\n{gc:?}\nexpected {expected:?}\n{}", shown(events))))
}

fn check_cut(plan: &Plan, all: &[Event], visible: &[Event]) -> Checked {
    let (expected, others) = naive::read(all, visible);
    let (records, other_suspensions) = fold(plan, visible, &[]);
    let gcs = by_number(records)?;
    apart(&gcs)?;
    for (number, expected) in &expected {
        let gc = gcs.get(number);
        let result = match (gc, expected.cut) {
            (Some(gc), None) => same(gc, expected, plan.ranges, Sure::All),
            (Some(gc), Some(why)) => cut(gc, expected, why),
            (None, _) if !expected.started && !expected.ended => Ok(()),
            (None, _) => Err(TestCaseError::fail(format!("no record of GC {number}"))),
        };
        explained(result, gc, expected, visible)?;
    }
    for number in gcs.keys() {
        prop_assert!(expected.contains_key(number), "nothing was expected of GC {}", number);
    }
    prop_assert_eq!(other_suspensions, others, "stops for other reasons\n{}", shown(visible));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whole_streams(plan in plans()) {
        let events = runtime::run(&plan);
        let (expected, _) = naive::read(&events, &events);
        for (number, expected) in &expected {
            prop_assert!(expected.whole, "GC {} is not whole: {:?}\n{}", number, expected, shown(&events));
        }
        check_cut(&plan, &events, &events)?;
        // Nothing is lost, and nothing counted twice.
        let (records, _) = fold(&plan, &events, &[]);
        let bytes = |gc: &Gc| {
            let moved = gc.moved.as_ref().map_or(0, |m| m.count.bytes + m.stayed.bytes);
            moved + gc.surviving.as_ref().map_or(0, |s| s.count.bytes)
        };
        let written: u64 = events.iter().map(|event| match &event.what {
            What::Moved { ranges, .. } => ranges.iter().map(|r| r.2).sum(),
            What::Surviving { ranges, .. } => ranges.iter().map(|r| r.1).sum(),
            _ => 0,
        }).sum();
        prop_assert_eq!(records.iter().map(bytes).sum::<u64>(), written);
    }

    #[test]
    fn streams_cut_at_either_end(plan in plans(), from in any::<u16>(), to in any::<u16>()) {
        let events = runtime::run(&plan);
        let place = |n: u16| usize::from(n) % (events.len() + 1);
        let (from, to) = (place(from).min(place(to)), place(from).max(place(to)));
        check_cut(&plan, &events, &events[from..to])?;
        check_cut(&plan, &events, &events[from..])?;
        check_cut(&plan, &events, &events[..to])?;
    }

    /// Several events in a row of one thread are lost. The runtime reports that at once or, mostly, later.
    #[test]
    fn streams_with_losses(
        plan in plans(), from in any::<u16>(), count in 1..8_usize, late in prop_oneof![Just(0_u16), any::<u16>()],
    ) {
        let events = runtime::run(&plan);
        let from = usize::from(from) % events.len();
        let thread = events[from].thread;
        let victims: Vec<usize> =
            (from..events.len()).filter(|n| events[*n].thread == thread).take(count).collect();
        let left: Vec<Event> = events
            .iter()
            .enumerate()
            .filter(|(n, _)| !victims.contains(n))
            .map(|(_, event)| event.clone())
            .collect();
        let at_once = || victims.iter().enumerate().map(|(n, victim)| victim - n).collect::<Vec<_>>();
        let later = at_once().last().map_or(0, |last| last + usize::from(late) % (left.len() + 1 - last));
        let lost = if late == 0 { at_once() } else { vec![later] };
        let (records, _) = fold(&plan, &left, &lost);
        let gcs = by_number(records)?;
        let (expected, _) = naive::read(&events, &left);
        let of_stops = victims.iter().any(|n| events[*n].stop.is_some());
        let sure = if late == 0 && !of_stops { Sure::All } else { Sure::NotAll };
        for (number, expected) in &expected {
            let gc = gcs.get(number);
            let result = match gc {
                Some(gc) if gc.complete() => {
                    prop_assert!(
                        sure == Sure::NotAll || expected.whole,
                        "GC {} is called complete\n{}", number, shown(&left)
                    );
                    // Against what was there before the loss.
                    let (before, _) = naive::read(&events, &events);
                    let mut before = before.into_iter().find(|(n, _)| n == number).unwrap().1;
                    (before.trigger, before.committed) = (expected.trigger, expected.committed);
                    same(gc, &before, plan.ranges, sure)
                }
                Some(_) => Ok(()),
                None if !expected.started && !expected.ended => Ok(()),
                None => Err(TestCaseError::fail(format!("no record of GC {number}"))),
            };
            explained(result, gc, expected, &left)?;
        }
    }
}
