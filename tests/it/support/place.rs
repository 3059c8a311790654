//! Finds where in the tests an error arose.

use std::backtrace::BacktraceStatus;
use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The variable that makes anyhow capture backtraces. It is read once, at the first error.
pub(crate) const VARIABLE: &str = "RUST_LIB_BACKTRACE";
/// How many places to show: the innermost, and its callers.
const MAX_PLACES: usize = 4;

/// Starts this program again with the variable set, unless it is set already.
pub(crate) fn keep_places() {
    if env::var_os(VARIABLE).is_some() {
        return;
    }
    if let Ok(program) = env::current_exe() {
        // If this fails, errors have no places.
        let _ = Command::new(program).args(env::args_os().skip(1)).env(VARIABLE, "1").exec();
    }
}

/// Lines `at tests/it/killed.rs:52`, the innermost first; empty without a backtrace.
pub(crate) fn places(error: &anyhow::Error) -> String {
    let backtrace = error.backtrace();
    if backtrace.status() != BacktraceStatus::Captured {
        return String::new();
    }
    places_in(&backtrace.to_string())
}

fn places_in(backtrace: &str) -> String {
    let mut places: Vec<&str> = Vec::new();
    for line in backtrace.lines() {
        let Some(place) = line.trim_start().strip_prefix("at ") else { continue };
        let Some(start) = ["tests/it/", "xtask/src/"].iter().find_map(|dir| place.find(dir)) else {
            continue;
        };
        let place = place[start..].rsplit_once(':').map_or(&place[start..], |(place, _column)| place);
        let runner = place.starts_with("tests/it/suite.rs") || place.starts_with("tests/it/mod.rs");
        if !runner && places.last() != Some(&place) {
            places.push(place);
        }
    }
    places.truncate(MAX_PLACES);
    places.iter().map(|place| format!("\nat {place}")).collect()
}
