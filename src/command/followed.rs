//! Watches one process of a tree (`--follow`), from its connection to the end of its report.

use std::cell::RefCell;
use std::io;
use std::process::ExitStatus;
use std::rc::Rc;

use dotnet_diagnostics_client::{PortClient, ProcessInfo, ProcessStatus};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::conclude::{self, Concluded};
use super::observer::ReportObserver;
use super::output;
use crate::assertion::Assertions;
use crate::cli::RunArgs;
use crate::exit::{Code, Failure};
use crate::gc::facts::Target;
use crate::report::{MultiProcess, label};
use crate::sys::{self, Signal};
use crate::target;
use crate::watch::control::{Control, Ended, OnSignal, Order, unless_ended};
use crate::watch::launch::{self, Suspended, unless_gone};
use crate::watch::request::WatchRequest;
use crate::watch::run::{self, WatchSource};

/// What all processes of a tree share.
pub(super) struct Setup {
    pub(super) args: RunArgs,
    pub(super) assertions: Assertions,
    pub(super) request: WatchRequest,
    /// The process id of the command itself.
    pub(super) root: u32,
}

impl Setup {
    /// Whether `--only` names this process.
    pub(super) fn wanted(&self, target: &Target, info: Option<&ProcessInfo>) -> bool {
        let only = &self.args.only;
        let title = target.title.as_deref().unwrap_or_default();
        let bare = [".dll", ".exe"].iter().find_map(|end| title.strip_suffix(end));
        let names = [Some(title), bare, info.and_then(|i| i.entry_assembly.as_deref())];
        only.is_empty() || only.iter().any(|name| names.contains(&Some(name)))
    }
}

/// The result of one watch.
pub(super) struct Done {
    pub(super) code: Code,
    /// The process could not be watched, and why.
    pub(super) unwatched: Option<(Target, Failure)>,
    pub(super) report_error: Option<io::Error>,
    /// The recording ended early.
    pub(super) recording: Option<Failure>,
    /// The process is not watched, and may still be suspended at its start.
    pub(super) waits: Option<PortClient>,
}

impl Done {
    fn unwatched(client: PortClient, unwatched: Option<(Target, Failure)>) -> Done {
        Done { code: Code::OK, unwatched, report_error: None, recording: None, waits: Some(client) }
    }
}

/// Receives orders from the watch of the whole tree.
struct FromTree(mpsc::UnboundedReceiver<Ended>);

impl Control for FromTree {
    async fn order(&mut self) -> Order {
        match self.0.recv().await {
            Some(why) => Order::End(why),
            None => std::future::pending().await,
        }
    }

    fn on_signal(&mut self, _signal: Signal) -> OnSignal {
        OnSignal::GoOn
    }
}

/// What the watch of one process needs.
pub(super) struct Followed {
    pub(super) setup: Rc<Setup>,
    pub(super) multi_process: Rc<RefCell<MultiProcess>>,
    pub(super) orders: mpsc::UnboundedReceiver<Ended>,
    /// The command's own exit status, once it has ended.
    pub(super) status: watch::Receiver<Option<ExitStatus>>,
}

impl Followed {
    /// Watches the process that connected, until its report is complete.
    pub(super) async fn watch(self, client: PortClient) -> Done {
        let Followed { setup, multi_process, orders, mut status } = self;
        let pid = client.connections().pid();
        let mut control = FromTree(orders);
        let seen = facts(pid);
        let mut target = target::describe(None, seen.as_ref());
        target.pid = target.pid.or(u32::try_from(pid).ok());
        let info = async {
            let info =
                unless_gone(pid, client.client().process_info()).await.ok_or_else(launch::ended_early)?;
            info.map_err(|e| target::command_failed(&e, None))
        };
        let info = match unless_ended(&mut control, None, info).await {
            Ok(Ok(info)) => info,
            Ok(Err(failure)) => return Done::unwatched(client, Some((target, failure))),
            Err(not_watched) => return Done::unwatched(client, Some((target, not_watched.into_failure()))),
        };
        target = target::describe(Some(&info), facts(pid).as_ref());
        if !setup.wanted(&target, Some(&info)) {
            return Done::unwatched(client, None);
        }
        let args = &setup.args.output;
        let suspended = Suspended { client, info, since: Instant::now() };
        let mut observer =
            ReportObserver::of_process(multi_process, &setup.assertions, output::warnings(args, true));
        let source = WatchSource::Suspended(&suspended);
        let outcome = match run::run(&setup.request, source, &mut observer, &mut control).await {
            Ok(outcome) => outcome,
            Err(not_watched) => {
                return Done::unwatched(suspended.client, Some((target, not_watched.into_failure())));
            }
        };
        let is_root = suspended.info.pid == u64::from(setup.root);
        let child = match &outcome.ended {
            Ended::Again(_) => None,
            _ if is_root => root_status(&mut status, &mut control.0).await,
            _ => None,
        };
        let name = label(&outcome.results.facts.target);
        let child = conclude::Child::NotCounted(child);
        let Concluded { code, report_error, recording } =
            conclude::live(outcome, &mut observer, child, args, Some(&name));
        Done { code, unwatched: None, report_error, recording, waits: None }
    }
}

/// Waits until the command ends; `None` if a second signal comes first.
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

/// What gcwatch sees of a process from outside; `None` if it does not see it.
fn facts(pid: u64) -> Option<ProcessStatus> {
    u32::try_from(pid).ok().map(ProcessStatus::read).filter(|facts| facts.exists)
}
