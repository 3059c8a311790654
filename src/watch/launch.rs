//! Starts a program so that its runtime waits for us before its first managed instruction. Every other .NET process of
//! its tree runs on untouched.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use dotnet_diagnostics_client::{
    Client, DiagnosticPort, Error, HResult, InvalidRequest, PortClient, ProcessInfo, process,
};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::admission::{self, Admission};
use super::port::{PORTS, Unwatched};
use super::refusal::Refusal;
use crate::exit::{Code, Failure};
use crate::sys::PortPlace;

/// Programs of the SDK that commands such as `dotnet run` start before the user's program.
const SDK_PROGRAMS: [&str; 4] = ["dotnet", "MSBuild", "VBCSCompiler", "csc"];

/// A program that was started, and the port that it connects to.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) child: Child,
    pub(crate) pid: u32,
    port: DiagnosticPort,
    admission: Admission,
    unwatched: Unwatched,
    /// The first runtime was the `dotnet` command itself.
    pub(crate) through_sdk: bool,
}

/// The runtime to watch, waiting at its start.
#[derive(Debug)]
pub(crate) struct Suspended {
    pub(crate) client: PortClient,
    pub(crate) info: ProcessInfo,
    /// Since when it waits.
    pub(crate) since: Instant,
}

impl Suspended {
    /// Its process id in our namespace. `None`: the operating system does not say.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.client.connections().peer().and_then(|peer| peer.pid)
    }
}

/// A program to start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program<'a> {
    /// Its name and its arguments.
    pub(crate) command: &'a [OsString],
    /// What is set in its environment beside ours.
    pub(crate) variables: &'a [(String, String)],
    pub(crate) streams: Streams,
}

/// Where the streams of a program lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// It has ours.
    Ours,
    /// Its stdout is our stderr: our own report takes stdout.
    OnStderr,
    /// We read its output, and its stdin is empty.
    Piped,
}

/// Starts a program with a port at `place`.
///
/// # Errors
/// Exit code 127: the program was not found; 126: it is not executable.
pub(crate) fn launch(start: Program<'_>, place: PortPlace) -> Result<Launched, Failure> {
    let Program { command, variables, streams } = start;
    let (program, args) =
        command.split_first().ok_or_else(|| Failure::new(Code::USAGE, "no command was given"))?;
    let (port, admission) = Admission::open(place).map_err(|e| Failure::new(Code::FAILED, e.to_string()))?;
    let setting = match std::env::var(PORTS) {
        Ok(theirs) if !theirs.is_empty() => format!("{theirs};{}", port.setting()),
        _ => port.setting().to_owned(),
    };
    let mut c = Command::new(program);
    c.args(args).envs(variables.iter().map(|(name, value)| (name, value))).env(PORTS, setting);
    match streams {
        Streams::Ours => {}
        Streams::OnStderr => {
            c.stdout(Stdio::from(io::stderr()));
        }
        Streams::Piped => {
            c.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
    }
    let child = c.spawn().map_err(|e| not_started(program, &e))?;
    let pid = child.id().ok_or_else(|| Failure::new(Code::FAILED, "the program has no process id"))?;
    Ok(Launched { child, pid, port, admission, unwatched: Unwatched::default(), through_sdk: false })
}

fn not_started(program: &OsStr, e: &io::Error) -> Failure {
    let name = program.to_string_lossy();
    match e.kind() {
        io::ErrorKind::NotFound => Failure::new(Code::NOT_FOUND, format!("{name}: command not found"))
            .remedy("check the spelling and PATH"),
        _ => Failure::new(Code::NOT_EXECUTABLE, format!("{name}: cannot be executed: {e}"))
            .remedy("is it a program, and may this user run it? a .dll needs `dotnet` in front"),
    }
}

/// What [`Launched::next_or_exit`] returns.
#[derive(Debug)]
pub(crate) enum NextOrExit {
    Runtime(Box<Suspended>),
    /// The child ended. A program without diagnostics never connects.
    Exited(ExitStatus),
}

impl Launched {
    /// Waits for the next runtime to watch or for the child's end. Resumes all other runtimes.
    ///
    /// # Errors
    /// The port failed.
    pub(crate) async fn next_or_exit(&mut self) -> io::Result<NextOrExit> {
        loop {
            let client = tokio::select! {
                client = self.port.accept() => client.map_err(io::Error::other)?,
                status = self.child.wait() => return Ok(NextOrExit::Exited(status?)),
                never = keep_looking(&self.admission, self.pid, admission::STARTUP_INTERVAL) => match never {},
            };
            let since = Instant::now();
            let info = match client.client().process_info().await {
                Ok(info) => info,
                Err(e) => {
                    tracing::debug!("a runtime connected and did not answer: {e}");
                    self.unwatched.resume(client);
                    continue;
                }
            };
            let entry = info.entry_assembly.as_deref().unwrap_or_default();
            tracing::debug!("process {} connected: {entry}", info.pid);
            let is_cli = entry == "dotnet";
            if is_cli || (self.through_sdk && SDK_PROGRAMS.contains(&entry)) {
                self.through_sdk |= is_cli;
                self.unwatched.resume(client);
                continue;
            }
            return Ok(NextOrExit::Runtime(Box::new(Suspended { client, info, since })));
        }
    }

    /// The parts, for a caller that handles every runtime itself.
    pub(crate) fn into_parts(self) -> (Child, DiagnosticPort, Admission) {
        (self.child, self.port, self.admission)
    }

    /// Resumes every further runtime, until the returned [`Others`] is dropped.
    pub(crate) fn release_all_others(self) -> (Child, Others) {
        let Launched { child, port, admission, pid, mut unwatched, .. } = self;
        let task = tokio::spawn(async move {
            let accepting = async {
                while let Ok(client) = port.accept().await {
                    unwatched.resume(client);
                }
            };
            tokio::select! {
                () = accepting => {}
                never = keep_looking(&admission, pid, admission::TREE_INTERVAL) => match never {},
            }
        });
        (child, Others(task))
    }
}

/// Searches the tree for other users at this interval, for ever.
async fn keep_looking(admission: &Admission, root: u32, every: Duration) -> Infallible {
    loop {
        sleep(every).await;
        admission.look(root);
    }
}

/// The task that resumes the other runtimes, until this is dropped.
#[derive(Debug)]
pub(crate) struct Others(tokio::task::JoinHandle<()>);

impl Others {
    /// Ends the task, and returns when its port is closed.
    pub(crate) async fn end(mut self) {
        self.0.abort();
        let _ended = (&mut self.0).await;
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The answers of CoreCLR and of the protocol if there was no such variable.
const NO_SUCH_VARIABLE: [HResult; 2] =
    [HResult::ENVIRONMENT_VARIABLE_NOT_FOUND, HResult::DS_ENVIRONMENT_VARIABLE_NOT_FOUND];

/// Removes our port from the target's environment, so that its own children do not inherit it.
///
/// # Errors
/// The target has gone.
pub(crate) async fn hide_port(client: &Client) -> Result<(), Error> {
    let theirs = std::env::var(PORTS).ok().filter(|v| !v.is_empty());
    let done = match theirs {
        Some(theirs) => client.set_environment_variable(PORTS, &theirs).await,
        None => client.remove_environment_variable(PORTS).await,
    };
    match done {
        // NativeAOT would crash if the variable were removed. An empty value names no port either.
        Err(Error::InvalidRequest { source: InvalidRequest::RemovalWouldCrash { .. }, .. }) => {
            client.set_environment_variable(PORTS, "").await
        }
        Err(e) if e.hresult().is_some_and(|code| NO_SUCH_VARIABLE.contains(&code)) => Ok(()),
        done => done,
    }
}

/// Why a program with these variables cannot be watched at level `roots`. The runtime would not say why.
pub(crate) fn refusal_from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Option<Refusal> {
    let setting = |name: &str| number(variable(name));
    let switched_off = |name: &str| setting(name).is_some_and(|n| n == 0);
    for name in ["DOTNET_EnableDiagnostics_Profiler", "COMPlus_EnableDiagnostics_Profiler"] {
        if switched_off(name) {
            return Some(Refusal::forbidden_by(name));
        }
    }
    let on =
        ["CORECLR_ENABLE_PROFILING", "CORECLR_PROFILER"].map(|n| variable(n).is_some_and(|v| !v.is_empty()));
    (on == [true, true] && setting("CORECLR_ENABLE_PROFILING") == Some(1)).then(|| {
        Refusal::new(
            Code::OTHER_PROFILER,
            "another profiler is named in the environment (CORECLR_PROFILER), and a runtime takes only one",
            "start the program without CORECLR_ENABLE_PROFILING",
        )
    })
}

/// The variable that switches all diagnostics off: the program runs, but nobody can watch it.
pub(crate) fn diagnostics_disabled_by() -> Option<&'static str> {
    [
        "DOTNET_EnableDiagnostics",
        "COMPlus_EnableDiagnostics",
        "DOTNET_EnableDiagnostics_IPC",
        "COMPlus_EnableDiagnostics_IPC",
    ]
    .into_iter()
    .find(|name| number(std::env::var_os(name)) == Some(0))
}

/// The runtime reads its settings as hexadecimal numbers.
fn number(value: Option<OsString>) -> Option<u64> {
    let value = value?.into_string().ok()?;
    u64::from_str_radix(value.trim().trim_start_matches("0x"), 16).ok()
}

/// The failure if the process ended while it was being set up.
pub(crate) fn ended_early() -> Failure {
    Failure::new(Code::NO_TARGET, "it ended before it was fully set up")
}

/// Waits for an answer of a process. `None`: the process has ended, and would never answer.
pub(crate) async fn unless_gone<T>(pid: u64, answer: impl Future<Output = T>) -> Option<T> {
    // In another namespace it has another id. Then only the timeout of the commands ends the wait.
    let Some(pid) = u32::try_from(pid).ok().filter(|pid| process::exists(*pid)) else {
        return Some(answer.await);
    };
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = exited(pid) => None,
    }
}

async fn exited(pid: u32) {
    const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(50);
    while process::exists(pid) {
        sleep(EXIT_CHECK_INTERVAL).await;
    }
}
