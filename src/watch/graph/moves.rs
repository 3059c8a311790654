//! Watches what moves between two graphs.

use std::cell::RefCell;
use std::io;

use dotnet_diagnostics_client::EventSession;
use tokio::sync::Notify;

use crate::gc::facts::{Facts, Watch};
use crate::gc::following::Following;
use crate::gc::record::{Gc, Level};
use crate::sys::Signal;
use crate::target::Found;
use crate::watch::control::{Control, Ended, OnSignal, Order};
use crate::watch::estimate::Beginning;
use crate::watch::observer::Observer;
use crate::watch::processor::StreamProcessor;
use crate::watch::pump::{Connection, Pump};
use crate::watch::request::Limits;

/// Reads the session to its end, and tells `following` of each collection. `stop` ends the session, when the profiler has
/// left. What it sent before comes then.
pub(crate) async fn follow(
    found: &Found,
    session: EventSession,
    following: &RefCell<Following>,
    stop: &Notify,
) {
    let watch = Watch { level: Level::Roots, blocks: true, ..Watch::default() };
    let facts = Facts { watch, target: found.describe() };
    let connection = Connection {
        stream: session,
        control: &found.client,
        lease: None,
        lease_name: None,
        sampler: None,
        beginning: Beginning::now(),
        pid: found.facts.as_ref().map(|facts| facts.pid),
    };
    let mut collections = Collections { following };
    let mut processor = StreamProcessor::new(facts, &mut collections, false);
    if processor.begin(None).is_ok() {
        Pump::new(connection, Limits::default(), None, None).run(&mut processor, &mut Stop(stop)).await;
    }
    // The observer never fails.
    let _shown = processor.finish_live();
}

struct Collections<'a> {
    following: &'a RefCell<Following>,
}

impl Observer for Collections<'_> {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        Ok(())
    }

    fn gc(&mut self, _facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.following.borrow_mut().gc(gc);
        Ok(())
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        tracing::debug!("{message}");
        Ok(())
    }
}

struct Stop<'a>(&'a Notify);

impl Control for Stop<'_> {
    async fn order(&mut self) -> Order {
        self.0.notified().await;
        Order::End(Ended::Duration)
    }

    /// Signals end the whole command, so none comes here.
    fn on_signal(&mut self, _signal: Signal) -> OnSignal {
        OnSignal::Stop
    }
}
