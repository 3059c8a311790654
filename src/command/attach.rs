//! `gcwatch attach`: watches a process that is already running, and leaves it running.

use super::observer::ReportObserver;
use super::request::{recording, watch_request, with_live_line};
use super::{conclude, output, verdict};
use crate::cli::AttachArgs;
use crate::exit::{Code, Failure};
use crate::sys::{Signal, Signals};
use crate::target::{self, Wanted};
use crate::watch::control::{Control, NotWatched, OnSignal, Order, unless_ended};
use crate::watch::request::{Careful, WatchRequest};
use crate::watch::run::{self, WatchSource};
use crate::watch::stopped::unless_stopped;

pub(crate) fn run(args: &AttachArgs) -> Result<Code, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(attach(args)).or_else(|not_watched| match not_watched {
        NotWatched::Failed(failure) => Err(failure),
        NotWatched::Interrupted(code) => Ok(code),
    })
}

async fn attach(args: &AttachArgs) -> Result<Code, NotWatched> {
    let assertions = verdict::assertions(&args.assertions)?
        .and_stop_on(&args.watch.stop_on, args.watch.keep_recording.is_some());
    let careful =
        Careful { max_blocking_gc: args.careful.max_blocking_gc, step_back: args.careful.step_back };
    let request = WatchRequest { careful, ..watch_request(&args.watch, &args.output, &assertions)? };
    let mut control = StopOnSignal(Signals::listen().map_err(Failure::from)?);
    let wanted = wanted(args)?;
    let pid = if let Wanted::Pid(pid) = wanted { Some(pid) } else { None };
    let found = unless_ended(&mut control, None, unless_stopped(pid, target::find(&wanted))).await??;
    let request = WatchRequest { recording: recording(&args.watch, &args.output, false)?, ..request };
    let request = with_live_line(request, output::shows_live_line(&args.output, false));
    let (report, warnings) = output::open(&args.output, false, true)?;
    let observer = ReportObserver::new(report, &assertions, warnings);
    let mut observer = observer.with_graph_at(&args.watch.graph_at);
    let outcome = run::run(&request, WatchSource::Running(&found), &mut observer, &mut control).await?;
    let concluded =
        conclude::live(outcome, &mut observer, conclude::Child::NotCounted(None), &args.output, None);
    Ok(concluded.into_result(args.output.output.as_deref())?)
}

/// The first signal ends the watch.
struct StopOnSignal(Signals);

impl Control for StopOnSignal {
    async fn order(&mut self) -> Order {
        Order::Signal(self.0.next().await)
    }

    fn on_signal(&mut self, _signal: Signal) -> OnSignal {
        OnSignal::Stop
    }
}

fn wanted(args: &AttachArgs) -> Result<Wanted, Failure> {
    match (&args.pid, args.process_id, &args.name, &args.diagnostic_port) {
        (Some(text), ..) => Ok(text.parse().map_or_else(|_| Wanted::Name(text.clone()), Wanted::Pid)),
        (_, Some(pid), ..) => Ok(Wanted::Pid(pid)),
        (_, _, Some(name), _) => Ok(Wanted::Name(name.clone())),
        (.., Some(port)) => Ok(Wanted::Port(port.clone())),
        _ => Err(Failure::new(Code::USAGE, "no process was named")
            .remedy("give a process id; gcwatch ps lists them")),
    }
}
