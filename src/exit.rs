//! Exit codes, and failures that carry them: what happened, what gcwatch saw, what the user can do.

use std::fmt;

use crate::escape::escape_untrusted;

/// gcwatch's own exit codes; scripts rely on them (`docs/ci.md`, Exit codes). The child of `gcwatch run` may end with
/// any other one, on Windows with one of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) i32);

impl Code {
    pub(crate) const OK: Code = Code(0);
    /// An unexpected failure of gcwatch.
    pub(crate) const FAILED: Code = Code(1);
    pub(crate) const USAGE: Code = Code(2);
    /// An assertion does not hold.
    pub(crate) const BROKEN: Code = Code(10);
    /// Data lost or incomplete under `--strict`, or an assertion that could not be judged.
    pub(crate) const INCOMPLETE: Code = Code(11);
    /// The input cannot be read, or is no nettrace stream.
    pub(crate) const BAD_INPUT: Code = Code(12);
    /// No such process, not a .NET process, or it ended before gcwatch could watch it.
    pub(crate) const NO_TARGET: Code = Code(20);
    pub(crate) const NOT_PERMITTED: Code = Code(21);
    /// This runtime or its settings do not support the request.
    pub(crate) const UNSUPPORTED: Code = Code(22);
    /// Another profiler is active, and the user demanded level `roots`.
    pub(crate) const OTHER_PROFILER: Code = Code(23);
    pub(crate) const NOT_EXECUTABLE: Code = Code(126);
    pub(crate) const NOT_FOUND: Code = Code(127);
    /// SIGHUP after another signal.
    pub(crate) const HUNG_UP: Code = Code(129);
    /// A second Ctrl-C.
    pub(crate) const INTERRUPTED: Code = Code(130);
    /// A second SIGTERM.
    pub(crate) const TERMINATED: Code = Code(143);
}

/// A failure, described to the user.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    /// What happened, one sentence without a full stop.
    pub(crate) what: String,
    /// What gcwatch saw.
    pub(crate) seen: Vec<String>,
    /// What the user can do.
    pub(crate) remedy: Vec<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Failure {
        Failure { code, what: what.into(), seen: Vec::new(), remedy: Vec::new() }
    }
    /// A parser's message: its first line says what happened, the others show where.
    pub(crate) fn told(code: Code, place: &str, said: &str) -> Failure {
        let mut lines = said.trim().lines();
        let what = format!("{place}: {}", lines.next().unwrap_or_default());
        lines.fold(Failure::new(code, what), Failure::seen)
    }
    #[must_use]
    pub(crate) fn seen(mut self, line: impl Into<String>) -> Failure {
        self.seen.push(line.into());
        self
    }
    #[must_use]
    pub(crate) fn remedy(mut self, line: impl Into<String>) -> Failure {
        self.remedy.push(line.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text holds paths, names and answers that targets and files chose.
        write!(f, "{}", escape_untrusted(&self.what))?;
        for (label, lines) in [("seen:", &self.seen), ("do:", &self.remedy)] {
            for (n, line) in lines.iter().enumerate() {
                write!(f, "\n  {:<5} {}", if n == 0 { label } else { "" }, escape_untrusted(line))?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// An IO error that no caller explains is unexpected.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new(Code::FAILED, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_sentences() {
        let f = Failure::new(Code::UNSUPPORTED, "process 7 has its diagnostics switched off")
            .seen("DOTNET_EnableDiagnostics=0 in its environment")
            .remedy("start it without that variable")
            .remedy("or use gcwatch run -- <command>");
        insta::assert_snapshot!(f.to_string(), @r"
        process 7 has its diagnostics switched off
          seen: DOTNET_EnableDiagnostics=0 in its environment
          do:   start it without that variable
                or use gcwatch run -- <command>
        ");
    }
}
