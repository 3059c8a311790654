//! Results of COM methods. The result of `InitializeForAttach` reaches gcwatch, so each reason to refuse has a value of
//! its own, with the customer bit set, which the runtime's results do not have.

/// A COM result: negative means failure.
pub type HResult = i32;

/// Success.
pub const S_OK: HResult = 0;
/// `CORPROF_E_UNSUPPORTED_CALL_SEQUENCE`: not allowed on this thread, or not now.
pub const UNSUPPORTED_CALL_SEQUENCE: HResult = 0x8013_1363_u32 as i32;
/// Unspecified failure.
pub const E_FAIL: HResult = 0x8000_4005_u32 as i32;
/// A pointer is null that must not be.
pub const E_POINTER: HResult = 0x8000_4003_u32 as i32;
/// The interface is not implemented.
pub const E_NOINTERFACE: HResult = 0x8000_4002_u32 as i32;
/// The class does not support aggregation.
pub const CLASS_E_NOAGGREGATION: HResult = 0x8004_0110_u32 as i32;
/// The library does not have this class.
pub const CLASS_E_CLASSNOTAVAILABLE: HResult = 0x8004_0111_u32 as i32;
/// There is no configuration: gcwatch did not load the profiler.
pub const CONFIG_MISSING: HResult = 0xa047_0001_u32 as i32;
/// The configuration is invalid ([`config`](crate::config)).
pub const CONFIG_MALFORMED: HResult = 0xa047_0002_u32 as i32;
/// The configuration is for another version of the profiler.
pub const CONFIG_VERSION: HResult = 0xa047_0003_u32 as i32;
/// The runtime has no `ICorProfilerInfo12`: it is older than .NET 5.
pub const RUNTIME_TOO_OLD: HResult = 0xa047_0004_u32 as i32;
/// Memory for the accumulators could not be mapped.
pub const NO_MEMORY: HResult = 0xa047_0005_u32 as i32;
/// The profiler of an earlier attach is still leaving; try again.
pub const STILL_LEAVING: HResult = 0xa047_0006_u32 as i32;
/// The EventPipe provider or its events could not be created.
pub const NO_PROVIDER: HResult = 0xa047_0007_u32 as i32;
/// The library could not be pinned in memory, without which its threads would not be safe.
pub const NOT_PINNED: HResult = 0xa047_0008_u32 as i32;
/// The lease could not be connected, and this runtime has no other sign for the profiler to leave.
pub const NO_LEASE: HResult = 0xa047_0009_u32 as i32;
/// A thread of the profiler could not be started.
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
