//! Command set 1, Dump: writes a core dump of the target.

use crate::client::Client;
use crate::error::Result;
use crate::exchange::{decode_result, prepare};
use crate::message::Command;

/// The flags of WriteCoreDump2 and 3.
const LOG: u32 = 1;
const LOG_VERBOSE: u32 = 2;
const CRASH_REPORT: u32 = 4;

/// A core dump to write.
///
/// ```
/// use dotnet_diagnostics_client::{CoreDump, DumpKind};
///
/// let dump = CoreDump::new("/tmp/core.%p").kind(DumpKind::Heap);
/// # let _ = dump;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreDump {
    /// The file, as the target sees it. The runtime replaces `%p` by its process id, `%e` by its executable, `%h` by the
    /// name of the host and `%t` by the time in seconds since 1970 (.NET 6 and later).
    pub path: String,
    /// What it contains.
    pub kind: DumpKind,
    /// The target writes to its standard output what it does.
    pub log: bool,
    /// The same with more details (.NET 6 and later).
    pub log_verbose: bool,
    /// Also writes `PATH.crashreport.json` with the stacks (.NET 6 and later, not on Windows).
    pub crash_report: bool,
}

/// What a core dump contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DumpKind {
    /// Stacks, and what is needed to show them.
    Mini = 1,
    /// The same and the heap of the garbage collector.
    Heap = 2,
    /// As [`Mini`](Self::Mini), without paths, environment and other personal data.
    Triage = 3,
    /// All memory.
    Full = 4,
}

impl CoreDump {
    /// A dump of all memory, without a log.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), kind: DumpKind::Full, log: false, log_verbose: false, crash_report: false }
    }

    /// The same with another content.
    #[must_use]
    pub fn kind(self, kind: DumpKind) -> Self {
        Self { kind, ..self }
    }

    /// The same with or without a log.
    #[must_use]
    pub fn log(self, log: bool) -> Self {
        Self { log, ..self }
    }

    /// The same with or without a detailed log.
    #[must_use]
    pub fn log_verbose(self, log_verbose: bool) -> Self {
        Self { log_verbose, ..self }
    }

    /// The same with or without a crash report.
    #[must_use]
    pub fn crash_report(self, crash_report: bool) -> Self {
        Self { crash_report, ..self }
    }

    fn flags(&self) -> u32 {
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        bit(self.log, LOG) | bit(self.log_verbose, LOG_VERBOSE) | bit(self.crash_report, CRASH_REPORT)
    }
}

/// The Dump command set.
impl Client {
    /// Writes a core dump, with the newest variant of the command that the runtime knows. It returns when the file is
    /// written; meanwhile the process stands still.
    ///
    /// A dump of a large process takes longer than the [default timeout](crate::DEFAULT_TIMEOUT); use
    /// [`with_timeout`](Self::with_timeout). **After a dump that failed because the runtime has no `createdump`, the runtime
    /// may take no further commands**: .NET 8, 9 and 10 were seen to remove their socket. What an older runtime cannot express is left out: WriteCoreDump (before
    /// .NET 6) has only [`CoreDump::log`].
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command). [`Error::Runtime`](crate::Error::Runtime) has the
    /// runtime's text about what failed (.NET 7 and later), for example because the directory does not exist.
    pub async fn write_core_dump(&self, dump: &CoreDump) -> Result<()> {
        let older = [Command::WRITE_CORE_DUMP_2, Command::WRITE_CORE_DUMP];
        let request = |command: Command| {
            prepare(command, |payload| {
                payload.required_str16("path of the dump", &dump.path).u32(dump.kind as u32).u32(
                    match command {
                        Command::WRITE_CORE_DUMP => u32::from(dump.log || dump.log_verbose),
                        _ => dump.flags(),
                    },
                )
            })
        };
        let (command, payload, _) = self.run_newest(Command::WRITE_CORE_DUMP_3, &older, request).await?;
        decode_result(command.into(), &payload)
    }
}
