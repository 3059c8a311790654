//! Why roots cannot be watched in a target, and what can be watched instead.

use dotnet_diagnostics_client::{Error, HResult};
use netcore_profiler::hresult;

use crate::exit::{Code, Failure};
use crate::gc::record::Level;

/// The usual reason why a process loads no library, as a remedy.
fn not_loaded_because(os: &str) -> &'static str {
    match os {
        "macos" => {
            "a program with the hardened runtime loads only libraries of its own signer: sign it with the \
             entitlement com.apple.security.cs.disable-library-validation, or use --level moves"
        }
        _ => "can its user read and execute files in its temporary directory?",
    }
}

/// Why roots cannot be watched here.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    /// A sentence without a full stop.
    pub(crate) reason: String,
    pub(crate) remedy: String,
    /// What can be watched instead.
    pub(crate) instead: Level,
}

impl Refusal {
    pub(crate) fn new(code: Code, reason: impl Into<String>, remedy: impl Into<String>) -> Refusal {
        Refusal { code, reason: reason.into(), remedy: remedy.into(), instead: Level::Moves }
    }

    fn unsupported(reason: impl Into<String>, remedy: &str) -> Refusal {
        Refusal::new(Code::UNSUPPORTED, reason, remedy)
    }

    /// The failure if the user demanded roots.
    pub(crate) fn into_failure(self) -> Failure {
        Failure::new(self.code, format!("roots cannot be watched: {}", self.reason))
            .remedy(self.remedy)
            .remedy("or omit --level: gcwatch then uses the highest level that is possible")
    }

    /// The failure of something that needs the profiler and has no other way.
    pub(crate) fn into_failure_of(self, what: &str) -> Failure {
        // Another level is no remedy.
        let remedy = self.remedy.split(", or use --level").next().unwrap_or_default();
        let failure = Failure::new(self.code, format!("{what}: {}", self.reason));
        if remedy.starts_with("use --level") { failure } else { failure.remedy(remedy) }
    }

    /// The process has ended.
    pub(crate) fn gone(e: &std::io::Error) -> Refusal {
        Refusal::new(Code::NO_TARGET, e.to_string(), "gcwatch ps lists the .NET processes")
    }

    /// The environment forbids profilers, even if the runtime would accept an attach.
    pub(crate) fn forbidden_by(variable: &str) -> Refusal {
        Refusal::unsupported(
            format!("its environment forbids profilers ({variable}=0)"),
            "start it without that variable, or use --level moves",
        )
    }

    /// A library of another architecture cannot be loaded.
    pub(crate) fn other_arch(theirs: &str, ours: &str) -> Refusal {
        let remedy = format!("use the {theirs} build of gcwatch, or give its library with --profiler-path");
        Refusal::unsupported(
            format!("the process is {theirs}, this gcwatch and its profiler are {ours}"),
            &remedy,
        )
    }

    /// The runtime is NativeAOT or Mono, which load no profilers.
    pub(crate) fn no_profilers() -> Refusal {
        let reason = "this runtime takes no profiler, and tells no blocks (NativeAOT or Mono)";
        Refusal { instead: Level::Basic, ..Refusal::unsupported(reason, "use --level basic") }
    }

    /// Another gcwatch watches roots in the process.
    pub(crate) fn other_watch() -> Refusal {
        Refusal::new(
            Code::OTHER_PROFILER,
            "another gcwatch has its profiler in the process, and a runtime takes only one",
            "end the other watch, or use --level moves",
        )
    }

    /// The refusal for a runtime's answer to a profiler command.
    pub(crate) fn of(error: &Error) -> Refusal {
        let newer = "use --level moves, or run the program on a newer .NET";
        match error.hresult() {
            Some(HResult::PROFILER_ALREADY_ACTIVE) => Refusal::new(
                Code::OTHER_PROFILER,
                "another profiler is active in the process, and a runtime takes only one",
                "start the process without the other profiler (an APM agent?)",
            ),
            Some(HResult::NOT_SUPPORTED) => Refusal::no_profilers(),
            Some(HResult(code)) if code == hresult::RUNTIME_TOO_OLD as u32 => {
                Refusal::unsupported("the runtime is too old for it (.NET 5 is the first)", newer)
            }
            Some(HResult::UNKNOWN_COMMAND) => Refusal::unsupported("the runtime is too old for it", newer),
            Some(HResult::MODULE_NOT_FOUND) => Refusal::unsupported(
                "the process could not load the profiler library",
                not_loaded_because(std::env::consts::OS),
            ),
            Some(HResult::TIMEOUT_WAITING_FOR_CONCURRENT_GC) => Refusal::unsupported(
                "a background collection ran for more than 10 s",
                "try again when it is over",
            ),
            Some(code) => Refusal::of_result(code),
            None => Refusal::new(Code::FAILED, error.to_string(), "try again, or use --level moves"),
        }
    }

    /// The refusal for the result of loading the profiler.
    fn of_result(code: HResult) -> Refusal {
        /// `ERROR_NOT_ENOUGH_MEMORY`: the system's loader could not map the library.
        const NOT_ENOUGH_MEMORY: HResult = HResult(0x8007_0008);
        let own = |result: i32| HResult(result as u32);
        let none =
            [NOT_ENOUGH_MEMORY, HResult::OUT_OF_MEMORY, own(hresult::NO_MEMORY), own(hresult::NO_THREAD)];
        if none.contains(&code) {
            return Refusal::unsupported(
                "the process gets no memory or no thread for the profiler: a limit is reached",
                "raise the limits of the process (prlimit --as, --nproc) or of its container (memory, pids), or use --level \
                 moves",
            );
        }
        if code == own(hresult::NO_LEASE) {
            return Refusal::unsupported(
                "the profiler was loaded, but could not connect to gcwatch",
                "is the process out of file descriptors? Raise its limit (prlimit --nofile), or use --level moves",
            );
        }
        Refusal::unsupported(format!("the runtime answered {code}"), "try again, or use --level moves")
    }
}
