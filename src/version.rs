//! The version of gcwatch.

/// Of the program, of the reports, and of the profiler library in it.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
