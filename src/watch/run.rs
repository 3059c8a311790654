//! Does one watch, from its request to its outcome. `run`, `attach` and `--follow` differ only in source and control.

use std::time::Duration;

use dotnet_diagnostics_client::Client;

use super::aggregator::Results;
use super::control::{Control, Ended, NotWatched, unless_ended};
use super::graph::during::DuringWatch;
use super::launch::{self, Suspended, unless_gone};
use super::observer::Observer;
use super::processor::StreamProcessor;
use super::pump::{Connection, Pump};
use super::request::WatchRequest;
use super::sampler::Sampler;
use super::started::StartedWatch;
use super::{attached, startup, stopped};
use crate::gc::facts::{Facts, Gap, Target};
use crate::target::Found;

/// The process to watch.
pub(crate) enum WatchSource<'a> {
    /// A running process that was found.
    Running(&'a Found),
    /// A process that waits for us at its start.
    Suspended(&'a Suspended),
}

/// The results of a watch, and why it ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ended: Ended,
    pub(crate) results: Results,
    /// Why the observer failed, and so did not get everything.
    pub(crate) observer_error: Option<std::io::Error>,
    /// How long a program that gcwatch started waited for gcwatch; zero for one that was running.
    pub(crate) suspended_for: Duration,
}

impl Outcome {
    /// Whether the stream ended by itself without its end tag, as when the target is killed.
    pub(crate) fn is_truncated(&self) -> bool {
        matches!(self.ended, Ended::Target { whole: false })
    }
}

/// Watches one process: opens the session, loads the profiler, reads the stream until something ends the watch, and
/// leaves the process as it was.
///
/// # Errors
/// The process could not be watched at all. A failure after the start is part of the outcome.
pub(crate) async fn run(
    request: &WatchRequest,
    source: WatchSource<'_>,
    observer: &mut dyn Observer,
    control: &mut impl Control,
) -> Result<Outcome, NotWatched> {
    match source {
        WatchSource::Running(found) => {
            let target = found.describe();
            let concurrent = target.gc.concurrent;
            let pid = found.facts.as_ref().map(|facts| facts.pid);
            let started = stopped::unless_stopped(pid, attached::start(found, concurrent, request));
            let started = unless_ended(control, None, started).await??;
            let facts = Facts { watch: started.facts(request, concurrent, false), target };
            let connection = connect(started, request, &found.client, pid);
            Ok(observe(request, facts, connection, None, observer, control).await)
        }
        WatchSource::Suspended(suspended) => {
            let resumed = unless_gone(suspended.info.pid, startup::resume(suspended, request));
            let resumed = unless_ended(control, None, resumed).await?.ok_or_else(launch::ended_early)??;
            let suspended_for = suspended.since.elapsed();
            let mut stop = None;
            let started = async {
                let started = resumed.started(suspended, request).await?;
                Ok::<_, NotWatched>((started, startup::describe(suspended).await))
            };
            let (started, target): (StartedWatch, Target) =
                unless_ended(control, Some(&mut stop), started).await??;
            let facts = Facts { watch: started.facts(request, target.gc.concurrent, true), target };
            let connection = connect(started, request, suspended.client.client(), suspended.pid());
            let outcome = observe(request, facts, connection, stop, observer, control).await;
            Ok(Outcome { suspended_for, ..outcome })
        }
    }
}

fn connect<'a>(
    started: StartedWatch,
    request: &WatchRequest,
    client: &'a Client,
    pid: Option<u32>,
) -> Connection<'a> {
    let StartedWatch { stream, beginning, lease, lease_name, ready, graph_ready, roots, .. } = started;
    let sampler = roots.sampling.zip(ready).map(|(sample, ready)| {
        let sampler = Sampler::new(sample, request.detail, ready, client);
        match roots.until {
            _ if request.sampling.is_some() => sampler,
            Some(_) => sampler.staying(),
            None => sampler.after_gen2(),
        }
    });
    let sampler = sampler.or_else(|| graph_ready.map(|ready| Sampler::for_graph(ready, client)));
    Connection { stream, control: client, lease, lease_name, sampler, beginning, pid }
}

async fn observe(
    request: &WatchRequest,
    facts: Facts,
    connection: Connection<'_>,
    stop: Option<Ended>,
    observer: &mut dyn Observer,
    control: &mut impl Control,
) -> Outcome {
    let mut processor = StreamProcessor::new(facts, observer, false);
    // This statement closes the stream at its end: a stream that nobody reads would delay the target's exit.
    let ended = match processor.begin(request.recording.as_ref()) {
        Ok(()) => {
            let graph = request.graph.clone().map(DuringWatch::new);
            Pump::new(connection, request.limits, graph, stop).run(&mut processor, control).await
        }
        Err(e) => {
            drop(connection);
            Ended::Observer(e)
        }
    };
    if matches!(ended, Ended::Target { whole: false }) {
        processor.aggregator.has_gap(Gap::Killed);
    }
    let finished = processor.finish_live().err();
    let finished = finished.or(processor.no_graph_came(&ended).err());
    let observer_error = match &ended {
        Ended::Observer(e) => Some(std::io::Error::new(e.kind(), e.to_string())),
        _ => finished,
    };
    Outcome { ended, results: processor.into_results(), observer_error, suspended_for: Duration::ZERO }
}
