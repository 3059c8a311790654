//! The program gcwatch.

use std::process::ExitCode;

fn main() -> ExitCode {
    gcwatch::main()
}
