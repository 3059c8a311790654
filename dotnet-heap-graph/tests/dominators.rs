//! Dominators are those that the definition gives.

mod common;

use std::collections::BTreeSet;

use common::Heap;
use dotnet_heap_graph::format::RootRecord;
use dotnet_heap_graph::{Amount, Dominator, Dominators, RootKind};
use proptest::prelude::*;

const KINDS: [(u8, u8); 4] = [
    (RootRecord::STACK, 0),
    (RootRecord::HANDLE, 0),
    (RootRecord::HANDLE, RootRecord::WEAK),
    (RootRecord::FINALIZER, 0),
];

/// What can be reached without one object and without one kind of root.
fn reach(heap: &Heap, without: Option<usize>, without_kind: Option<usize>) -> BTreeSet<usize> {
    let strong = heap.roots.iter().filter(|(_, kind, flags, _)| {
        let index = KINDS.iter().position(|known| known == &(*kind, *flags)).unwrap();
        index != 2 && Some(index) != without_kind
    });
    let mut open: Vec<usize> = strong.map(|root| root.0).collect();
    let mut found = BTreeSet::new();
    while let Some(object) = open.pop() {
        if Some(object) == without || !found.insert(object) {
            continue;
        }
        open.extend(heap.objects[object].references.iter().map(|(_, to)| *to));
        open.extend(heap.dependent.iter().filter(|(from, _)| *from == object).map(|(_, to)| *to));
    }
    found
}

fn check(heap: &Heap) {
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    let all = reach(heap, None, None);
    let retained = |objects: &BTreeSet<usize>| Amount {
        objects: objects.len() as u64,
        bytes: objects.iter().map(|object| heap.objects[*object].size_units * 8).sum(),
    };
    assert_eq!(dominators.reachable(), retained(&all));
    let dominated: Vec<BTreeSet<usize>> =
        (0..heap.objects.len()).map(|object| &all - &reach(heap, Some(object), None)).collect();
    for (object, below) in dominated.iter().enumerate() {
        let number = object as u32;
        assert_eq!(dominators.is_reachable(number), all.contains(&object));
        assert_eq!(dominators.retained(number), retained(below));
        for other in 0..heap.objects.len() {
            assert_eq!(
                dominators.dominates(number, other as u32),
                below.contains(&other),
                "{object} {other}"
            );
        }
        // The nearest of all that dominate it is the one that dominates the fewest.
        let above =
            (0..heap.objects.len()).filter(|above| *above != object && dominated[*above].contains(&object));
        let nearest = above.min_by_key(|above| dominated[*above].len());
        match dominators.dominator(number) {
            Some(Dominator::Object(found)) => {
                assert_eq!(Some(found as usize), nearest);
                assert!(dominators.children(found).any(|child| child == number));
            }
            None => assert!(!all.contains(&object)),
            Some(_) => {
                assert_eq!(nearest, None);
                assert!(dominators.top().any(|top| top == number));
            }
        }
    }
    let strong = [(0, RootKind::Stack), (1, RootKind::StrongHandle), (3, RootKind::Finalizer)];
    for (kind, name) in strong {
        let alone = &all - &reach(heap, None, Some(kind));
        assert_eq!(dominators.retained_by_roots(name), retained(&alone), "{name:?}");
    }
    assert_eq!(dominators.retained_by_roots(RootKind::PinnedHandle), Amount::default());
    let order: Vec<_> = dominators.in_order().collect();
    assert_eq!(order.iter().map(|entry| entry.object as usize).collect::<BTreeSet<_>>(), all);
    for entry in &order {
        let inside =
            |other: &&dotnet_heap_graph::Ordered| (entry.position..entry.end).contains(&other.position);
        let below: BTreeSet<_> = order.iter().filter(inside).map(|entry| entry.object as usize).collect();
        assert_eq!(below, dominated[entry.object as usize]);
        assert_eq!(entry.retained, dominators.retained(entry.object));
    }
}

fn heaps(objects: usize, references: usize) -> impl Strategy<Value = Heap> {
    let links = prop::collection::vec((0..objects, 0..objects), 0..references);
    let roots = prop::collection::vec((0..objects, 0usize..4), 0..5);
    let dependent = prop::collection::vec((0..objects, 0..objects), 0..3);
    (links, roots, dependent, 1..=objects).prop_map(move |(links, roots, dependent, len)| {
        let mut heap = Heap::new();
        for object in 0..len {
            heap.object("Node", 24 + 8 * (object as u64 % 5), &[]);
        }
        links.into_iter().for_each(|(from, to)| heap.link(from % len, to % len));
        for (object, kind) in roots {
            heap.root(object % len, KINDS[kind].0, KINDS[kind].1);
        }
        heap.dependent = dependent.into_iter().map(|(from, to)| (from % len, to % len)).collect();
        heap
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn small_graphs(heap in heaps(7, 20)) {
        check(&heap);
    }

    #[test]
    fn larger_graphs(heap in heaps(30, 60)) {
        check(&heap);
    }
}

#[test]
fn a_long_list_needs_no_recursion() {
    let mut heap = Heap::new();
    let len = 300_000;
    for object in 0..len {
        let next: &[usize] = if object + 1 < len { &[object + 1] } else { &[] };
        heap.object("Node", 24, next);
    }
    heap.handle(0);
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    for object in [0, 1, 1000, len - 1] {
        assert_eq!(dominators.retained(object as u32).objects, (len - object) as u64);
    }
    assert_eq!(dominators.dominator(0), Some(Dominator::Roots(RootKind::StrongHandle)));
    assert_eq!(dominators.dominator(5), Some(Dominator::Object(4)));
}

#[test]
fn two_kinds_of_roots_share() {
    let mut heap = Heap::new();
    let shared = heap.object("Node", 24, &[]);
    let one = heap.object("Node", 32, &[shared]);
    let other = heap.object("Node", 40, &[shared]);
    heap.handle(one);
    heap.root(other, RootRecord::STACK, 0);
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    assert_eq!(dominators.dominator(shared as u32), Some(Dominator::AllRoots));
    assert_eq!(dominators.retained_by_roots(RootKind::StrongHandle), Amount { objects: 1, bytes: 32 });
    assert_eq!(dominators.retained_by_roots(RootKind::Stack), Amount { objects: 1, bytes: 40 });
    let mut top: Vec<_> = dominators.top().collect();
    top.sort_unstable();
    assert_eq!(top, [0, 1, 2]);
}
