//! One process of a tree that is watched, from its first word to the end of its report.

use std::cell::RefCell;
use std::io;
use std::process::ExitStatus;
use std::rc::Rc;

use dotnet_diagnostics_client::{PortClient, ProcessInfo};
use tokio::sync::{mpsc, watch};

use super::attach::{begin, sampled};
use super::follow::facts;
use super::startup::{self, Go};
use super::{ending, verdict};
use crate::assertion::Assertions;
use crate::cli::RunArgs;
use crate::exit::{Code, Failure};
use crate::gc::facts::{Exit, Gap, Target};
use crate::gc::record::Level;
use crate::report::{Facts, IgnoreBrokenPipe, MultiProcess, label};
use crate::sys;
use crate::target;
use crate::watch::estimate::Beginning;
use crate::watch::launch::{self, Suspended, unless_gone};
use crate::watch::plan::{Wish, watch_facts};
use crate::watch::pump::{Ended, Limits, OnSignal, Order, Orders, Pump};
use crate::watch::recording;
use crate::watch::session::Session;

/// What is the same for all processes of a tree.
pub(super) struct Setup {
    pub(super) args: RunArgs,
    pub(super) checks: Assertions,
    pub(super) wish: Wish,
    pub(super) recording: Option<recording::Plan>,
    /// The command itself.
    pub(super) root: u32,
}

impl Setup {
    /// Whether this process was asked for.
    pub(super) fn wanted(&self, target: &Target, info: Option<&ProcessInfo>) -> bool {
        let only = &self.args.only;
        let title = target.title.as_deref().unwrap_or_default();
        let bare = [".dll", ".exe"].iter().find_map(|end| title.strip_suffix(end));
        let names = [Some(title), bare, info.and_then(|i| i.entry_assembly.as_deref())];
        only.is_empty() || only.iter().any(|name| names.contains(&Some(name)))
    }

    /// Says everything that has to be said before its first instruction; `None`: nobody asked for it.
    async fn enter(
        &self,
        client: &PortClient,
        target: &mut Target,
    ) -> Result<Option<(Suspended, Go)>, Failure> {
        let ended = || Failure::new(Code::NO_TARGET, "it ended before it was fully set up");
        let pid = client.transport().pid();
        let info = unless_gone(pid, client.process_info()).await.ok_or_else(ended)?;
        let info = info.map_err(|e| target::command_failed(&e, None))?;
        let seen = facts(pid);
        *target = target::describe(Some(&info), seen.as_ref());
        if !self.wanted(target, Some(&info)) {
            return Ok(None);
        }
        let suspended = Suspended { client: client.clone(), info };
        let wish = self.wish;
        let refusal = launch::refusal_from_environment(|name| match seen.as_ref().map(|f| &f.environ) {
            Some(Some(_)) => seen.as_ref().and_then(|f| f.variable(name)).map(ToOwned::to_owned),
            _ => std::env::var_os(name),
        });
        let refusal = refusal.filter(|_| wish.level() == Level::Roots);
        let fallen = refusal.map(|r| wish.fall_back(r)).transpose()?;
        let started = startup::start(&suspended, &self.args, wish, fallen);
        let go = unless_gone(pid, started).await.ok_or_else(ended)??;
        Ok(Some((suspended, go)))
    }
}

/// What is left of a watch.
pub(super) struct Done {
    pub(super) code: Code,
    /// It could not be watched, and why.
    pub(super) unwatched: Option<(Target, Failure)>,
    pub(super) report_error: Option<io::Error>,
    /// Its recording ended early.
    pub(super) recording: Option<Failure>,
    /// It waits at its start, and is not watched.
    pub(super) waits: Option<PortClient>,
}

impl Done {
    fn with(code: Code) -> Done {
        Done { code, unwatched: None, report_error: None, recording: None, waits: None }
    }
}

/// One process, and what its watch needs.
pub(super) struct Followed {
    pub(super) setup: Rc<Setup>,
    pub(super) multi_process: Rc<RefCell<MultiProcess>>,
    pub(super) orders: mpsc::UnboundedReceiver<Ended>,
    /// The command's own end.
    pub(super) status: watch::Receiver<Option<ExitStatus>>,
}

impl Orders for mpsc::UnboundedReceiver<Ended> {
    async fn order(&mut self) -> Order {
        match self.recv().await {
            Some(why) => Order::End(why),
            None => std::future::pending().await,
        }
    }
}

impl Followed {
    /// From its first word to the end of its report.
    pub(super) async fn watch(mut self, client: PortClient) -> Done {
        let pid = client.transport().pid();
        let mut target = target::describe(None, facts(pid).as_ref());
        target.pid = target.pid.or(u32::try_from(pid).ok());
        let entered = tokio::select! {
            biased;
            entered = self.setup.enter(&client, &mut target) => entered,
            why = self.orders.recv() => Err(Failure::new(
                Code::NO_TARGET,
                format!("the watch ended before it began ({})", why.map_or("", |why| ending(&why).1)),
            )),
        };
        match entered {
            Ok(Some((suspended, go))) => self.pump(suspended, go).await,
            Ok(None) => Done { waits: Some(client), ..Done::with(Code::OK) },
            Err(failure) => {
                let unwatched = Some((target, failure));
                Done { waits: Some(client), unwatched, ..Done::with(Code::OK) }
            }
        }
    }

    /// It runs. Whatever comes of it from now on has a report.
    async fn pump(mut self, suspended: Suspended, mut go: Go) -> Done {
        let Setup { args, checks, wish, recording, root } = self.setup.as_ref();
        let there = startup::profiler_is_there(&mut go, &suspended, args, *wish).await;
        let (level, reason, lease) = match there {
            Ok(there) => there,
            Err(failure) => {
                // The session goes with its stream; the process has been resumed already.
                let unwatched = Some((startup::describe(&suspended).await, failure));
                return Done { unwatched, ..Done::with(Code::OK) };
            }
        };
        let target = startup::describe(&suspended).await;
        let (name, is_root) = (label(&target), suspended.info.pid == u64::from(*root));
        let mut report = self.multi_process.borrow_mut().process(&target);
        if !checks.is_empty() {
            report = Box::new(IgnoreBrokenPipe::new(report));
        }
        let watch = watch_facts(level, reason, target.gc.concurrent, true, args.output.blocks, wish.sampling);
        let facts = Facts { target, watch };
        let mut session = Session::new(facts, report.as_mut()).judging(checks);
        let mut pump = Pump {
            stream: go.stream,
            control: &suspended.client,
            lease,
            windows: wish
                .sampling
                .and_then(|sample| sampled(sample, go.windows, &suspended.client, &args.watch, &args.output)),
            beginning: Beginning::now(),
            limits: Limits { duration: None, gcs: args.watch.gcs },
            pid: suspended.pid(),
        };
        let ended = match begin(recording.as_ref(), &mut session, &args.output) {
            Ok(()) => pump.run(&mut session, &mut self.orders, |_| OnSignal::GoOn).await,
            Err(e) => Ended::Report(e),
        };
        // A stream that nobody reads would hold the process up at its exit.
        drop(pump);
        let cut = matches!(ended, Ended::Target { whole: false });
        if cut {
            session.has_gap(Gap::Killed);
        }
        let finished = session.finish();
        let child = match &ended {
            Ended::Again(_) => None,
            _ if is_root => root_status(&mut self.status, &mut self.orders).await,
            _ => None,
        };
        let (code, reason) = ending(&ended);
        let verdicts = session.verdicts();
        verdict::say(&verdicts, &args.output, Some(&name));
        let code = match code {
            Code::OK if verdict::code(&verdicts) == Code::BROKEN => Code::BROKEN,
            Code::OK if args.output.strict && (cut || session.incomplete()) => Code::INCOMPLETE,
            Code::OK => verdict::code(&verdicts),
            code => code,
        };
        let mut report_error = finished.err();
        if let Ended::Report(e) = ended {
            report_error.get_or_insert(e);
        }
        let recording = session.recording_failed();
        if report_error.is_none() {
            report_error = session.end(&Exit { gcwatch: code.0, child, reason }).err();
        }
        Done { report_error, recording, ..Done::with(code) }
    }
}

/// Waits for the command's own end, or for the word that all is over.
async fn root_status(
    status: &mut watch::Receiver<Option<ExitStatus>>,
    orders: &mut mpsc::UnboundedReceiver<Ended>,
) -> Option<i32> {
    loop {
        tokio::select! {
            biased;
            known = status.wait_for(Option::is_some) => {
                return known.ok().and_then(|status| *status).map(sys::exit_code);
            }
            Some(order) = orders.recv() => if matches!(order, Ended::Again(_)) {
                return None;
            },
        }
    }
}
