//! The rules. Their bounds come from programs that have the disease and programs that have not.

mod blocking_gen2;
mod cpu_shortage;
mod finalizable;
mod fragmentation;
mod gen0_budget;
mod growth;
mod handle_growth;
mod induced;
mod large_objects;
mod marking;
mod memory_limit;
mod mid_life;
mod pinning;
mod suspension;

use super::rule::Rule;
use blocking_gen2::{Background, BlockingGen2};
use marking::{From, Marking};

/// The ids of all findings, in alphabetical order.
pub(crate) const IDS: [&str; 17] = [
    Background::On.id(),
    Background::Off.id(),
    cpu_shortage::ID,
    finalizable::ID,
    fragmentation::ID,
    gen0_budget::ID,
    handle_growth::ID,
    From::Handles.id(),
    growth::ID,
    induced::ID,
    large_objects::ID,
    memory_limit::ID,
    mid_life::ID,
    From::OlderGenerations.id(),
    pinning::ID,
    suspension::ID,
    From::Stacks.id(),
];

/// A rule of each kind that has seen nothing yet.
pub(super) fn all() -> Vec<Box<dyn Rule>> {
    vec![
        Box::new(BlockingGen2::new(Background::On)),
        Box::new(BlockingGen2::new(Background::Off)),
        Box::<cpu_shortage::CpuShortage>::default(),
        Box::<finalizable::Finalizable>::default(),
        Box::<fragmentation::Fragmentation>::default(),
        Box::<gen0_budget::Gen0Budget>::default(),
        Box::<handle_growth::HandleGrowth>::default(),
        Box::new(Marking::new(From::Handles)),
        Box::<growth::Growth>::default(),
        Box::<induced::Induced>::default(),
        Box::<large_objects::LargeObjects>::default(),
        Box::<memory_limit::MemoryLimit>::default(),
        Box::<mid_life::MidLife>::default(),
        Box::new(Marking::new(From::OlderGenerations)),
        Box::<pinning::Pinning>::default(),
        Box::<suspension::Suspension>::default(),
        Box::new(Marking::new(From::Stacks)),
    ]
}
