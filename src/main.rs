//! gcwatch.
//!
fn main() {}
