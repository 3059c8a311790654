//! Compares two sessions of one runtime: both have the same events of the same threads in the same order.
//!
//! A runtime writes each event to one session after the other, and reads the clock for each. So the two times of an
//! event differ, by much if the thread is preempted in between; but on each thread the times of the two sessions
//! alternate, however busy the machine is. If they do, both sessions saw every event.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::nettrace::{Item, Reader};

use super::stream::RUNTIME;

/// GCStart, GCEnd, RestartEEEnd, RestartEEBegin, SuspendEEEnd, SuspendEEBegin.
const EVENTS: [u32; 6] = [1, 2, 3, 7, 8, 9];

/// An event's id and payload, and its time.
struct Event {
    what: (u32, Vec<u8>),
    at: i64,
}

/// Two recordings of different sessions hold the same events of a run, and their times alternate.
pub(crate) fn interleaved(one: &Path, other: &Path) -> Result<()> {
    let (one, other) = (by_thread(one)?, by_thread(other)?);
    let (mut forward, mut backward, mut all) = (0, 0, 0);
    for (thread, ours) in &one {
        let theirs =
            other.get(thread).with_context(|| format!("the other file has no events of thread {thread}"))?;
        // One session may begin a little earlier or end a little later.
        let (first, last) = (ours.first().context("no events")?, ours.last().context("no events")?);
        let skipped = theirs.iter().position(|event| event.what == first.what).context("no first event")?;
        let theirs = &theirs[skipped..];
        for (n, (own, their)) in ours.iter().zip(theirs).enumerate() {
            ensure!(own.what == their.what, "event {n} of thread {thread}: {:?}, {:?}", own.what, their.what);
            all += 1;
            if own.at <= their.at {
                forward += 1;
                let next = ours.get(n + 1).is_none_or(|next| their.at <= next.at);
                ensure!(next, "event {n} of thread {thread}, {:?}: later than the next one", own.what);
            } else {
                backward += 1;
                let next = theirs.get(n + 1).is_none_or(|next| own.at <= next.at);
                ensure!(next, "event {n} of thread {thread}, {:?}: later than the next one", own.what);
            }
        }
        ensure!(
            theirs.len() >= ours.len(),
            "thread {thread}: {} events, {}: {:?}",
            ours.len(),
            theirs.len(),
            last.what
        );
    }
    ensure!(all > 0, "no events");
    ensure!(
        forward == 0 || backward == 0,
        "{forward} events came first in one session, {backward} in the other"
    );
    Ok(())
}

fn by_thread(path: &Path) -> Result<BTreeMap<u64, Vec<Event>>> {
    let bytes = std::fs::read(path).with_context(|| format!("no {}", path.display()))?;
    let mut reader = Reader::new();
    reader.feed(&bytes);
    reader.finish();
    let mut threads: BTreeMap<u64, Vec<Event>> = BTreeMap::new();
    loop {
        match reader.next_item()? {
            Some(Item::Event(event))
                if &*event.metadata.provider == RUNTIME && EVENTS.contains(&event.metadata.event_id) =>
            {
                let what = (event.metadata.event_id, event.payload.to_vec());
                threads.entry(event.thread_id).or_default().push(Event { what, at: event.timestamp });
            }
            Some(Item::End(_)) | None => break,
            Some(_) => {}
        }
    }
    Ok(threads)
}
