//! The commands of the protocol.

use std::fmt;

/// A command of the diagnostics protocol. The constants are those that this crate sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Command {
    set: u8,
    id: u8,
    name: &'static str,
}

macro_rules! commands {
    ($($constant:ident $set:literal $id:literal $name:literal;)*) => {
        impl Command {
            $(#[doc = concat!("`", $name, "`: command ", $id, " of set ", $set, ".")]
            pub const $constant: Self = Self { set: $set, id: $id, name: $name };)*

            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$constant,)*];
        }
    };
}

// Source: documentation/design-docs/ipc-protocol.md of dotnet/diagnostics.
commands! {
    WRITE_CORE_DUMP 1 1 "WriteCoreDump";
    WRITE_CORE_DUMP_2 1 2 "WriteCoreDump2";
    WRITE_CORE_DUMP_3 1 3 "WriteCoreDump3";
    STOP_TRACING 2 1 "StopTracing";
    COLLECT_TRACING_2 2 3 "CollectTracing2";
    COLLECT_TRACING_3 2 4 "CollectTracing3";
    COLLECT_TRACING_4 2 5 "CollectTracing4";
    COLLECT_TRACING_5 2 6 "CollectTracing5";
    COLLECT_TRACING_6 2 7 "CollectTracing6";
    ATTACH_PROFILER 3 1 "AttachProfiler";
    STARTUP_PROFILER 3 2 "StartupProfiler";
    PROCESS_INFO 4 0 "ProcessInfo";
    RESUME_RUNTIME 4 1 "ResumeRuntime";
    GET_PROCESS_ENVIRONMENT 4 2 "GetProcessEnvironment";
    SET_ENVIRONMENT_VARIABLE 4 3 "SetEnvironmentVariable";
    PROCESS_INFO_2 4 4 "ProcessInfo2";
    ENABLE_PERF_MAP 4 5 "EnablePerfMap";
    DISABLE_PERF_MAP 4 6 "DisablePerfMap";
    APPLY_STARTUP_HOOK 4 7 "ApplyStartupHook";
    PROCESS_INFO_3 4 8 "ProcessInfo3";
}

impl Command {
    /// The number of its command set.
    pub const fn set(self) -> u8 {
        self.set
    }

    /// The number in its set.
    pub const fn id(self) -> u8 {
        self.id
    }

    /// The name in the documentation of the protocol.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#04x} {:#04x})", self.name, self.set, self.id)
    }
}

/// What a client was doing when an [`Error`](crate::Error) occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Opening a connection to the runtime.
    Connect,
    /// Waiting until a runtime connects to a diagnostic port and says who it is.
    Accept,
    /// Waiting until a runtime connects to a diagnostic port for its next command.
    NextConnection,
    /// A command.
    Command(Command),
}

impl From<Command> for Operation {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => f.write_str("connect"),
            Self::Accept => f.write_str("the port's accept"),
            Self::NextConnection => f.write_str("the port's next command"),
            Self::Command(command) => command.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_commands_have_the_same_numbers_or_name() {
        let numbers: HashSet<_> = Command::ALL.iter().map(|command| (command.set, command.id)).collect();
        let names: HashSet<_> = Command::ALL.iter().map(|command| command.name).collect();
        assert_eq!((numbers.len(), names.len()), (Command::ALL.len(), Command::ALL.len()));
    }
}
