//! Reads the runtime's own counters for the live line: EventCounters of the provider `System.Runtime`.
//!
//! The runtime sends all counters of a provider or none. They make the target allocate (`docs/levels.md` says how
//! much), so a session asks for them only if something shows them.

use dotnet_diagnostics_client::Provider;
use dotnet_diagnostics_client::nettrace::{Event, Field, FieldType};

use crate::gc::facts::Counters;

/// The provider of the counters.
pub(super) const PROVIDER: &str = "System.Runtime";
const EVENT: &str = "EventCounters";
/// The counters come at this level.
const INFORMATIONAL: u32 = 4;

/// The provider as a session asks for it: no events of its own, and its counters once a second.
pub(super) fn provider() -> Provider {
    let mut provider = Provider::new(PROVIDER, 0, INFORMATIONAL);
    provider.filter_args = Some("EventCounterIntervalSec=1".to_owned());
    provider
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
        let mut payload = event.payload;
        // What follows a field of an unknown type cannot be read; what came before it counts.
        let _ = counter.read(&event.metadata.fields, &mut payload);
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
    /// Reads the fields in order. `None`: the rest cannot be read.
    fn read(&mut self, fields: &[Field], payload: &mut &[u8]) -> Option<()> {
        for field in fields {
            match field.field_type {
                FieldType::OBJECT => self.read(&field.fields, payload)?,
                FieldType::UTF16_STRING => {
                    let text = utf16(payload)?;
                    if &*field.name == "Name" {
                        self.name = text;
                    }
                }
                FieldType::INT32 => drop(take::<4>(payload)?),
                FieldType::FLOAT32 => self.number(&field.name, f32::from_le_bytes(take(payload)?).into()),
                FieldType::FLOAT64 => self.number(&field.name, f64::from_le_bytes(take(payload)?)),
                _ => return None,
            }
        }
        Some(())
    }

    fn number(&mut self, name: &str, value: f64) {
        match name {
            "Mean" => self.mean = Some(value),
            "Increment" => self.increment = Some(value),
            "IntervalSec" => self.interval_s = Some(value),
            _ => {}
        }
    }
}

fn take<const N: usize>(payload: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = payload.split_first_chunk::<N>()?;
    *payload = rest;
    Some(*head)
}

/// A text that ends with a zero.
fn utf16(payload: &mut &[u8]) -> Option<String> {
    let mut units = Vec::new();
    loop {
        match u16::from_le_bytes(take(payload)?) {
            0 => return Some(String::from_utf16_lossy(&units)),
            unit if units.len() < MAX_NAME_CHARS => units.push(unit),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
