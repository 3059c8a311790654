//! The tests by subject.

mod attach;
mod azmcp;
mod blocks;
mod command_line;
mod configuration;
mod detach;
mod diff;
mod documented;
mod each_gc;
mod errors_input;
mod errors_target;
mod facts;
mod follow;
mod foreign;
mod formats;
mod generations;
mod grandchild;
mod heaps;
mod identity;
mod killed;
mod levels;
mod lost;
mod modes;
mod moves;
mod names;
mod old_callbacks;
mod other_profiler;
mod promoted;
mod record;
mod recording_files;
mod replayed;
mod roots;
mod roots_frames;
mod roots_held;
mod rotation;
mod run_child;
mod run_document;
mod run_output;
mod run_signals;
mod sampled;
mod suite;
mod sums;
mod support;
mod trace_event;
mod verdict;
mod verification;

use std::io::Write;
use std::process::ExitCode;

use suite::Suite;

/// Finds the runtimes (or fetches one) and runs the tests.
pub(crate) fn main() -> ExitCode {
    let clrs = match xtask::clr::find_all() {
        Ok(clrs) => clrs,
        Err(error) => {
            // Without stderr there is nobody to tell; the code says it too.
            let _ = writeln!(std::io::stderr(), "no runtime to test on: {error:?}");
            return ExitCode::from(101);
        }
    };
    let mut suite = Suite::new(clrs);
    for register in [
        run_document::register,
        run_child::register,
        run_output::register,
        run_signals::register,
        grandchild::register,
        follow::register,
        foreign::register,
        attach::register,
        detach::register,
        sampled::register,
        blocks::register,
        moves::register,
        names::register,
        identity::register,
        old_callbacks::register,
        roots::register,
        each_gc::register,
        roots_held::register,
        roots_frames::register,
        modes::register,
        promoted::register,
        levels::register,
        generations::register,
        heaps::register,
        lost::register,
        record::register,
        replayed::register,
        rotation::register,
        recording_files::register,
        sums::register,
        trace_event::register,
        killed::register,
        errors_target::register,
        errors_input::register,
        facts::register,
        other_profiler::register,
        azmcp::register,
        formats::register,
        verdict::register,
        diff::register,
        configuration::register,
        command_line::register,
        documented::register,
        // Knows the names of all before it.
        verification::register,
    ] {
        register(&mut suite);
    }
    suite.run()
}
