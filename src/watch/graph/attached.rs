//! The profiler in a process, while graphs are taken of it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use dotnet_diagnostics_client::EventSession;
use dotnet_heap_graph::format::Writer;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::take::{self, Facts, HEARTBEAT_INTERVAL, NotTaken, Progress, Wish};
use crate::exit::{Code, Failure};
use crate::gc::record::Level;
use crate::sys::Lease;
use crate::target::{self, Found};
use crate::watch::profiler::{self, LeaseName, Ready};
use crate::watch::refusal::Refusal;
use crate::watch::stream::{self, Detail};

/// How long gcwatch waits for the profiler to leave.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);

/// The profiler is loaded. It leaves when this is dropped, too.
#[derive(Debug)]
pub(crate) struct Attached {
    lease: Lease,
    /// The name of the lease's socket, which each connection for a graph needs.
    name: Option<LeaseName>,
    /// The process; `None`: unknown.
    pid: Option<u32>,
}

fn refused(refusal: Refusal) -> Failure {
    refusal.into_failure_of("no graph can be taken")
}

fn detail(blocks: bool) -> Detail {
    Detail { blocks, names: true, ..Detail::default() }
}

impl Attached {
    /// Loads the profiler.
    ///
    /// # Errors
    /// The process cannot load it.
    pub(crate) async fn to(found: &Found, profiler_path: Option<&Path>) -> Result<Attached, Failure> {
        let process = found.client.transport().process();
        let mut ready =
            profiler::prepare(profiler_path, process, &found.temp_dir()).await.map_err(refused)?;
        ready.attach(&found.client, detail(false), None).await.map_err(refused)?;
        Ok(Attached::of(ready, found))
    }

    fn of(ready: Ready, found: &Found) -> Attached {
        let (lease, name) = ready.into_lease();
        Attached { lease, name: Some(name), pid: found.facts.as_ref().map(|facts| facts.pid) }
    }

    /// Loads the profiler, and opens a session in which it tells what moves and what survives in each collection.
    ///
    /// # Errors
    /// The process cannot load it, or opens no session.
    pub(crate) async fn watching(
        found: &Found,
        profiler_path: Option<&Path>,
    ) -> Result<(Attached, EventSession), Failure> {
        let process = found.client.transport().process();
        let mut ready =
            profiler::prepare(profiler_path, process, &found.temp_dir()).await.map_err(refused)?;
        let opened = stream::open(&found.client, Level::Roots, detail(true)).await;
        let session = opened.map_err(|e| target::command_failed(&e, found.facts.as_ref()))?;
        if let Err(refusal) = ready.attach(&found.client, detail(true), None).await {
            stream::close(&found.client, session).await;
            return Err(refused(refusal));
        }
        Ok((Attached::of(ready, found), session))
    }

    /// Takes a graph, and writes it. `is_last`: there will be no other one.
    ///
    /// # Errors
    /// The process cannot be forked, it ended, there was no collection, or the file cannot be written.
    pub(crate) async fn take<W: Write>(
        &mut self,
        wish: Wish,
        writer: &mut Writer<W>,
        is_last: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Facts, NotTaken> {
        let stream = take::asked(&mut self.lease).await;
        if is_last {
            // Nothing is left of the socket if gcwatch is killed from here on.
            self.name = None;
        }
        let beat = || self.lease.beat();
        take::receive(stream?, self.pid, &beat, wish, writer, progress).await
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// The profiler has left, as when the process ends.
    pub(crate) async fn wait(&mut self, time: Duration) -> Result<(), Failure> {
        let mut heartbeat = interval(HEARTBEAT_INTERVAL);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end = sleep(time);
        tokio::pin!(end);
        let lease = &mut self.lease;
        loop {
            tokio::select! {
                () = &mut end => return Ok(()),
                _ = heartbeat.tick() => lease.beat(),
                () = lease.gone() => {
                    return Err(Failure::new(Code::NO_TARGET, "the process ended before the second graph")
                        .remedy("give --again less time"));
                }
            }
        }
    }

    /// Tells the profiler to leave, and waits until it has.
    pub(crate) async fn leave(mut self) {
        let lease = &mut self.lease;
        lease.end().await;
        let _left = timeout(LEAVE_TIMEOUT, lease.gone()).await;
    }
}
