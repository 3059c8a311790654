//! Answers about graphs whose answers are known.

mod common;

use common::Heap;
use dotnet_heap_graph::analysis::*;
use dotnet_heap_graph::format::RootRecord;
use dotnet_heap_graph::{Amount, Dominator, Dominators, Generation, Graph, Place, RootKind};

fn amount(objects: u64, bytes: u64) -> Amount {
    Amount { objects, bytes }
}

fn label(graph: &Graph, class: u32) -> String {
    graph.class(class).map(|class| class.label().into_owned()).unwrap_or_default()
}

fn class_named(graph: &Graph, name: &str) -> u32 {
    graph.classes().iter().find(|class| class.name.as_deref() == Some(name)).unwrap().record.index
}

/// A static field, a list object, and 100 nodes with a payload of 1000 bytes each.
fn list_behind_static() -> Heap {
    let mut heap = Heap::new();
    heap.fields("App.List", &[(8, "head")]);
    heap.fields("App.Node", &[(8, "next"), (16, "payload")]);
    let list = heap.object("App.List", 24, &[1]);
    for i in 0..100 {
        let node = heap.object("App.Node", 32, &[]);
        heap.object("byte[]", 1024, &[]);
        heap.objects[node].references = vec![(1, node + 1)];
        if i < 99 {
            heap.objects[node].references.insert(0, (0, node + 2));
        }
    }
    heap.static_field(list, "App.Cache.list");
    heap
}

#[test]
fn a_list_behind_a_static_field() {
    let graph = list_behind_static().graph();
    let dominators = Dominators::new(&graph);
    let statics = StaticArrays::new(&graph);
    let all = 24 + 100 * (32 + 1024);
    assert_eq!(dominators.reachable(), amount(202, all + 32));

    let big = biggest(&graph, &dominators, &statics, 5);
    assert_eq!(big.len(), 1, "not the array of static fields");
    assert_eq!((big[0].object, big[0].own_bytes, big[0].retained), (0, 24, amount(201, all)));
    let accumulation = &big[0].accumulation;
    assert_eq!(accumulation.way, [0, 1], "the head of the list, not its end");
    assert_eq!(accumulation.children.len(), 2);
    assert_eq!(label(&graph, accumulation.children[0].class), "App.Node");

    let totals = class_totals(&graph, &dominators);
    let node = totals.iter().find(|sums| label(&graph, sums.class) == "App.Node").unwrap();
    assert_eq!(node.all, amount(100, 3200));
    assert_eq!(node.reachable, node.all);
    assert_eq!(node.retained, amount(200, 100 * (32 + 1024)), "once, not once for each node");

    let paths = Paths::new(&graph, &statics).unwrap();
    let last_payload = 200;
    let path = paths.path(last_payload).unwrap().unwrap();
    assert!(matches!(path.root, PathRoot::Static(field) if field.name == "App.Cache.list"));
    let steps: Vec<_> = path.steps.iter().map(|step| (label(&graph, step.class), step.count)).collect();
    assert_eq!(steps, [("App.List".into(), 1), ("App.Node".into(), 100), ("byte[]".into(), 1)]);
    let field = |place: &Option<Place>| match place {
        Some(Place::Field { name, .. }) => name.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(path.steps[0].place, None);
    assert_eq!(field(&path.steps[1].place), "head");
    assert_eq!(field(&path.steps[1].inner), "next");
    assert_eq!(field(&path.steps[2].place), "payload");

    let (root, steps) = retained_by(&graph, &dominators, last_payload).unwrap();
    assert_eq!(root, Dominator::Roots(RootKind::PinnedHandle));
    assert_eq!(steps.iter().map(|step| step.count).collect::<Vec<_>>(), [1, 1, 100, 1]);

    let suspects = suspects(&graph, &dominators, &statics, &paths, 20).unwrap();
    assert_eq!(suspects.len(), 1);
    assert_eq!(suspects[0].what, SuspectKind::Object(0));
    assert!(suspects[0].share_percent > 99.0);
    assert_eq!(suspects[0].accumulation.object, 1);
    assert_eq!(suspects[0].path.as_ref().unwrap().steps.len(), 2);
}

#[test]
fn many_small_objects_of_a_class_are_suspected_together() {
    let mut heap = Heap::new();
    for _ in 0..50 {
        let buffer = heap.object("App.Buffer", 200, &[]);
        heap.handle(buffer);
    }
    let one = heap.object("App.Other", 400, &[]);
    heap.handle(one);
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    let statics = StaticArrays::new(&graph);
    let paths = Paths::new(&graph, &statics).unwrap();
    let suspects = suspects(&graph, &dominators, &statics, &paths, 10).unwrap();
    assert_eq!(suspects.len(), 1);
    assert!(matches!(suspects[0].what, SuspectKind::Class { own, .. } if own == amount(50, 10_000)));
}

#[test]
fn totals_by_generation() {
    let mut heap = Heap::new();
    for i in 0..6 {
        heap.object("Node", 24 + 8 * i, &[]);
    }
    heap.handle(1);
    heap.handle(4);
    heap.ranges = vec![(2, 0, 2), (0, 3, 4)];
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    let totals = totals(&graph, &dominators);
    assert_eq!(totals.all, amount(6, 6 * 24 + 8 * 15));
    assert_eq!(totals.reachable, amount(2, 32 + 56));
    let expected = [
        (Generation::Gen0, amount(2, 48 + 56), amount(1, 56)),
        (Generation::Gen2, amount(3, 24 + 32 + 40), amount(1, 32)),
        (Generation::Unknown, amount(1, 64), amount(0, 0)),
    ];
    let found: Vec<_> =
        totals.generations.iter().map(|sums| (sums.generation, sums.all, sums.reachable)).collect();
    assert_eq!(found, expected);
}

#[test]
fn two_holders_share_and_a_cycle_holds_nothing() {
    let mut heap = Heap::new();
    let shared = heap.object("Shared", 1000, &[]);
    let one = heap.object("Holder", 24, &[shared]);
    let other = heap.object("Holder", 24, &[shared]);
    let a = heap.object("Cycle", 24, &[4]);
    let b = heap.object("Cycle", 24, &[a]);
    heap.handle(one);
    heap.root(other, RootRecord::STACK, 0);
    heap.root(b, RootRecord::HANDLE, RootRecord::WEAK);
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    assert_eq!(dominators.retained(one as u32), amount(1, 24));
    assert_eq!(dominators.dominator(shared as u32), Some(Dominator::AllRoots));
    assert!(!dominators.is_reachable(a as u32) && !dominators.is_reachable(b as u32));

    let roots = root_totals(&graph, &dominators);
    let handles = RootTotals { kind: RootKind::StrongHandle, strong: 1, weak: 1, alone: amount(1, 24) };
    let stack = RootTotals { kind: RootKind::Stack, strong: 1, weak: 0, alone: amount(1, 24) };
    assert_eq!(roots, [handles, stack]);

    let referrers = referrers_of_object(&graph, shared as u32);
    assert_eq!(referrers.len(), 1);
    assert_eq!((referrers[0].objects, referrers[0].references), (2, 2));
    assert_eq!(label(&graph, referrers[0].class), "Holder");
    let cycle = referrers_of_class(&graph, class_named(&graph, "Cycle"));
    assert_eq!((cycle.len(), cycle[0].objects), (1, 2));

    let paths = Paths::new(&graph, &StaticArrays::new(&graph)).unwrap();
    assert_eq!(paths.path(a as u32).unwrap(), None);
    let path = paths.path(shared as u32).unwrap().unwrap();
    assert!(
        matches!(path.root, PathRoot::Root { kind: RootKind::StrongHandle, .. }),
        "handles before stacks"
    );
}

#[test]
fn a_way_from_a_static_field_may_be_longer() {
    let mut heap = Heap::new();
    let target = heap.object("Target", 24, &[]);
    let between = heap.object("Between", 24, &[target]);
    let far = heap.object("Far", 24, &[between]);
    let ready = heap.object("Ready", 24, &[target]);
    heap.root(target, RootRecord::STACK, 0);
    heap.root(ready, RootRecord::FINALIZER, 0);
    heap.static_field(between, "App.between");
    heap.static_field(far, "App.far");
    let graph = heap.graph();
    let paths = Paths::new(&graph, &StaticArrays::new(&graph)).unwrap();
    let path = paths.path(target as u32).unwrap().unwrap();
    assert!(matches!(path.root, PathRoot::Static(field) if field.name == "App.between"));
    assert_eq!(path.steps.len(), 2);
    let path = paths.path(ready as u32).unwrap().unwrap();
    assert!(matches!(path.root, PathRoot::Root { kind: RootKind::Finalizer, .. }));
}

#[test]
fn arrays_with_static_fields_need_no_handle() {
    let mut heap = Heap::new();
    let target = heap.object("App.Target", 24, &[]);
    let dead_target = heap.object("App.Target", 24, &[]);
    let array = heap.object("System.Object[]", 32, &[target]);
    let dead_array = heap.object("System.Object[]", 32, &[dead_target]);
    let loader = heap.object("App.Loader", 24, &[array]);
    heap.handle(loader);
    heap.statics = vec![(array, 16, "App.field".into()), (dead_array, 16, "App.dead".into())];
    let graph = heap.graph();
    let targets = StaticArrays::new(&graph).targets(&graph).unwrap();
    assert_eq!(targets.keys().collect::<Vec<_>>(), [&(target as u32)]);
    let paths = Paths::new(&graph, &StaticArrays::new(&graph)).unwrap();
    let path = paths.path(target as u32).unwrap().unwrap();
    assert!(matches!(path.root, PathRoot::Static(field) if field.name == "App.field"));
    assert!(!paths.is_reachable(dead_target as u32));
}

#[test]
fn long_ways_lose_their_middle() {
    let mut heap = Heap::new();
    for i in 0..1000 {
        let next: &[usize] = if i < 999 { &[i + 1] } else { &[] };
        heap.object(if i % 2 == 0 { "Even" } else { "Odd" }, 24, next);
    }
    heap.handle(0);
    let graph = heap.graph();
    let paths = Paths::new(&graph, &StaticArrays::new(&graph)).unwrap();
    let path = paths.path(999).unwrap().unwrap();
    assert_eq!(path.steps.len(), 200);
    let sum: u64 = path.steps.iter().map(|step| step.count + step.omitted_before).sum();
    assert_eq!(sum, 1000);
    assert_eq!((path.steps[0].object, path.steps[199].object), (0, 999));
    let omitted = &path.steps[100];
    assert_eq!((omitted.omitted_before, omitted.object, &omitted.place), (800, 900, &None));
}

#[test]
fn finalizers_and_dependent_handles_keep() {
    let mut heap = Heap::new();
    let source = heap.object("Source", 24, &[]);
    let inner = heap.object("Inner", 40, &[]);
    let target = heap.object("Target", 24, &[inner]);
    let also_referred = heap.object("Target", 24, &[]);
    let dead_source = heap.object("Source", 24, &[]);
    let dead_target = heap.object("Target", 24, &[]);
    let waiting = heap.object("Waiting", 24, &[]);
    let of_waiting = heap.object("Inner", 48, &[]);
    heap.link(waiting, of_waiting);
    heap.link(source, also_referred);
    heap.dependent = vec![(source, target), (source, also_referred), (dead_source, dead_target)];
    heap.handle(source);
    heap.root(waiting, RootRecord::FINALIZER, 0);
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    assert!(!dominators.is_reachable(dead_target as u32));
    assert_eq!(dominators.dominator(target as u32), Some(Dominator::Object(source as u32)));

    let kept = kept_by_dependent_handles(&graph, &dominators);
    assert_eq!((kept.count, kept.kept), (3, amount(2, 64)));
    assert_eq!(kept.classes.len(), 1);
    assert_eq!((kept.classes[0].own, kept.classes[0].retained), (amount(1, 24), amount(2, 64)));

    let kept = kept_by_finalizers(&graph, &dominators);
    assert_eq!((kept.count, kept.kept), (1, amount(2, 72)));
    assert_eq!(label(&graph, kept.classes[0].class), "Waiting");
    assert_eq!(kept_by_dependent_handles(&Heap::new().graph(), &dominators), Kept::default());
}

#[test]
fn equal_strings() {
    let mut heap = Heap::new();
    let holder = heap.object("Holder[]", 24 + 8 * 12, &[]);
    for i in 0..10 {
        let string = heap.string(40, if i < 6 { 111 } else { 200 + i });
        heap.link(holder, string);
    }
    let other = heap.object("Other", 24, &[1]);
    // Of another length with the same hash, and garbage.
    let longer = heap.string(48, 111);
    heap.link(holder, longer);
    heap.string(40, 111);
    heap.handle(holder);
    heap.handle(other);
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    let found = duplicate_strings(&graph, &dominators, 5).unwrap();
    assert_eq!(found.strings, amount(11, 10 * 40 + 48));
    assert_eq!((found.contents, found.duplicated_contents), (6, 1));
    assert_eq!(found.wasted, amount(5, 200));
    let group = &found.groups[0];
    assert_eq!(
        (group.length, group.strings, group.wasted, group.example),
        (9, amount(6, 240), amount(5, 200), 1)
    );
    let holders: Vec<_> = group
        .holders
        .iter()
        .map(|holder| (label(&graph, holder.class), holder.objects, holder.references))
        .collect();
    assert_eq!(holders, [("Holder[]".into(), 1, 6), ("Other".into(), 1, 1)]);
    assert_eq!(duplicate_strings(&graph, &dominators, 0).unwrap().groups, []);
}

#[test]
fn arrays_that_waste() {
    let mut heap = Heap::new();
    let node = heap.object("Node", 24, &[]);
    let sparse = heap.object("Node[]", 24 + 8 * 20, &[node; 9]);
    let half = heap.object("Node[]", 24 + 8 * 20, &[node; 10]);
    let short = heap.object("Node[]", 24 + 8 * 4, &[]);
    let empty = [heap.object("Node[]", 24, &[]), heap.object("Node[]", 24, &[])];
    let holder = heap.object("Holder", 64, &[sparse, half, short, empty[0], empty[1]]);
    heap.handle(holder);
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    let found = wasted_arrays(&graph, &dominators, 10).unwrap();
    let class = class_named(&graph, "Node[]");
    let expected = SparseArrays {
        class,
        arrays: amount(1, 184),
        elements: 20,
        null_elements: 11,
        worst: sparse as u32,
        worst_null_elements: 11,
    };
    assert_eq!(found.sparse, [expected]);
    assert_eq!((found.empty.len(), found.empty[0].class, found.empty[0].arrays), (1, class, amount(2, 48)));
    assert_eq!((found.empty[0].holders.len(), found.empty[0].holders[0].references), (1, 2));
}

#[test]
fn boxed_values_are_those_of_value_types() {
    let mut heap = Heap::new();
    heap.base("System.Enum", "System.ValueType");
    heap.base("App.Color", "System.Enum");
    heap.base("System.Int32", "System.ValueType");
    heap.base("App.Plain", "System.Object");
    let values: Vec<_> = (0..3).map(|_| heap.object("System.Int32", 24, &[])).collect();
    let color = heap.object("App.Color", 24, &[]);
    let plain = heap.object("App.Plain", 24, &[]);
    let list = heap.object("System.Object[]", 24 + 8 * 5, &[]);
    values.iter().chain([&color, &plain]).for_each(|value| heap.link(list, *value));
    heap.handle(list);
    let graph = heap.graph();
    let found = boxed_values(&graph, &Dominators::new(&graph), 10);
    let names: Vec<_> = found.iter().map(|found| (label(&graph, found.class), found.values)).collect();
    assert_eq!(names, [("System.Int32".into(), amount(3, 72)), ("App.Color".into(), amount(1, 24))]);
    assert_eq!(label(&graph, found[0].holders[0].class), "System.Object[]");
}

#[test]
fn subscribers_that_only_an_event_keeps() {
    let mut heap = Heap::new();
    heap.base("System.EventHandler", "System.MulticastDelegate");
    let publisher = heap.object("App.Publisher", 24, &[1]);
    let event = heap.object("System.EventHandler", 64, &[2]);
    let list = heap.object("System.Object[]", 24 + 8 * 3, &[]);
    for i in 0..3 {
        let data = heap.object("byte[]", 1000 + 8 * i, &[]);
        let page = heap.object("App.Page", 40, &[data]);
        let handler = heap.object("System.EventHandler", 64, &[page]);
        heap.link(list, handler);
        if i == 2 {
            heap.root(page, RootRecord::STACK, 0);
        }
    }
    assert_eq!((event, list), (1, 2));
    heap.handle(publisher);
    let graph = heap.graph();
    let found = delegate_targets(&graph, &Dominators::new(&graph), 10);
    assert_eq!(found.len(), 1);
    assert_eq!(label(&graph, found[0].delegate), "System.EventHandler");
    assert_eq!(label(&graph, found[0].target), "App.Page");
    assert_eq!((found[0].targets, found[0].retained), (amount(2, 80), amount(4, 80 + 1000 + 1008)));
    assert_eq!(found[0].biggest, 7);
}

#[test]
fn work_that_is_not_done() {
    let mut heap = Heap::new();
    heap.base("System.Threading.Tasks.Task`1", "System.Threading.Tasks.Task");
    let boxed = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1[App.Run]";
    heap.base(boxed, "System.Threading.Tasks.Task`1");
    for (class, count) in
        [(boxed, 4), ("System.Threading.Tasks.Task`1", 3), ("System.Threading.TimerQueueTimer", 2)]
    {
        for _ in 0..count {
            let object = heap.object(class, 64, &[]);
            heap.handle(object);
        }
    }
    let graph = heap.graph();
    let dominators = Dominators::new(&graph);
    let found = pending_work(&graph, &class_totals(&graph, &dominators));
    let found: Vec<_> = found.iter().map(|found| (found.kind, found.objects)).collect();
    let expected = [
        (PendingKind::AsyncMethod, amount(4, 256)),
        (PendingKind::Task, amount(3, 192)),
        (PendingKind::Timer, amount(2, 128)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_has_grown() {
    let snapshot = |nodes: usize, others: usize| {
        let mut heap = Heap::new();
        let list = heap.object("List", 24, &[]);
        for _ in 0..nodes {
            let node = heap.object("Node", 32, &[]);
            heap.link(list, node);
        }
        for _ in 0..others {
            let other = heap.object("Other", 40, &[]);
            heap.handle(other);
        }
        heap.handle(list);
        let graph = heap.graph();
        let dominators = Dominators::new(&graph);
        Snapshot::new(&graph, &dominators, &class_totals(&graph, &dominators))
    };
    let difference = snapshot(10, 3).difference(&snapshot(15, 1));
    let classes: Vec<_> = difference
        .classes
        .iter()
        .map(|found| (found.class.as_str(), found.before.reachable, found.after.reachable))
        .collect();
    let expected = [
        ("Node", amount(10, 320), amount(15, 480)),
        ("List", amount(1, 24), amount(1, 24)),
        ("Other", amount(3, 120), amount(1, 40)),
    ];
    assert_eq!(classes, expected, "the list retains more");
    assert_eq!(difference.classes[1].after.retained, amount(16, 504));
    let holders: Vec<_> =
        difference.holders.iter().map(|found| (found.class.as_str(), found.holder.as_str())).collect();
    assert_eq!(holders, [("Node", "List"), ("Other", "")]);
    let same = snapshot(2, 2).difference(&snapshot(2, 2));
    assert!(same.holders.is_empty() && same.classes.iter().all(|found| found.before == found.after));
}
