//! gcwatch: every garbage collection of a .NET process, what moved, what survived, what held it.

mod gc;

fn main() {}
