//! Result codes of the runtime.

use std::fmt;

/// A COM result code (`HRESULT`) from the runtime. Any value can occur, because AttachProfiler returns the code of the
/// profiler's `InitializeForAttach`.
///
/// ```
/// use dotnet_diagnostics_client::HResult;
///
/// assert_eq!(
///     HResult::PROFILER_ALREADY_ACTIVE.to_string(),
///     "0x8013136A (another profiler is already active)"
/// );
/// assert_eq!(HResult(0x81234567).to_string(), "0x81234567");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HResult(pub u32);

impl HResult {
    /// Whether the code means success: its highest bit is 0.
    pub const fn is_success(self) -> bool {
        self.0 & 0x8000_0000 == 0
    }
}

macro_rules! codes {
    ($($value:literal $constant:ident $name:literal $explanation:literal;)*) => {
        impl HResult {
            $(#[doc = concat!("`", $name, "`: ", $explanation, ".")]
            pub const $constant: Self = Self($value);)*

            /// The name in the headers of the runtime. `None` for an unknown code.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($name),)*
                    _ => None,
                }
            }

            /// What the code means, without a full stop at the end. `None` for an unknown code.
            pub const fn explanation(self) -> Option<&'static str> {
                match self {
                    $(Self::$constant => Some($explanation),)*
                    _ => None,
                }
            }

            #[cfg(test)]
            const KNOWN: &'static [Self] = &[$(Self::$constant,)*];
        }
    };
}

// Sources: dotnet/diagnostics ipc-protocol.md, dotnet/runtime corerror.xml and profilinghelper.cpp; winerror.h for
// 0x8007xxxx.
codes! {
    0x0000_0000 OK "S_OK" "success";
    0x8000_4001 NOT_IMPLEMENTED "E_NOTIMPL" "not implemented";
    0x8000_4002 NO_INTERFACE "E_NOINTERFACE" "the profiler does not implement an interface that the runtime asks for";
    0x8000_4005 FAIL "E_FAIL" "unspecified failure; for a trace session usually too many sessions (64 at most)";
    0x8000_00CB DS_ENVIRONMENT_VARIABLE_NOT_FOUND "DS_IPC_E_ENVVAR_NOT_FOUND" "the environment variable to remove does not exist, in the protocol's own code; CoreCLR answers 0x800700CB";
    0x8007_0005 ACCESS_DENIED "E_ACCESSDENIED" "access denied";
    0x8007_000E OUT_OF_MEMORY "E_OUTOFMEMORY" "out of memory";
    0x8007_0057 INVALID_ARGUMENT "E_INVALIDARG" "invalid argument; for a startup profiler: the runtime is not paused at its start";
    0x8007_007A INSUFFICIENT_BUFFER "ERROR_INSUFFICIENT_BUFFER" "a buffer is too small";
    0x8007_007E MODULE_NOT_FOUND "ERROR_MOD_NOT_FOUND" "the profiler library, or one that it needs, could not be loaded: missing, not readable by the target, or for another architecture or C library";
    0x8007_007F PROCEDURE_NOT_FOUND "ERROR_PROC_NOT_FOUND" "the library does not export DllGetClassObject: it is not a profiler";
    0x8007_00CB ENVIRONMENT_VARIABLE_NOT_FOUND "ERROR_ENVVAR_NOT_FOUND" "the environment variable to remove does not exist";
    0x8004_0111 CLASS_NOT_AVAILABLE "CLASS_E_CLASSNOTAVAILABLE" "the library does not know the profiler's class id";
    0x8013_135B NOT_YET_AVAILABLE "CORDIAG_E_NOT_YET_AVAILABLE" "not possible yet: the runtime is still starting or suspended";
    0x8013_1363 UNSUPPORTED_CALL_SEQUENCE "CORPROF_E_UNSUPPORTED_CALL_SEQUENCE" "a call that is not allowed at this point";
    0x8013_1367 PROFILER_DETACHING "CORPROF_E_PROFILER_DETACHING" "a profiler is just being detached";
    0x8013_1368 PROFILER_NOT_ATTACHABLE "CORPROF_E_PROFILER_NOT_ATTACHABLE" "the profiler does not support attaching";
    0x8013_136A PROFILER_ALREADY_ACTIVE "CORPROF_E_PROFILER_ALREADY_ACTIVE" "another profiler is already active";
    0x8013_136E CALLBACK3_REQUIRED "CORPROF_E_CALLBACK3_REQUIRED" "the profiler lacks ICorProfilerCallback3, which attaching and detaching need";
    0x8013_136F UNSUPPORTED_FOR_ATTACHING_PROFILER "CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER" "the profiler asked for an event that an attached profiler cannot have";
    0x8013_1370 IRREVERSIBLE_INSTRUMENTATION_PRESENT "CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT" "the profiler cannot be detached: it has instrumented code";
    0x8013_1371 RUNTIME_UNINITIALIZED "CORPROF_E_RUNTIME_UNINITIALIZED" "the runtime is not initialised yet or is shutting down";
    0x8013_1372 IMMUTABLE_FLAGS_SET "CORPROF_E_IMMUTABLE_FLAGS_SET" "the profiler cannot be detached: it has set flags that cannot be cleared";
    0x8013_1373 PROFILER_NOT_YET_INITIALIZED "CORPROF_E_PROFILER_NOT_YET_INITIALIZED" "the profiler is still initialising";
    0x8013_1374 INCONSISTENT_WITH_FLAGS "CORPROF_E_INCONSISTENT_WITH_FLAGS" "the profiler called something that needs a flag it has not set";
    0x8013_1375 PROFILER_CANCEL_ACTIVATION "CORPROF_E_PROFILER_CANCEL_ACTIVATION" "the profiler asked not to be activated";
    0x8013_1376 CONCURRENT_GC_NOT_PROFILABLE "CORPROF_E_CONCURRENT_GC_NOT_PROFILABLE" "this profiler cannot watch garbage collections while concurrent GC is on";
    0x8013_1378 DEBUGGING_DISABLED "CORPROF_E_DEBUGGING_DISABLED" "debugging is disabled in the target";
    0x8013_1379 TIMEOUT_WAITING_FOR_CONCURRENT_GC "CORPROF_E_TIMEOUT_WAITING_FOR_CONCURRENT_GC" "a background garbage collection did not end within the time given";
    0x8013_1384 BAD_ENCODING "DS_IPC_E_BAD_ENCODING" "the runtime could not decode the request";
    0x8013_1385 UNKNOWN_COMMAND "DS_IPC_E_UNKNOWN_COMMAND" "this runtime does not know the command";
    0x8013_1386 UNKNOWN_MAGIC "DS_IPC_E_UNKNOWN_MAGIC" "the runtime does not speak this version of the protocol";
    0x8013_1387 UNKNOWN_ERROR "DS_IPC_E_UNKNOWN_ERROR" "the runtime reports an error without saying which";
    0x8013_1515 NOT_SUPPORTED "COR_E_NOTSUPPORTED" "this runtime does not support it (NativeAOT and Mono have no profiler, for example)";
}

impl fmt::Display for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08X}", self.0)?;
        match self.explanation() {
            Some(words) => write!(f, " ({words})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "HResult(0x{:08X} {name})", self.0),
            None => write!(f, "HResult(0x{:08X})", self.0),
        }
    }
}

impl fmt::UpperHex for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::UpperHex::fmt(&self.0, f)
    }
}

impl From<i32> for HResult {
    fn from(code: i32) -> Self {
        Self(code.cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_known_code_is_distinct_and_only_ok_is_success() {
        let distinct: HashSet<_> = HResult::KNOWN.iter().collect();
        assert_eq!(distinct.len(), HResult::KNOWN.len());
        let names: HashSet<_> = HResult::KNOWN.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), HResult::KNOWN.len());
        for code in HResult::KNOWN {
            assert_eq!(code.is_success(), *code == HResult::OK, "{code:?}");
        }
    }

    #[test]
    fn unknown_codes_are_kept() {
        let code = HResult::from(-2);
        assert_eq!((code.0, code.name(), code.explanation()), (0xFFFF_FFFE, None, None));
        assert_eq!(format!("{code} {code:?}"), "0xFFFFFFFE HResult(0xFFFFFFFE)");
    }
}
