//! The program gcwatch.

fn main() {
    // An exit code of Windows has 32 bits, more than `std::process::ExitCode` takes.
    std::process::exit(gcwatch::main())
}
