//! What `build.rs` varies for tests and benchmarks. Released builds have the defaults.

use crate::hresult::{E_FAIL, HResult, S_OK};

/// Version of the last `ICorProfilerCallback` that the library answers to. A lower one makes every runtime treat it
/// like a runtime that knows no later version (`NETCORE_PROFILER_MAX_CALLBACK`).
pub const LATEST_CALLBACK: usize = if cfg!(max_callback = "2") {
    2
} else if cfg!(max_callback = "3") {
    3
} else if cfg!(max_callback = "4") {
    4
} else if cfg!(max_callback = "9") {
    9
} else if cfg!(max_callback = "10") {
    10
} else {
    11
};

/// Whether the runtime delivers events of in-process sessions: `ICorProfilerCallback10` added
/// `EventPipeEventDelivered`.
pub(crate) const EVENTS_ARE_DELIVERED: bool = LATEST_CALLBACK >= 10;

/// Whether only the first versions of the range and root callbacks are used. Every runtime that .NET supports calls
/// `RootReferences2`, which is older than the other second versions, so such a build ignores it.
pub(crate) const FIRST_VERSIONS_ONLY: bool = LATEST_CALLBACK < 4;

/// A benchmark build that keeps `COR_PRF_MONITOR_GC` on and answers `S_OK` to every callback: what a naive profiler
/// costs.
pub(crate) const PLAIN: bool = cfg!(measured = "plain");

/// What benchmark builds return from the range and root callbacks before they look at the data: `floor` is late arming
/// with such callbacks, the least that a profiler can cost.
pub(crate) const EMPTY_ANSWER: Option<HResult> = if PLAIN {
    Some(S_OK)
} else if cfg!(measured = "floor") {
    Some(E_FAIL)
} else {
    None
};
