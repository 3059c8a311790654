use std::fs;
use std::path::Path;

use super::*;
use crate::gc::facts::BackgroundGc;
use crate::gc::generation::Generation;
use crate::gc::record::{GenerationStats, Incomplete, Kind, Level, Phases, Reason};
use crate::gc::root_kind::MarkKind;

const MB: u64 = 1_000_000;

fn facts() -> Facts {
    let mut facts = Facts::default();
    facts.watch.duration_ns = Some(10_000_000_000);
    facts
}

/// A blocking collection with a pause of 10 ms.
fn gc(generation: Generation, reason: u32) -> Gc {
    let mut gc = Gc::unknown(Level::Basic);
    gc.number = Some(1);
    gc.generation = Some(generation);
    gc.kind = Some(Kind::Blocking);
    gc.reason = Some(Reason(reason));
    gc.pause_ns = Some(10_000_000);
    gc.suspend_ns = Some(100_000);
    gc.heap_after_bytes = Some(100 * MB);
    gc.promoted_bytes = Some(10 * MB);
    let generation = GenerationStats {
        size_before_bytes: Some(20 * MB),
        size_after_bytes: Some(20 * MB),
        promoted_bytes: Some(2 * MB),
        fragmentation_bytes: Some(0),
        ..GenerationStats::default()
    };
    gc.generations = vec![generation; 5];
    gc
}

fn ids(gcs: impl IntoIterator<Item = Gc>) -> Vec<&'static str> {
    let (mut rules, mut summary) = (Rules::default(), Summary::default());
    for gc in gcs {
        rules.add(&gc);
        summary.add(&gc);
    }
    rules.findings(&facts(), &summary).iter().map(|finding| finding.id).collect()
}

/// The ids that are found if a figure is at the bound, and if it is not.
fn at_the_bound(make: impl Fn(bool) -> Vec<Gc>) -> [Vec<&'static str>; 2] {
    [true, false].map(|ill| ids(make(ill)))
}

#[test]
fn each_rule_has_a_page_and_a_bound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/findings");
    let index = fs::read_to_string(root.join("README.md")).expect("the list of pages");
    for id in IDS {
        let page = fs::read_to_string(root.join(format!("{id}.md"))).expect(id);
        assert!(
            page.contains(&format!("The finding `{id}`")) && index.contains(&format!("({id}.md)")),
            "{id}"
        );
    }
    assert_eq!(rules::all().len(), IDS.len());
}

#[test]
fn growth_needs_three_thirds_that_rise() {
    let live = |bytes: u64| {
        let mut gc = gc(Generation::GEN2, 0);
        gc.generations[2].promoted_bytes = Some(bytes);
        gc
    };
    let found = at_the_bound(|ill| vec![live(50 * MB), live(70 * MB), live(if ill { 95 } else { 80 } * MB)]);
    assert_eq!(found, [vec!["heap-growth"], vec![]]);
    // A plateau after the start is no growth.
    assert_eq!(ids([5, 90, 90, 91, 91, 92].map(|mb| live(mb * MB))), Vec::<&str>::new());
}

#[test]
fn large_objects_that_survive_are_needed() {
    let found = at_the_bound(|ill| {
        let mut gc = gc(Generation::GEN2, 4);
        gc.generations[3].promoted_bytes = Some(if ill { 10 } else { 11 } * MB);
        vec![gc; 5]
    });
    assert_eq!(found, [vec!["large-objects"], vec![]]);
}

#[test]
fn watching_without_background_gc_makes_large_objects_a_notice() {
    let (mut rules, mut facts) = (Rules::default(), facts());
    facts.watch.background_gc = BackgroundGc::OffWhileWatched;
    (0..5).for_each(|_| rules.add(&gc(Generation::GEN2, 4)));
    let found = rules.findings(&facts, &Summary::default());
    assert_eq!(found.iter().map(|f| f.severity.name()).collect::<Vec<_>>(), ["notice"]);
}

#[test]
fn induced_collections_count_by_number_and_by_pause() {
    let found = at_the_bound(|ill| {
        let induced = vec![gc(Generation::GEN1, 1); if ill { 3 } else { 2 }];
        [induced, vec![gc(Generation::GEN0, 0); 20]].concat()
    });
    assert_eq!(found, [vec!["induced"], vec![]]);
}

#[test]
fn pinned_objects_matter_if_they_leave_gaps() {
    let found = at_the_bound(|ill| {
        let mut gc = gc(Generation::GEN0, 0);
        gc.pinned_objects = Some(100);
        gc.generations[0].fragmentation_bytes = Some(if ill { 30 } else { 29 } * MB);
        vec![gc; 3]
    });
    assert_eq!(found, [vec!["pinning"], vec![]]);
}

#[test]
fn mid_life_is_dying_in_gen1() {
    let found = at_the_bound(|ill| {
        let mut gc = gc(Generation::GEN1, 0);
        gc.generations[0].size_before_bytes = Some(100 * MB);
        gc.generations[0].promoted_bytes = Some(40 * MB);
        gc.generations[1].promoted_bytes = Some(if ill { 6 } else { 7 } * MB);
        vec![gc; 5]
    });
    assert_eq!(found, [vec!["mid-life"], vec![]]);
}

#[test]
fn suspensions_count_against_the_pauses() {
    let found = at_the_bound(|ill| {
        let mut gc = gc(Generation::GEN0, 0);
        gc.suspend_ns = Some(if ill { 5_000_000 } else { 4_900_000 });
        vec![gc; 5]
    });
    assert_eq!(found, [vec!["slow-suspension"], vec![]]);
}

#[test]
fn free_space_counts_at_the_end() {
    let found = at_the_bound(|ill| {
        let mut gc = gc(Generation::GEN2, 0);
        gc.generations[3].size_after_bytes = Some(140 * MB);
        gc.generations[3].fragmentation_bytes = Some(if ill { 64 } else { 63 } * MB);
        vec![gc; 3]
    });
    assert_eq!(found, [vec!["fragmentation"], vec![]]);
}

#[test]
fn finalizable_garbage_counts_against_all_that_is_promoted() {
    let found = at_the_bound(|ill| {
        let mut gc = gc(Generation::GEN0, 0);
        gc.finalization_bytes = Some(2 * MB);
        gc.finalization_objects = Some(5);
        vec![gc; if ill { 16 } else { 15 }]
    });
    assert_eq!(found, [vec!["finalizable"], vec![]]);
}

#[test]
fn shortage_of_memory_is_what_the_gc_calls_so() {
    let found = at_the_bound(|ill| vec![gc(Generation::GEN2, if ill { 9 } else { 0 }); 3]);
    assert_eq!(found, [vec!["memory-limit"], vec![]]);
}

/// A collection that spends 6 ms of 10 ms on one kind of root, and finds 1 MiB there.
fn marking(kind: MarkKind, ns: u64, bytes: u64) -> Vec<Gc> {
    let mut gc = gc(Generation::GEN0, 0);
    let mut phases = Phases::default();
    phases.marked(kind, ns);
    gc.phases = Some(phases);
    gc.promoted_by[kind.index()] = Some(bytes);
    vec![gc; 5]
}

#[test]
fn marking_counts_where_it_finds_little() {
    for (kind, id) in [
        (MarkKind::STACK, "stacks"),
        (MarkKind::HANDLE, "handles"),
        (MarkKind::OLDER_GENERATION, "older-generations"),
    ] {
        let by_time = at_the_bound(|ill| marking(kind, if ill { 2_000_000 } else { 1_900_000 }, 1 << 20));
        assert_eq!(by_time, [vec![id], vec![]]);
        let by_bytes = at_the_bound(|ill| marking(kind, 6_000_000, if ill { 3 << 20 } else { 4 << 20 }));
        assert_eq!(by_bytes, [vec![id], vec![]]);
    }
}

#[test]
fn time_after_the_collection_is_a_shortage_of_cpu() {
    let found = at_the_bound(|ill| {
        let mut gc = gc(Generation::GEN0, 0);
        gc.phases = Some(Phases::default());
        gc.gc_ns = Some(if ill { 4_900_000 } else { 5_000_000 });
        vec![gc; 5]
    });
    assert_eq!(found, [vec!["cpu-shortage"], vec![]]);
}

#[test]
fn handles_have_to_rise_in_every_third() {
    let with = |handles: u32| {
        let mut gc = gc(Generation::GEN0, 0);
        gc.handles = Some(handles);
        gc
    };
    let of = |last: u32| [10_000, 14_000, last].into_iter().flat_map(|n| vec![with(n); 3]).collect();
    assert_eq!(at_the_bound(|ill| of(if ill { 20_000 } else { 19_999 })), [vec!["handle-growth"], vec![]]);
    assert_eq!(ids([10_000, 90_000, 90_000].into_iter().flat_map(|n| vec![with(n); 3])), Vec::<&str>::new());
}

#[test]
fn blocking_collections_of_gen2_count_by_the_programs_setting() {
    let found = |concurrent, background_gc, gcs: usize| {
        let (mut rules, mut summary, mut facts) = (Rules::default(), Summary::default(), facts());
        facts.target.gc.concurrent = Some(concurrent);
        facts.watch.background_gc = background_gc;
        let full = Gc { pause_ns: Some(25_000_000), ..gc(Generation::GEN2, 0) };
        for gc in vec![full; gcs] {
            rules.add(&gc);
            summary.add(&gc);
        }
        rules.findings(&facts, &summary).iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    assert_eq!(found(true, BackgroundGc::Untouched, 3), ["blocking-gen2"]);
    assert_eq!(found(true, BackgroundGc::Untouched, 2), Vec::<&str>::new());
    assert_eq!(found(true, BackgroundGc::OffWhileWatched, 3), Vec::<&str>::new());
    assert_eq!(found(false, BackgroundGc::None, 3), ["concurrent-off"]);
}

#[test]
fn what_dies_in_gen2_needed_a_larger_gen0() {
    let found = at_the_bound(|ill| {
        let mut young = gc(Generation::GEN1, 0);
        young.generations[0].promoted_bytes = Some(10 * MB);
        young.generations[1].promoted_bytes = Some(7 * MB);
        let mut full = gc(Generation::GEN2, 0);
        full.kind = Some(Kind::Background);
        full.generations[2].promoted_bytes = Some(if ill { 14 } else { 15 } * MB);
        [vec![young; 200], vec![full; 10]].concat()
    });
    assert_eq!(found, [vec!["gen0-budget"], vec![]]);
}

#[test]
fn incomplete_records_are_not_judged() {
    let mut gc = gc(Generation::GEN2, 9);
    gc.incomplete = Some(Incomplete::Lost);
    assert_eq!(ids(vec![gc; 9]), Vec::<&str>::new());
}
