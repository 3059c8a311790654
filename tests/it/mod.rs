//! The tests by subject.

mod attach;
mod azmcp;
mod blocks;
mod careful;
mod command_line;
mod configuration;
mod descriptors;
mod detach;
mod diff;
mod documented;
mod dynamic_methods;
mod each_gc;
mod endless;
mod environment;
mod errors_input;
mod errors_target;
mod facts;
mod filtered;
mod follow;
mod foreign;
mod formats;
mod generations;
mod grandchild;
mod handle_storm;
mod heaps;
mod hostile;
mod hostile_output;
mod hostile_places;
mod hostile_recordings;
mod hostile_settings;
mod identity;
mod inflated;
mod killed;
mod left_behind;
mod levels;
mod loaded_late;
mod lost;
mod modes;
mod moves;
mod named_tests;
mod names;
mod old_callbacks;
mod other_profiler;
mod output_files;
mod overlapping;
mod promoted;
mod racer;
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
mod stopped;
mod suite;
mod sums;
mod support;
mod trace_event;
mod unloading;
mod verdict;
mod verification;

use std::io::Write;
use std::process::ExitCode;

use suite::Suite;
use support::keep_places;

/// Finds the runtimes (or fetches one) and runs the tests.
pub(crate) fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(racer::OPTION) {
        return racer::main(&arguments.collect::<Vec<_>>());
    }
    keep_places();
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
        endless::register,
        environment::register,
        left_behind::register,
        follow::register,
        foreign::register,
        attach::register,
        detach::register,
        descriptors::register,
        stopped::register,
        filtered::register,
        careful::register,
        sampled::register,
        blocks::register,
        moves::register,
        names::register,
        unloading::register,
        handle_storm::register,
        dynamic_methods::register,
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
        output_files::register,
        overlapping::register,
        hostile_output::register,
        hostile_recordings::register,
        hostile_settings::register,
        sums::register,
        trace_event::register,
        killed::register,
        loaded_late::register,
        errors_target::register,
        hostile::register,
        hostile_places::register,
        inflated::register,
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
        // These know the names of all before them.
        named_tests::register,
        verification::register,
    ] {
        register(&mut suite);
    }
    suite.run()
}
