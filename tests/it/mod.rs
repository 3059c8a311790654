//! The tests, in one folder per subject. The name of each test begins with the name of its file.

mod client;
mod commands;
mod documentation;
mod figures;
mod graph;
mod hostile;
mod level;
mod lifecycle;
mod output;
mod racer;
mod recording;
mod suite;
mod support;

use std::io::Write;
use std::process::ExitCode;

use suite::Suite;
use support::{keep_places, prepare_program};

/// Finds the runtimes (or fetches one) and runs the tests.
pub(crate) fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(racer::OPTION) {
        return racer::main(&arguments.collect::<Vec<_>>());
    }
    keep_places();
    let clrs = match prepare_program().and_then(|()| xtask::clr::find_all()) {
        Ok(clrs) => clrs,
        Err(error) => {
            // Stderr may be closed; then the exit code alone reports the failure.
            let _ = writeln!(std::io::stderr(), "there is nothing to test: {error:?}");
            return ExitCode::from(101);
        }
    };
    let mut suite = Suite::new(clrs);
    for files in [
        client::FILES,
        lifecycle::FILES,
        level::FILES,
        figures::FILES,
        graph::FILES,
        recording::FILES,
        output::FILES,
        hostile::FILES,
        commands::FILES,
        // Must be last: it checks the names of all other tests.
        documentation::FILES,
    ] {
        suite.register(files);
    }
    suite.run()
}
