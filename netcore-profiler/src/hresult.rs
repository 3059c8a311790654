//! Answers to the runtime. `InitializeForAttach`'s answer reaches the one who attached, so each
//! reason to refuse has its own value, with the customer bit set to stand apart from the runtime's.

/// A COM result: negative means failure.
pub type HResult = i32;

/// Success.
pub const S_OK: HResult = 0;
/// `CORPROF_E_UNSUPPORTED_CALL_SEQUENCE`: not on this thread, or not now.
pub const UNSUPPORTED_CALL_SEQUENCE: HResult = 0x8013_1363_u32 as i32;
/// Not more than "no".
pub const E_FAIL: HResult = 0x8000_4005_u32 as i32;
/// A null pointer where none is allowed.
pub const E_POINTER: HResult = 0x8000_4003_u32 as i32;
/// The interface is not implemented.
pub const E_NOINTERFACE: HResult = 0x8000_4002_u32 as i32;
/// The method is not implemented.
pub const E_NOTIMPL: HResult = 0x8000_4001_u32 as i32;
/// The class does not take part in an aggregate.
pub const CLASS_E_NOAGGREGATION: HResult = 0x8004_0110_u32 as i32;
/// No such class in this library.
pub const CLASS_E_CLASSNOTAVAILABLE: HResult = 0x8004_0111_u32 as i32;
/// There is no configuration: not loaded by gcwatch.
pub const CONFIG_MISSING: HResult = 0xa047_0001_u32 as i32;
/// The configuration is not in the form of [`config`](crate::config).
pub const CONFIG_MALFORMED: HResult = 0xa047_0002_u32 as i32;
/// The configuration is of another version of gcwatch.
pub const CONFIG_VERSION: HResult = 0xa047_0003_u32 as i32;
/// The runtime has no `ICorProfilerInfo12`: it is older than .NET 5.
pub const RUNTIME_TOO_OLD: HResult = 0xa047_0004_u32 as i32;
/// Memory for the accumulators could not be mapped.
pub const NO_MEMORY: HResult = 0xa047_0005_u32 as i32;
/// The profiler of an earlier attach has not finished leaving; try again.
pub const STILL_LEAVING: HResult = 0xa047_0006_u32 as i32;
/// The EventPipe provider or its events could not be made.
pub const NO_PROVIDER: HResult = 0xa047_0007_u32 as i32;
/// The library could not be kept in memory for good, without which it may not start a thread.
pub const NOT_PINNED: HResult = 0xa047_0008_u32 as i32;
/// The lease could not be connected, and this runtime has no other way to tell when to leave.
pub const NO_LEASE: HResult = 0xa047_0009_u32 as i32;
/// The thread that keeps the lease could not be started.
pub const NO_THREAD: HResult = 0xa047_000a_u32 as i32;

/// Whether a result is a success.
#[must_use]
pub const fn succeeded(result: HResult) -> bool {
    result >= 0
}

/// The value if the result is a success.
///
/// # Errors
/// The result, if it is a failure.
pub const fn checked<T: Copy>(result: HResult, value: T) -> Result<T, HResult> {
    if succeeded(result) { Ok(value) } else { Err(result) }
}
