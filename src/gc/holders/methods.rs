//! Stack roots by the method whose frame they are in.

use std::cmp::Reverse;

use super::{MethodRow, Row};
use crate::gc::map::{HashMap, HashSet};
use crate::gc::names::{Name, Origin, Tables};

/// The methods with most slots first. Code that shares a name shares a row.
pub(super) fn methods(rows: &[Row], names: &mut Tables) -> Vec<MethodRow> {
    let mut found: HashMap<Name, (MethodRow, HashSet<u64>)> = HashMap::default();
    for row in rows.iter().filter(|r| r.kind == 0) {
        let name = names.method_name(row.id);
        let own = names.method_origin(row.id) == Origin::App;
        let (method, objects) = found.entry(name.clone()).or_insert_with(|| {
            (MethodRow { name, slots: 0, objects: 0, pinned_slots: 0, own }, HashSet::default())
        });
        method.slots += row.count;
        method.pinned_slots += if row.pinning() { row.count } else { 0 };
        if objects.insert(row.object) {
            method.objects += 1;
        }
    }
    let mut methods: Vec<MethodRow> = found.into_values().map(|(method, _)| method).collect();
    methods.sort_by(|a, b| Reverse(a.slots).cmp(&Reverse(b.slots)).then_with(|| a.name.cmp(&b.name)));
    methods
}
