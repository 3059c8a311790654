//! Heap graphs: whether they are true, and that taking them harms nobody.

pub(crate) mod again;
pub(crate) mod answers;
pub(crate) mod at;
pub(crate) mod bounds;
pub(crate) mod browse;
pub(crate) mod endurance;
pub(crate) mod exchange;
pub(crate) mod figures;
pub(crate) mod harm;
pub(crate) mod memory_limit;
pub(crate) mod pause;
pub(crate) mod shortage;
pub(crate) mod taken;

use super::suite::files;

files!(
    again,
    answers,
    at,
    bounds,
    browse,
    endurance,
    exchange,
    figures,
    harm,
    memory_limit,
    pause,
    shortage,
    taken,
);
