//! gcwatch: every garbage collection of a .NET process, what moved, what survived, what held it.
#![allow(dead_code)]

mod cli;
mod exit;
mod gc;

/// Version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() {}
