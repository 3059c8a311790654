//! The record of one garbage collection.

mod blocks;
mod gc;
mod kinds;
mod phases;
mod roots;

pub(crate) use blocks::{
    Allocated, BlockCount, GenerationStats, HeapStats, Moved, MovedRange, Surviving, SurvivingRange,
    Transition,
};
pub(crate) use gc::{Cost, Gc, Missing, Pause};
pub(crate) use kinds::{Compacting, Incomplete, Kind, Level, Phase, Reason};
pub(crate) use phases::Phases;
pub(crate) use roots::{Root, RootCount, Roots};
