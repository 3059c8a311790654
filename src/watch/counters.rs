//! Reads the runtime's own counters for the live line: EventCounters of the provider `System.Runtime`.
//!
//! The runtime sends all counters of a provider or none. They make the target allocate (`docs/levels.md` says how
//! much), so a session asks for them only if something shows them.

use dotnet_diagnostics_client::nettrace::{Event, Fields, Value};
use dotnet_diagnostics_client::{Keywords, Level, Provider};

use crate::gc::facts::Counters;

/// The provider of the counters.
pub(super) const PROVIDER: &str = "System.Runtime";
const EVENT: &str = "EventCounters";

/// The provider as a session asks for it: no events of its own, and its counters once a second.
pub(super) fn provider() -> Provider {
    Provider::new(PROVIDER, Level::Informational)
        .keywords(Keywords::NONE)
        .arguments("EventCounterIntervalSec=1")
}

/// The last value of each counter that is of use.
#[derive(Debug, Default)]
pub(super) struct CounterReader {
    /// What the counters say now.
    pub(super) now: Counters,
    /// An allocation rate has come. The first is not shown: it is mostly what the counters' start allocated.
    allocated_before: bool,
}

impl CounterReader {
    /// Takes in an event of [`PROVIDER`]. `at_ns`: since the watch began.
    pub(super) fn add(&mut self, event: &Event<'_>, at_ns: u64) {
        if &*event.metadata.name != EVENT {
            return;
        }
        let mut counter = Counter::default();
        // What follows a field of an unknown type cannot be read; what came before it counts.
        counter.read(event.fields());
        match counter.name.as_str() {
            "gc-heap-size" => {
                // In units of 1,000,000 bytes.
                self.now.heap_bytes = counter.mean.and_then(|megabytes| whole(megabytes * 1e6));
                self.now.at_ns = at_ns;
            }
            "alloc-rate" => {
                let rate = counter.increment.zip(counter.interval_s).map(|(bytes, s)| bytes / s);
                let rate = rate.and_then(whole);
                self.now.allocated_per_s = rate.filter(|_| self.allocated_before);
                self.allocated_before |= rate.is_some();
            }
            _ => {}
        }
    }
}

/// A figure that makes sense: the target can send any.
fn whole(value: f64) -> Option<u64> {
    (0.0..1e18).contains(&value).then_some(value as u64)
}

/// The fields of one counter's event, which are inside a wrapper.
#[derive(Debug, Default)]
struct Counter {
    name: String,
    mean: Option<f64>,
    increment: Option<f64>,
    interval_s: Option<f64>,
}

/// The longest name of a counter that is read.
const MAX_NAME_CHARS: usize = 64;

impl Counter {
    fn read(&mut self, fields: Fields<'_>) {
        for (name, value) in fields {
            match (name, value) {
                (_, Value::Struct(inside)) => self.read(inside),
                ("Name", Value::Text(text)) => self.name = text.chars().take(MAX_NAME_CHARS).collect(),
                ("Mean", value) => self.mean = value.as_f64(),
                ("Increment", value) => self.increment = value.as_f64(),
                ("IntervalSec", value) => self.interval_s = value.as_f64(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
