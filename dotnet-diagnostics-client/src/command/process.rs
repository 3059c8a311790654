//! Command set 4, Process: process information, environment, and resuming at the start.

use crate::client::Client;
use crate::error::{Error, Result};
use crate::exchange::{decode, decode_result, prepare, prepare_empty, read_exact};
use crate::guid::Guid;
use crate::message::{Command, InvalidRequest, Operation, PayloadReader, ProtocolError, Request};

/// Environments are far smaller. The length in the reply is not trusted.
const MAX_ENVIRONMENT_BYTES: u32 = 16 << 20;

/// What a runtime says about its process and itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// Process id in the PID namespace of the target. Outside a container the process has another id.
    pub pid: u64,
    /// Id of this runtime instance. After a restart it differs, even if the process id is the same.
    pub cookie: Guid,
    /// The arguments, joined with spaces and not quoted. Only the first one while the runtime is suspended at its
    /// start.
    pub command_line: String,
    /// `"Linux"`, `"Windows"`, `"macOS"`, …
    pub os: String,
    /// `"x64"`, `"arm64"`, `"x86"`, `"arm32"`, …
    pub arch: String,
    /// Name of the managed entry assembly (.NET 6 and later).
    pub entry_assembly: Option<String>,
    /// Version of the runtime, for example "10.0.12" (.NET 6 and later).
    pub clr_version: Option<String>,
    /// Portable runtime identifier (RID), for example "linux-x64" (.NET 8 and later).
    pub rid: Option<String>,
}

impl ProcessInfo {
    fn decode(variant: Command, payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut reader = PayloadReader::new(payload);
        if variant == Command::PROCESS_INFO_3 {
            // Version of the structure. Later versions append fields and keep these.
            reader.u32()?;
        }
        let mut info = Self {
            pid: reader.u64()?,
            cookie: reader.guid()?,
            command_line: reader.str16()?,
            os: reader.str16()?,
            arch: reader.str16()?,
            entry_assembly: None,
            clr_version: None,
            rid: None,
        };
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        if variant != Command::PROCESS_INFO {
            info.entry_assembly = known(reader.str16()?);
            info.clr_version = known(reader.str16()?);
        }
        if variant == Command::PROCESS_INFO_3 {
            info.rid = known(reader.str16()?);
        }
        Ok(info)
    }
}

/// The Process command set, absent before .NET 5.
impl Client {
    /// Reads the process information, with the newest variant of the command that the runtime knows.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command). .NET Core 3.x knows no variant
    /// ([`Error::is_unknown_command`](crate::Error::is_unknown_command)).
    pub async fn process_info(&self) -> Result<ProcessInfo> {
        let older = [Command::PROCESS_INFO_2, Command::PROCESS_INFO];
        let (variant, payload, _) = self.run_newest(Command::PROCESS_INFO_3, &older, prepare_empty).await?;
        decode(variant.into(), ProcessInfo::decode(variant, &payload))
    }

    /// Resumes a runtime that is suspended at its start. It has no effect on a runtime that is not suspended.
    ///
    /// If several ports suspend the runtime, it must be resumed through each of them.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn resume_runtime(&self) -> Result<()> {
        self.run(&prepare_empty(Command::RESUME_RUNTIME)?, self.deadline()).await.map(drop)
    }

    /// Reads the environment as managed code sees it, in the runtime's order. Invalid UTF-16 becomes U+FFFD.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn environment(&self) -> Result<Vec<(String, String)>> {
        let operation = Operation::Command(Command::GET_PROCESS_ENVIRONMENT);
        let deadline = self.deadline();
        let (payload, mut stream) =
            self.run(&prepare_empty(Command::GET_PROCESS_ENVIRONMENT)?, deadline).await?;
        let length = decode(operation, environment_length(&payload))?;
        let mut block = vec![0; length];
        deadline.bound(operation, read_exact(&mut stream, &mut block, operation)).await?;
        decode(operation, decode_environment(&block))
    }

    /// Sets an environment variable (.NET 6 and later).
    ///
    /// Managed code and `ICorProfilerInfo11::GetEnvironmentVariable` see the change. The `getenv` of the C library and
    /// processes that native code starts do not.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn set_environment_variable(&self, name: &str, value: &str) -> Result<()> {
        let request = variable_request(name, Some(value))?;
        let (payload, _) = self.run(&request, self.deadline()).await?;
        decode_result(Command::SET_ENVIRONMENT_VARIABLE.into(), &payload)
    }

    /// Removes an environment variable (.NET 6 and later), with the same effect as
    /// [`set_environment_variable`](Self::set_environment_variable).
    ///
    /// NativeAOT crashes when a variable is removed. **So this first asks whether the runtime
    /// [supports profilers](Self::supports_profilers)**, which needs one more connection and sends an AttachProfiler
    /// command with a path that cannot exist.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command);
    /// [`HResult::ENVIRONMENT_VARIABLE_NOT_FOUND`](crate::HResult::ENVIRONMENT_VARIABLE_NOT_FOUND) if the variable does
    /// not exist; [`InvalidRequest::RemovalWouldCrash`] for NativeAOT and Mono.
    pub async fn remove_environment_variable(&self, name: &str) -> Result<()> {
        let operation = Operation::Command(Command::SET_ENVIRONMENT_VARIABLE);
        let request = variable_request(name, None)?;
        let deadline = self.deadline();
        if !self.probe_profilers(deadline).await? {
            let source = InvalidRequest::RemovalWouldCrash { name: name.to_owned() };
            return Err(Error::InvalidRequest { operation, source });
        }
        let (payload, _) = self.run(&request, deadline).await?;
        decode_result(operation, &payload)
    }

    /// Lets the runtime write the addresses of compiled methods for `perf` (.NET 8 and later, Linux): a file
    /// `perf-PID.map` or `jit-PID.dump` in the directory that `DOTNET_PerfMapJitDumpPath` names, else in `TMPDIR`, else
    /// in `/tmp`.
    ///
    /// A runtime that is suspended at its start crashes on this command (.NET 8 and 9). So this first asks whether it is
    /// suspended, which needs one more connection and sends an AttachProfiler command with a path that cannot exist.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command); [`InvalidRequest::Suspended`] for a runtime that is
    /// suspended; [`HResult::NOT_SUPPORTED`](crate::HResult::NOT_SUPPORTED) where the operating system has no perf maps.
    pub async fn enable_perf_map(&self, kind: PerfMap) -> Result<()> {
        let operation = Operation::Command(Command::ENABLE_PERF_MAP);
        let request = prepare(Command::ENABLE_PERF_MAP, |payload| payload.u32(kind as u32))?;
        let deadline = self.deadline();
        if self.is_suspended(deadline).await? {
            return Err(Error::InvalidRequest { operation, source: InvalidRequest::Suspended });
        }
        let (payload, _) = self.run(&request, deadline).await?;
        decode_result(operation, &payload)
    }

    /// Ends what [`enable_perf_map`](Self::enable_perf_map) began (.NET 8 and later, Linux). It has no effect if nothing
    /// was begun.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn disable_perf_map(&self) -> Result<()> {
        let (payload, _) = self.run(&prepare_empty(Command::DISABLE_PERF_MAP)?, self.deadline()).await?;
        decode_result(Command::DISABLE_PERF_MAP.into(), &payload)
    }

    /// Runs a startup hook (.NET 8 and later): loads an assembly and calls `StartupHook.Initialize`. In a runtime that is
    /// suspended at its start it runs when the runtime is resumed.
    ///
    /// - `path`: path of the assembly as the target sees it. **An assembly that cannot be loaded ends the process** with
    ///   an unhandled exception.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn apply_startup_hook(&self, path: &str) -> Result<()> {
        let request =
            prepare(Command::APPLY_STARTUP_HOOK, |payload| payload.required_str16("startup hook", path))?;
        let (payload, _) = self.run(&request, self.deadline()).await?;
        decode_result(Command::APPLY_STARTUP_HOOK.into(), &payload)
    }
}

/// What [`Client::enable_perf_map`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PerfMap {
    /// Both files.
    All = 1,
    /// `jit-PID.dump`, with the machine code.
    JitDump = 2,
    /// `perf-PID.map`, with names only.
    PerfMap = 3,
}

fn variable_request(name: &str, value: Option<&str>) -> Result<Request> {
    prepare(Command::SET_ENVIRONMENT_VARIABLE, |payload| {
        if name.contains('=') {
            payload.refuse(InvalidRequest::EqualsSign { name: name.to_owned() });
        }
        payload.required_str16("variable name", name).str16("variable value", value)
    })
}

/// Length in bytes of the environment, which follows the reply.
fn environment_length(payload: &[u8]) -> Result<usize, ProtocolError> {
    let length = PayloadReader::new(payload).u32()?;
    if length > MAX_ENVIRONMENT_BYTES {
        return Err(ProtocolError::TooLong { length, max: MAX_ENVIRONMENT_BYTES });
    }
    Ok(length as usize)
}

fn decode_environment(block: &[u8]) -> Result<Vec<(String, String)>, ProtocolError> {
    let mut reader = PayloadReader::new(block);
    // No memory is reserved for the count, which may be wrong: each entry has at least four bytes.
    (0..reader.u32()?).map(|_| reader.str16().map(|entry| split_variable(&entry))).collect()
}

/// On Windows some names begin with "=", so the separator is searched for after the first character.
fn split_variable(entry: &str) -> (String, String) {
    let separator = entry.char_indices().skip(1).find_map(|(index, c)| (c == '=').then_some(index));
    match separator {
        Some(index) => (entry[..index].to_owned(), entry[index + 1..].to_owned()),
        None => (entry.to_owned(), String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn variables_are_split_at_the_first_equals_sign_after_the_name() {
        let entries = ["A=b=c", "=C:=C:\\x", "é=1", "A=", "A", ""].map(split_variable);
        let expected = [("A", "b=c"), ("=C:", "C:\\x"), ("é", "1"), ("A", ""), ("A", ""), ("", "")];
        assert_eq!(entries, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_absurd_environment_length_is_refused() {
        assert!(matches!(
            environment_length(&[0xff, 0xff, 0xff, 0x7f, 0, 0]),
            Err(ProtocolError::TooLong { .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for variant in [Command::PROCESS_INFO, Command::PROCESS_INFO_2, Command::PROCESS_INFO_3] {
                let _ = ProcessInfo::decode(variant, &bytes);
            }
            let _ = decode_environment(&bytes);
            let _ = environment_length(&bytes);
        }
    }
}
