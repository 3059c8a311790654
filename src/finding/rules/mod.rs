//! The rules, one per file. Their bounds come from programs that have the disease and programs that have not.

mod finalizable;
mod fragmentation;
mod growth;
mod induced;
mod large_objects;
mod memory_limit;
mod mid_life;
mod pinning;
mod suspension;

use super::rule::Rule;

/// The ids of all findings, in alphabetical order.
pub(crate) const IDS: [&str; 9] = [
    finalizable::ID,
    fragmentation::ID,
    growth::ID,
    induced::ID,
    large_objects::ID,
    memory_limit::ID,
    mid_life::ID,
    pinning::ID,
    suspension::ID,
];

/// A rule of each kind that has seen nothing yet.
pub(super) fn all() -> Vec<Box<dyn Rule>> {
    vec![
        Box::<finalizable::Finalizable>::default(),
        Box::<fragmentation::Fragmentation>::default(),
        Box::<growth::Growth>::default(),
        Box::<induced::Induced>::default(),
        Box::<large_objects::LargeObjects>::default(),
        Box::<memory_limit::MemoryLimit>::default(),
        Box::<mid_life::MidLife>::default(),
        Box::<pinning::Pinning>::default(),
        Box::<suspension::Suspension>::default(),
    ]
}
