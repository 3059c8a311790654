//! `gcwatch run --follow`: watches every .NET process that a command starts, each with a watch of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use dotnet_diagnostics_client::{DiagnosticPort, PortClient, process};
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::child::{no_runtime, pass_on};
use super::conclude::report_failed;
use super::followed::{Done, Followed, Setup};
use super::output::Sink;
use super::request::{recording, watch_request};
use super::stderr::say;
use super::{output, verdict};
use crate::cli::{Format, RunArgs};
use crate::escape::escape_untrusted;
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Target};
use crate::gc::record::Level;
use crate::report::{MultiProcess, NOT_WATCHED, label};
use crate::sys::{self, Signals};
use crate::target;
use crate::watch::admission::Admission;
use crate::watch::control::{Ended, interrupted_by};
use crate::watch::launch::{self, Program, Streams};
use crate::watch::port::Unwatched;
use crate::watch::port_guard::GuardedPort;
use crate::watch::request::{Limits, WatchRequest};
use crate::watch::unreachable::Unreachable;

/// How often gcwatch looks for processes that do not connect.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Starts the command, watches all its processes, and ends with the command's exit code.
pub(super) fn run(args: &RunArgs) -> Result<Code, Failure> {
    // Declared first, so that it is dropped after the runtime, which closes the port.
    let mut port = None;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(follow(args, &mut port))
}

async fn follow(args: &RunArgs, port: &mut Option<GuardedPort>) -> Result<Code, Failure> {
    if !args.watch.graph_at.is_empty() {
        let what = "--graph-at takes a graph of one process, and --follow watches several";
        return Err(Failure::new(Code::USAGE, what)
            .remedy("omit --follow, or give gcwatch attach --graph-at the process that matters"));
    }
    let assertions = verdict::assertions(&args.assertions)?
        .and_stop_on(&args.watch.stop_on, args.watch.keep_recording.is_some());
    let recording = recording(&args.watch, &args.output, true)?;
    let request = WatchRequest {
        // `--duration` limits the whole tree, not one watch.
        limits: Limits { duration: None, gcs: args.watch.gcs },
        recording,
        children_dial: true,
        ..watch_request(&args.watch, &args.output, &assertions)?
    };
    let mut signals = Signals::listen()?;
    let to_stderr = output::sink(&args.output, true) == Sink::Stdout;
    let multi_process = Rc::new(RefCell::new(output::open_multi_process(&args.output, true)?));
    let guarded = port.insert(GuardedPort::make()?);
    let streams = if to_stderr { Streams::OnStderr } else { Streams::Ours };
    let program = Program { command: &args.command, variables: &[], streams };
    let launched = launch::launch(program, guarded.place().clone())?;
    let root = launched.pid;
    let (child, port, admission) = launched.into_parts();
    // Before the command can start other processes: those that come later belong to the tree.
    let unreachable = Unreachable::new(guarded.place().address(), root);
    let setup = Rc::new(Setup { args: args.clone(), assertions, request, root });
    let (status, _) = watch::channel(None);
    let mut tree = Tree {
        setup,
        admission,
        multi_process,
        tasks: JoinSet::new(),
        running: HashMap::new(),
        unwatched: Unwatched::default(),
        status,
        unreachable,
        end: None,
        failures: Failures::default(),
    };
    LocalSet::new().run_until(tree.watch(child, port, &mut signals)).await
}

/// The first failure of each kind.
#[derive(Default)]
struct Failures {
    /// A process could not be watched.
    unwatched: Option<Failure>,
    report: Option<io::Error>,
    /// A recording ended early.
    recording: Option<Failure>,
    broken: bool,
    incomplete: bool,
}

/// One running watch.
struct Running {
    pid: u64,
    orders: mpsc::UnboundedSender<Ended>,
}

struct Tree {
    setup: Rc<Setup>,
    admission: Admission,
    multi_process: Rc<RefCell<MultiProcess>>,
    tasks: JoinSet<Done>,
    running: HashMap<tokio::task::Id, Running>,
    unwatched: Unwatched,
    /// The command's own exit status, once it has ended.
    status: watch::Sender<Option<ExitStatus>>,
    unreachable: Unreachable,
    /// Why the whole watch is over: new processes are resumed unwatched.
    end: Option<&'static str>,
    failures: Failures,
}

impl Tree {
    async fn watch(
        &mut self,
        mut child: Child,
        port: DiagnosticPort,
        signals: &mut Signals,
    ) -> Result<Code, Failure> {
        let mut at_once: Option<Code> = None;
        let mut signalled = false;
        let mut look = interval(LOOK_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let until = self.setup.args.watch.duration.map(|d| Instant::now() + d);
        while at_once.is_none() && self.status.borrow().is_none() || !self.tasks.is_empty() {
            tokio::select! {
                biased;
                signal = signals.next() => if signalled {
                    at_once = Some(interrupted_by(signal));
                    self.end = Some(Ended::Again(signal).reason_and_code().0);
                    self.running.values().for_each(|r| r.end(Ended::Again(signal)));
                } else {
                    signalled = true;
                    pass_on(self.setup.root, signal);
                },
                Some(done) = self.tasks.join_next_with_id() => if let Ok((id, done)) = done {
                    self.running.remove(&id);
                    self.done(done);
                },
                client = port.accept() => {
                    let client = client.map_err(io::Error::other)?;
                    let pid = client.connections().pid();
                    u32::try_from(pid).ok().into_iter().for_each(|pid| self.unreachable.reported(pid));
                    match self.end {
                        None => self.follow(client, pid),
                        Some(_) => self.unwatched.resume(client),
                    }
                }
                status = child.wait(), if self.status.borrow().is_none() => {
                    self.status.send_replace(Some(status?));
                    self.end.get_or_insert("target-ended");
                    // Streams of processes that have ended are read to their ends; the other watches stop.
                    let on = |r: &&Running| u32::try_from(r.pid).is_ok_and(process::exists);
                    self.running.values().filter(on).for_each(|r| r.end(Ended::Command));
                }
                () = async { if let Some(at) = until { sleep_until(at).await } },
                    if until.is_some() && self.end.is_none() =>
                {
                    self.end = Some("duration");
                    self.running.values().for_each(|r| r.end(Ended::Duration));
                }
                _ = look.tick() => {
                    self.admission.look(self.setup.root);
                    if self.end.is_none() {
                        self.report_unreachable();
                    }
                }
            }
        }
        self.conclude(at_once)
    }

    /// Starts to watch one more process.
    fn follow(&mut self, client: PortClient, pid: u64) {
        let (orders, receiver) = mpsc::unbounded_channel();
        let followed = Followed {
            setup: Rc::clone(&self.setup),
            multi_process: Rc::clone(&self.multi_process),
            orders: receiver,
            status: self.status.subscribe(),
        };
        let id = self.tasks.spawn_local(followed.watch(client)).id();
        self.running.insert(id, Running { pid, orders });
    }

    fn done(&mut self, done: Done) {
        let code = done.code;
        if let Some(client) = done.waits {
            self.unwatched.resume(client);
        }
        self.failures.broken |= code == Code::BROKEN;
        self.failures.incomplete |= code == Code::INCOMPLETE;
        if self.failures.report.is_none() {
            self.failures.report = done.report_error;
        }
        if self.failures.recording.is_none() {
            self.failures.recording = done.recording;
        }
        if let Some((target, failure)) = done.unwatched {
            self.report_unwatched(target, failure);
        }
    }

    fn report_unreachable(&mut self) {
        for process in self.unreachable.look() {
            let target = target::describe(None, Some(&process.facts));
            if !self.setup.wanted(&target, None) {
                continue;
            }
            let failure = Failure::new(Code::UNSUPPORTED, process.why).remedy(process.remedy);
            self.report_unwatched(target, failure);
        }
    }

    fn report_unwatched(&mut self, target: Target, failure: Failure) {
        let name = label(&target);
        let verdicts = self.setup.assertions.unjudged("the process was not watched");
        self.failures.incomplete |= !verdicts.is_empty();
        let exit = Exit { gcwatch: failure.code.0, child: None, reason: NOT_WATCHED };
        let written = self.multi_process.borrow_mut().not_watched(target, &failure.what, &verdicts, &exit);
        if self.setup.args.output.format != Format::Text {
            say(&format!("gcwatch: {name} is not watched: {}", escape_untrusted(&failure.what)));
        }
        if let Err(e) = written {
            self.failures.report.get_or_insert(e);
        }
        self.failures.unwatched.get_or_insert(failure);
    }

    /// Ends the report, and finds the exit code or the failure of the whole tree.
    fn conclude(&mut self, at_once: Option<Code>) -> Result<Code, Failure> {
        let args = &self.setup.args;
        let child = self.status.borrow().map(sys::exit_code);
        let failures = std::mem::take(&mut self.failures);
        let nobody_watched = self.multi_process.borrow().watched() == 0;
        let mut failure = None;
        if nobody_watched && at_once.is_none() {
            failure = Some(failures.unwatched.unwrap_or_else(|| match args.only.is_empty() {
                true => no_runtime(&args.command, false),
                false => nobody(&args.only),
            }));
        } else if self.setup.request.demanded == Some(Level::Roots) {
            failure = failures.unwatched;
        }
        failure = failure.or(failures.recording);
        let code = match (at_once, child) {
            (Some(code), _) => code,
            (None, Some(n)) if n != 0 => Code(n),
            (None, None) => Code::INTERRUPTED,
            _ if failures.broken => Code::BROKEN,
            _ => match &failure {
                Some(failure) => failure.code,
                None if failures.incomplete => Code::INCOMPLETE,
                None => Code::OK,
            },
        };
        let reason = if nobody_watched { NOT_WATCHED } else { self.end.unwrap_or("target-ended") };
        let ended = self.multi_process.borrow_mut().end(&Exit { gcwatch: code.0, child, reason });
        let errors = failures.report.into_iter().chain(ended.err());
        let file = args.output.output.as_deref();
        for error in errors {
            report_failed(&error, file)?;
        }
        match failure {
            Some(failure) => Err(Failure { code, ..failure }),
            None => Ok(code),
        }
    }
}

impl Running {
    fn end(&self, why: Ended) {
        // Fails if the watch has ended already.
        let _ended = self.orders.send(why);
    }
}

/// The failure if no process had a name that `--only` gives.
fn nobody(names: &[String]) -> Failure {
    Failure::new(Code::NO_TARGET, format!("no .NET process called {} was started", names.join(" or ")))
        .remedy("leave --only out: each report says what its process is called")
}
