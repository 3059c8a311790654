//! Command set 4, Process: process information, environment, and resuming at the start.

use crate::client::{Client, decode, decode_result, prepare, prepare_empty, read_exact};
use crate::error::{Error, Result};
use crate::guid::Guid;
use crate::message::{CommandCode, InvalidRequest, PayloadReader, ProtocolError};
use crate::transport::Transport;

const fn code(id: u8, name: &'static str) -> CommandCode {
    CommandCode { set: 4, id, name }
}

const PROCESS_INFO: CommandCode = code(0, "ProcessInfo");
const RESUME_RUNTIME: CommandCode = code(1, "ResumeRuntime");
const GET_PROCESS_ENVIRONMENT: CommandCode = code(2, "GetProcessEnvironment");
const SET_ENVIRONMENT_VARIABLE: CommandCode = code(3, "SetEnvironmentVariable");
const PROCESS_INFO_2: CommandCode = code(4, "ProcessInfo2");
const PROCESS_INFO_3: CommandCode = code(8, "ProcessInfo3");

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
    fn decode(variant: CommandCode, payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut reader = PayloadReader::new(payload);
        if variant == PROCESS_INFO_3 {
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
        if variant != PROCESS_INFO {
            info.entry_assembly = known(reader.str16()?);
            info.clr_version = known(reader.str16()?);
        }
        if variant == PROCESS_INFO_3 {
            info.rid = known(reader.str16()?);
        }
        Ok(info)
    }
}

/// The Process command set, absent before .NET 5.
impl<T: Transport> Client<T> {
    /// Reads the process information, with the newest variant of the command that the runtime knows.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command). .NET Core 3.x knows no variant
    /// ([`Error::is_unknown_command`](crate::Error::is_unknown_command)).
    pub async fn process_info(&self) -> Result<ProcessInfo> {
        let older = [PROCESS_INFO_2, PROCESS_INFO];
        let (variant, payload, _) = self.run_newest(PROCESS_INFO_3, &older, prepare_empty).await?;
        decode(variant.name, ProcessInfo::decode(variant, &payload))
    }

    /// Resumes a runtime that is suspended at its start. It has no effect on a runtime that is not suspended.
    ///
    /// If several ports suspend the runtime, it must be resumed through each of them.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn resume_runtime(&self) -> Result<()> {
        self.run(&prepare_empty(RESUME_RUNTIME)?, self.deadline()).await.map(drop)
    }

    /// Reads the environment as managed code sees it, in the runtime's order. Invalid UTF-16 becomes U+FFFD.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command).
    pub async fn environment(&self) -> Result<Vec<(String, String)>> {
        let operation = GET_PROCESS_ENVIRONMENT.name;
        let deadline = self.deadline();
        let (payload, mut stream) = self.run(&prepare_empty(GET_PROCESS_ENVIRONMENT)?, deadline).await?;
        let length = decode(operation, environment_length(&payload))?;
        let mut block = vec![0; length];
        deadline.bound(operation, read_exact(&mut stream, &mut block, operation)).await?;
        decode(operation, decode_environment(&block))
    }

    /// Sets an environment variable, or removes it if `value` is `None` (.NET 6 and later).
    ///
    /// Managed code and `ICorProfilerInfo11::GetEnvironmentVariable` see the change. The `getenv` of the C library and
    /// processes that native code starts do not.
    ///
    /// NativeAOT crashes when a variable is removed. A removal is therefore sent only to a runtime that
    /// [supports profilers](Self::supports_profilers), which needs one more connection.
    ///
    /// # Errors
    /// Those of [every command](Client#errors-of-every-command);
    /// [`HResult::ENVIRONMENT_VARIABLE_NOT_FOUND`](crate::HResult::ENVIRONMENT_VARIABLE_NOT_FOUND) if the variable to
    /// remove does not exist; [`InvalidRequest::RemovalWouldCrash`] for NativeAOT and Mono.
    pub async fn set_environment_variable(&self, name: &str, value: Option<&str>) -> Result<()> {
        let operation = SET_ENVIRONMENT_VARIABLE.name;
        let request = prepare(SET_ENVIRONMENT_VARIABLE, |payload| {
            if name.contains('=') {
                payload.refuse(InvalidRequest::EqualsSign { name: name.to_owned() });
            }
            payload.required_str16("variable name", name).str16("variable value", value)
        })?;
        let deadline = self.deadline();
        if value.is_none() && !self.probe_profilers(deadline).await? {
            return Err(Error::InvalidRequest {
                operation,
                source: InvalidRequest::RemovalWouldCrash { name: name.to_owned() },
            });
        }
        let (payload, _) = self.run(&request, deadline).await?;
        decode_result(operation, &payload)
    }
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
            for variant in [PROCESS_INFO, PROCESS_INFO_2, PROCESS_INFO_3] {
                let _ = ProcessInfo::decode(variant, &bytes);
            }
            let _ = decode_environment(&bytes);
            let _ = environment_length(&bytes);
        }
    }
}
