//! Counts the events of `.nettrace` files by provider, event id and version.
//!
//! `cargo run --release --example nettrace_stat -- FILE...`

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Instant;

use dotnet_diagnostics_client::nettrace::{End, Item, Metadata, Reader};

/// Events of one kind.
struct Count {
    /// Provider, event id, version and name.
    kind: (Box<str>, u32, u32, Box<str>),
    events: u64,
    payload_bytes: u64,
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for path in std::env::args_os().skip(1) {
        writeln!(out, "{}", path.display())?;
        stat(&mut File::open(path)?, &mut out)?;
    }
    Ok(())
}

fn stat(input: &mut impl Read, out: &mut impl Write) -> io::Result<()> {
    let mut reader = Reader::new();
    let mut counts: HashMap<u32, Count> = HashMap::new();
    let mut chunk = vec![0; 128 * 1024];
    let mut bytes = 0;
    let mut latest = i64::MIN;
    let mut backwards = 0_u64;
    let mut most_held = 0;
    let started = Instant::now();
    let end = loop {
        match reader.next_item() {
            Ok(Some(Item::Event(event))) => {
                let count = counts.entry(event.metadata.id).or_insert_with(|| {
                    let Metadata { provider, event_id, version, name, .. } = event.metadata;
                    Count {
                        kind: (provider.clone(), *event_id, *version, name.clone()),
                        events: 0,
                        payload_bytes: 0,
                    }
                });
                count.events += 1;
                count.payload_bytes += event.payload.len() as u64;
                backwards += u64::from(event.timestamp < latest);
                latest = latest.max(event.timestamp);
            }
            Ok(Some(Item::Trace(trace))) => writeln!(out, "{trace:?}")?,
            Ok(Some(Item::Lost(lost))) => writeln!(out, "lost {} of thread {}", lost.events, lost.thread_id)?,
            Ok(Some(Item::End(end))) => break end,
            Ok(Some(_)) => {}
            Ok(None) => {
                most_held = most_held.max(reader.held_events());
                match input.read(&mut chunk)? {
                    0 => reader.finish(),
                    read => {
                        bytes += read as u64;
                        reader.feed(&chunk[..read]);
                    }
                }
            }
            Err(error) => writeln!(out, "{error}")?,
        }
    };
    let elapsed = started.elapsed().as_secs_f64();
    let mut counts: Vec<Count> = counts.into_values().collect();
    counts.sort_by(|a, b| a.kind.cmp(&b.kind));
    writeln!(out, "{:>10} {:>14}  provider, event, version, name", "events", "payload bytes")?;
    for Count { kind: (provider, event_id, version, name), events, payload_bytes } in &counts {
        writeln!(out, "{events:>10} {payload_bytes:>14}  {provider} {event_id} v{version} {name}")?;
    }
    let End { clean, lost_events, unparsed_bytes, .. } = end;
    let events: u64 = counts.iter().map(|count| count.events).sum();
    writeln!(out, "{events} events, {lost_events} lost, {backwards} out of order, at most {most_held} held")?;
    writeln!(
        out,
        "{bytes} bytes, {unparsed_bytes} unparsed, {}",
        if clean { "whole" } else { "without its end" }
    )?;
    writeln!(out, "{elapsed:.3} s, {:.0} MB/s", bytes as f64 / 1e6 / elapsed)
}
