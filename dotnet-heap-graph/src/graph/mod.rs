//! The graph of a file in memory.

mod addresses;
mod class;
mod completeness;
mod details;
mod extra;
mod fill;
mod generation;
mod granules;
mod heap;
mod limits;
mod load;
mod names;
mod offsets;
mod place;
mod reference;
mod root;
mod runs;
mod survey;

pub use self::{
    class::Class,
    completeness::{Completeness, Difference},
    generation::Generation,
    heap::Graph,
    limits::Limits,
    place::Place,
    reference::Edge,
    root::{Root, RootKind},
};
