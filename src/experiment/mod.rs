//! Compares several runs of programs: which differences are more than the spread between runs, and which variant is best.
//! Knows numbers and settings, and starts nothing.

mod comparison;
mod gate;
mod goal;
mod measure;
mod needed;
mod normal;
mod rank_sum;
mod results;
mod setting;
mod shift;
mod variant;

pub(crate) use comparison::{Comparison, FAMILY_ERROR, MIN_EFFECT_PERCENT, Outcome, compared, judge};
pub(crate) use gate::{Gated, gate, gates};
pub(crate) use goal::{Goal, Winner, winner};
pub(crate) use measure::{Direction, Measure, OWN, Source, measures, without_collections};
pub(crate) use needed::{for_change as runs_for_change, to_judge};
pub(crate) use results::{Results, Run, Side};
pub(crate) use setting::{Variables, fragment};
pub(crate) use shift::{median, spread};
pub(crate) use variant::{Seen, Variant, default_variants, not_taken_over, rotation};
