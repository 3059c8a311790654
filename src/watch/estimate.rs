//! Estimates how long a blocking collection of generation 2 would take, before the profiler is loaded and makes all of
//! them block.

use std::time::Duration;

use dotnet_diagnostics_client::EventSession;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout_at};

use super::decoder::{Decoder, StreamItem};
use crate::gc::facts::Estimate;
use crate::gc::fold::Fold;
use crate::gc::record::{Gc, Kind};
use crate::sys;

/// How long to wait for the program's next collection, whose events say how large the heap is.
const NEXT_GC_TIMEOUT: Duration = Duration::from_secs(1);
/// More than a stream has in that time.
const MAX_READ_BYTES: usize = 64 << 20;
const MIB: u64 = 1 << 20;
/// The pace if none was measured.
const USUAL_NS_PER_MIB: u64 = 1_000_000;
/// Below this, fixed costs are most of a collection's pause, so it says nothing about a large collection.
const MIN_PROMOTED_BYTES: u64 = MIB;

impl Estimate {
    fn new(bytes: u64, by_statistics: bool, measured_ns_per_mib: Option<u64>) -> Estimate {
        let ns_per_mib = measured_ns_per_mib.unwrap_or(USUAL_NS_PER_MIB);
        let ns = u128::from(bytes) * u128::from(ns_per_mib) / u128::from(MIB);
        Estimate {
            blocking_gc_ns: u64::try_from(ns).unwrap_or(u64::MAX),
            bytes,
            by_statistics,
            ns_per_mib,
            pace_measured: measured_ns_per_mib.is_some(),
        }
    }

    /// From the process's memory, which the heap cannot exceed. `None`: the system does not say.
    pub(crate) fn by_memory(pid: Option<u32>) -> Option<Estimate> {
        let bytes = sys::memory_bytes(pid?)?;
        Some(Estimate::new(bytes, false, None))
    }
}

/// The beginning of a stream, which was read for the estimate. The watch has yet to process these bytes.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) since: Instant,
    pub(crate) bytes: Vec<u8>,
}

impl Beginning {
    /// A beginning of which nothing was read yet.
    pub(crate) fn now() -> Beginning {
        Beginning { since: Instant::now(), bytes: Vec::new() }
    }
}

/// From the runtime's statistics, if a collection comes soon enough.
pub(crate) async fn by_statistics(stream: &mut EventSession, beginning: &mut Beginning) -> Option<Estimate> {
    let until = Instant::now() + NEXT_GC_TIMEOUT;
    let mut listener = Listener::default();
    let mut buffer = vec![0; 256 << 10];
    while listener.size.is_none() && beginning.bytes.len() < MAX_READ_BYTES {
        // If the stream has ended, the watch finds that out by itself.
        let Ok(Ok(n @ 1..)) = timeout_at(until, stream.read(&mut buffer)).await else { break };
        beginning.bytes.extend_from_slice(&buffer[..n]);
        listener.bytes(&buffer[..n]);
    }
    listener.estimate()
}

/// Reads the heap's size and the pace of collecting from the collections of a stream.
#[derive(Default)]
struct Listener {
    decoder: Decoder,
    fold: Fold,
    /// The size of gen2 and the large object heap after the last collection.
    size: Option<u64>,
    promoted: u64,
    pause_ns: u64,
}

impl Listener {
    fn bytes(&mut self, bytes: &[u8]) {
        self.decoder.reader.feed(bytes);
        self.drain();
        if self.decoder.reader.held_events() > 0 && self.decoder.reader.flush_ended() {
            self.decoder.reader.release_held();
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some(item) = self.decoder.next() {
            match item {
                StreamItem::Event { stream_event, .. } => self.fold.event(stream_event),
                StreamItem::Lost(lost) => self.fold.lost(lost.events),
                // The watch reads the same bytes and reports the damage.
                StreamItem::End { .. } | StreamItem::Damaged(_) => break,
                _ => {}
            }
        }
        while let Some(gc) = self.fold.take() {
            self.gc(&gc);
        }
    }

    fn gc(&mut self, gc: &Gc) {
        let after = |index: usize| gc.generations.get(index).and_then(|g| g.size_after_bytes);
        if let (Some(gen2), Some(large)) = (after(2), after(3)) {
            self.size = Some(gen2.saturating_add(large));
        }
        let blocked = gc.complete() && matches!(gc.kind, Some(Kind::Blocking | Kind::Foreground));
        if let (true, Some(promoted), Some(pause_ns)) = (blocked, gc.promoted_bytes, gc.pause_ns)
            && promoted >= MIN_PROMOTED_BYTES
        {
            self.promoted = self.promoted.saturating_add(promoted);
            self.pause_ns = self.pause_ns.saturating_add(pause_ns);
        }
    }

    fn estimate(&self) -> Option<Estimate> {
        let pace = (self.promoted > 0).then(|| {
            let ns = u128::from(self.pause_ns) * u128::from(MIB) / u128::from(self.promoted);
            u64::try_from(ns).unwrap_or(u64::MAX)
        });
        self.size.map(|bytes| Estimate::new(bytes, true, pace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::{GenerationStats, Level};

    #[test]
    fn the_default_pace_is_one_ms_per_mib() {
        let estimate = Estimate::new(640 * MIB, false, None);
        assert_eq!((estimate.blocking_gc_ns, estimate.pace_measured), (640_000_000, false));
        assert_eq!(Estimate::new(u64::MAX, true, Some(u64::MAX)).blocking_gc_ns, u64::MAX);
    }

    #[test]
    fn the_pace_is_that_of_the_collections_that_promoted_enough() {
        let mut listener = Listener::default();
        assert_eq!(listener.estimate(), None);
        let mut gc = Gc::unknown(Level::Basic);
        gc.kind = Some(Kind::Blocking);
        gc.generations = vec![GenerationStats::default(); 5];
        gc.generations[2].size_after_bytes = Some(90 * MIB);
        gc.generations[3].size_after_bytes = Some(10 * MIB);
        (gc.promoted_bytes, gc.pause_ns) = (Some(MIB / 2), Some(5_000_000));
        listener.gc(&gc);
        assert_eq!(listener.estimate().map(|e| (e.bytes, e.ns_per_mib)), Some((100 * MIB, USUAL_NS_PER_MIB)));
        (gc.promoted_bytes, gc.pause_ns) = (Some(4 * MIB), Some(8_000_000));
        listener.gc(&gc);
        // The pause of a background collection does not count: the program runs beside it.
        (gc.kind, gc.pause_ns) = (Some(Kind::Background), Some(1));
        listener.gc(&gc);
        let estimate = listener.estimate().expect("an estimate");
        assert_eq!((estimate.ns_per_mib, estimate.blocking_gc_ns), (2_000_000, 200_000_000));
        assert!(estimate.by_statistics && estimate.pace_measured);
    }
}
