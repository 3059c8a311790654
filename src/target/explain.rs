//! Explains why a process cannot be watched: what gcwatch saw, and what the user can do.

use dotnet_diagnostics_client::discovery::{NotFound, NotFoundReason};
use dotnet_diagnostics_client::{Error, process::ProcessStatus};

use crate::exit::{Code, Failure};

/// The failure for a process without a diagnostics endpoint.
pub(crate) fn not_found(e: &NotFound) -> Failure {
    let pid = e.pid;
    let failure = match e.reason() {
        NotFoundReason::NoSuchProcess => {
            return Failure::new(Code::NO_TARGET, format!("there is no process {pid}"))
                .remedy("gcwatch ps lists the .NET processes");
        }
        NotFoundReason::NotPermitted { owner_uid } => {
            let owner = owner_uid.map_or("another user".to_owned(), |uid| format!("user {uid}"));
            Failure::new(
                Code::NOT_PERMITTED,
                format!("not permitted to watch process {pid}: it belongs to {owner}"),
            )
            .remedy(permitted_if())
        }
        NotFoundReason::Disabled { variable } => Failure::new(
            Code::UNSUPPORTED,
            format!("process {pid} runs .NET but has its diagnostics switched off"),
        )
        .seen(format!("{variable}=0 in its environment"))
        .remedy("start it without that variable"),
        NotFoundReason::NotDotnet => {
            Failure::new(Code::NO_TARGET, format!("process {pid} is not a .NET process"))
                .seen("no .NET runtime is loaded in it")
                .remedy("gcwatch ps lists the .NET processes")
        }
        NotFoundReason::SocketRemoved { path } => {
            Failure::new(Code::NO_TARGET, format!("process {pid} can no longer be reached"))
                .seen(format!(
                    "its socket {} was removed while it runs (a cleaner of temporary files?)",
                    path.display()
                ))
                .remedy("restart it, or start it with gcwatch run -- <command>")
        }
        NotFoundReason::BadDirectory { directory } => {
            Failure::new(Code::UNSUPPORTED, format!("process {pid} has no diagnostics socket"))
                .seen(format!("its directory for temporary files cannot be used: {directory}"))
                .remedy("start it with a TMPDIR that exists and that it can write to")
        }
        NotFoundReason::NameTooLong { length, .. } => {
            Failure::new(Code::UNSUPPORTED, format!("process {pid} has no diagnostics socket"))
                .seen(format!("its TMPDIR is too long: the socket's name would have {length} bytes"))
                .remedy("start it with a shorter TMPDIR")
        }
        reason => {
            let failure = Failure::new(Code::NO_TARGET, format!("process {pid} cannot be reached: {reason}"));
            hidden_variables(&e.facts, std::env::consts::OS)
                .into_iter()
                .fold(failure, Failure::seen)
                .remedy("is it a .NET process (gcwatch ps), and has it finished starting?")
        }
    };
    let failure = e.searched.iter().fold(failure, |f, dir| f.seen(format!("looked in {dir}")));
    e.rejected.iter().fold(failure, |f, r| f.seen(r.to_string()))
}

/// macOS does not show the variables of some programs, so their `TMPDIR` is unknown.
fn hidden_variables(facts: &ProcessStatus, os: &str) -> Option<&'static str> {
    (os == "macos" && facts.exists && facts.environ.is_none()).then_some(
        "macOS hides its environment (System Integrity Protection, or another user's process), so that its \
         TMPDIR is not known",
    )
}

/// The failure for a stopped process, whose socket accepts connections but never answers.
pub(crate) fn stopped(pid: u32) -> Failure {
    Failure::new(Code::NO_TARGET, format!("process {pid} does not answer: it is stopped"))
        .seen("by SIGSTOP, SIGTSTP or a debugger")
        .remedy(format!("let it go on: kill -CONT {pid}, or in the debugger"))
}

/// The failure for an endpoint that refuses, does not answer, or answers wrongly.
pub(crate) fn unreachable(error: &Error, facts: &ProcessStatus) -> Failure {
    let what = chain(error);
    match error {
        Error::NotFound(e) => not_found(e),
        Error::Stale { .. } => {
            Failure::new(Code::NO_TARGET, what).remedy("gcwatch ps lists the .NET processes")
        }
        Error::PermissionDenied { .. } => Failure::new(Code::NOT_PERMITTED, what).remedy(permitted_if()),
        Error::Impostor { .. } => Failure::new(Code::NOT_PERMITTED, what)
            .seen("nothing was sent there")
            .remedy("another process has replaced the socket; find out whose it is"),
        Error::Closed { .. } => {
            Failure::new(Code::NO_TARGET, what).remedy("check whether it is still running")
        }
        Error::Timeout { .. } => Failure::new(Code::NO_TARGET, format!("the process does not answer: {what}"))
            .seen("a runtime serves one diagnostics connection at a time")
            .remedy(match facts.exists {
                true => "is another diagnostics tool attached to it, or is it stopped (SIGSTOP, a debugger, a paused container)?",
                false => "is a process listening on that socket?",
            }),
        _ => Failure::new(Code::FAILED, what),
    }
}

/// In a container, root often lacks these capabilities.
fn permitted_if() -> &'static str {
    if crate::sys::is_root() {
        "give gcwatch's container CAP_SYS_PTRACE and CAP_DAC_OVERRIDE (--cap-add)"
    } else {
        "run gcwatch as that user or as root"
    }
}

/// An error and its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text.push_str(": ");
        text.push_str(&e.to_string());
        cause = e.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_macos_hides_variables() {
        let mut facts = ProcessStatus::default();
        facts.exists = true;
        assert!(hidden_variables(&facts, "macos").is_some());
        assert_eq!(hidden_variables(&facts, "linux"), None);
        facts.environ = Some(Vec::new());
        assert_eq!(hidden_variables(&facts, "macos"), None);
    }
}
