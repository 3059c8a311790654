//! Two graphs of one process, whose objects are known to be the same or not.

mod common;

use common::Heap;
use dotnet_heap_graph::analysis::{Changes, Earlier, StaticArrays, changes};
use dotnet_heap_graph::{Amount, Dominators};

fn amount(objects: u64, bytes: u64) -> Amount {
    Amount { objects, bytes }
}

/// A heap whose objects have names, by which those of two heaps are the same.
#[derive(Default)]
struct Named {
    heap: Heap,
    names: Vec<&'static str>,
}

impl Named {
    fn object(&mut self, class: &str, bytes: u64, name: &'static str, references: &[usize]) -> usize {
        self.names.push(name);
        self.heap.object(class, bytes, references)
    }

    fn array(&mut self, class: &str, names: &[&'static str], name: &'static str) -> usize {
        let items: Vec<usize> = names.iter().map(|name| self.object(class, 32, name, &[])).collect();
        self.object(&format!("{class}[]"), 24 + 8 * items.len() as u64, name, &items)
    }

    fn static_field(&mut self, object: usize, name: &'static str) {
        self.names.push(name);
        self.heap.static_field(object, name);
    }
}

/// A list of orders with its array, an array of items, and a garbage object.
fn heap(orders: &[&'static str], items: &[&'static str]) -> Named {
    let mut named = Named::default();
    let array = named.array("Order", orders, if orders.len() > 3 { "new array" } else { "old array" });
    let list = named.object("List", 24, "list", &[array]);
    let items = named.array("Item", items, "items");
    named.object("Garbage", 48, "garbage", &[]);
    named.static_field(list, "App.list");
    named.static_field(items, "App.items");
    named
}

fn compare(before: &Named, mut after: Named) -> Changes {
    let addresses = before.heap.addresses();
    for (object, name) in after.names.iter().enumerate() {
        if let Some(old) = before.names.iter().position(|old| old == name) {
            after.heap.identity.push((object, addresses[old]));
        }
    }
    let graph = before.heap.graph();
    let earlier = Earlier::new(&graph, &Dominators::new(&graph));
    let graph = after.heap.graph();
    changes(&earlier, &graph, &Dominators::new(&graph), &StaticArrays::new(&graph)).unwrap()
}

#[test]
fn new_and_gone_objects_by_the_holder_that_stayed() {
    let before = heap(&["a", "b", "c"], &["i", "j"]);
    let found = compare(&before, heap(&["w", "x", "y", "z", "b", "c", "a"], &["j", "k"]));
    assert_eq!(found.contradictions, 0);
    // Four orders, their array, and an item; the old array and an item.
    assert_eq!((found.new, found.gone), (amount(6, 4 * 32 + 80 + 32), amount(2, 48 + 32)));
    assert_eq!(found.survived, amount(8, 3 * 32 + 24 + 32 + 40 + 2 * 32));
    let classes: Vec<_> = found
        .classes
        .iter()
        .map(|row| {
            (row.class.as_str(), row.before.objects, row.after.objects, row.new.objects, row.gone.objects)
        })
        .collect();
    assert_eq!(classes, [("Order", 3, 7, 4, 0), ("Order[]", 1, 1, 1, 1), ("Item", 2, 2, 1, 1)]);
    let holders: Vec<_> =
        found.holders.iter().map(|row| (row.class.as_str(), row.holders, row.new, row.gone)).collect();
    let list = ("Order[]", 1, amount(5, 4 * 32 + 80), amount(1, 48));
    assert_eq!(holders, [list, ("Item", 1, amount(1, 32), amount(1, 32))]);
    assert_eq!(found.holders[0].classes[0], ("Order".into(), amount(4, 128), amount(0, 0)));
}

#[test]
fn nothing_has_changed() {
    let found = compare(&heap(&["a", "b"], &["i"]), heap(&["b", "a"], &["i"]));
    assert_eq!((found.new, found.gone, found.contradictions), Default::default());
    assert!(found.classes.is_empty() && found.holders.is_empty());
    assert_eq!(found.survived.objects, 8);
}

#[test]
fn what_cannot_be_is_counted() {
    // An item was an order, and garbage is none any more.
    let found = compare(&heap(&["a", "b"], &["i"]), heap(&["a", "i"], &["b"]));
    assert_eq!(found.contradictions, 2);
}
