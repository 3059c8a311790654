use std::fs;
use std::path::Path;

use super::*;
use crate::gc::facts::BackgroundGc;
use crate::gc::generation::Generation;
use crate::gc::record::{GenerationStats, Incomplete, Kind, Level, Reason};

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

#[test]
fn incomplete_records_are_not_judged() {
    let mut gc = gc(Generation::GEN2, 9);
    gc.incomplete = Some(Incomplete::Lost);
    assert_eq!(ids(vec![gc; 9]), Vec::<&str>::new());
}
