//! Tests of the other commands, of options, assertions and exit codes.

pub(crate) mod command_line;
pub(crate) mod completions;
pub(crate) mod configuration;
pub(crate) mod diff;
pub(crate) mod errors_input;
pub(crate) mod errors_target;
pub(crate) mod gate_study;
pub(crate) mod ps;
pub(crate) mod repeat;
pub(crate) mod try_gc;
pub(crate) mod verdict;

use super::suite::files;

files!(
    command_line,
    completions,
    configuration,
    diff,
    errors_input,
    errors_target,
    gate_study,
    ps,
    repeat,
    try_gc,
    verdict
);
