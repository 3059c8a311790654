//! The list of a recording's events that other tests compare with is complete: TraceEvent's own count is the same.

use std::fs;

use anyhow::{Context, Result, ensure};
use xtask::Clr;
use xtask::testkit::recordings;

use crate::it::suite::{Need, Suite};
use crate::it::support::{GCSTATS, Json, TRACE_EVENT, gcstats, peer_events};

pub(crate) fn register(suite: &mut Suite) {
    let needs = [Need::Peer(TRACE_EVENT), Need::Peer(GCSTATS)];
    suite.once("peer_events::every_event_once", &needs, every_event_once);
}

fn every_event_once(_: &Clr) -> Result<()> {
    for entry in fs::read_dir(recordings()?)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "nettrace") {
            continue;
        }
        let lines = peer_events(&path)?;
        let counted = gcstats(&path)?.totals.uint("/events")?;
        ensure!(lines.len() as u64 == counted, "{} of {counted} events: {}", lines.len(), path.display());
        for line in &lines {
            well_formed(line).with_context(|| format!("an event of {}: {line:.200}", path.display()))?;
        }
    }
    Ok(())
}

/// Whether a line has all columns of an event, and fields after them.
fn well_formed(line: &str) -> Result<()> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [provider, id, version, _name, thread, time, fields @ ..] = columns.as_slice() else {
        anyhow::bail!("columns are missing");
    };
    ensure!(!provider.is_empty(), "it has no provider");
    id.parse::<u32>().context("its id")?;
    version.parse::<u8>().context("its version")?;
    thread.parse::<i64>().context("its thread")?;
    time.parse::<u64>().context("its time")?;
    ensure!(fields.iter().all(|field| field.contains('=')), "a field has no value");
    Ok(())
}
