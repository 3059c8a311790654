//! Streams with gaps: gcwatch counts the lost events, and what it calls complete is right.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::nettrace::{Item, Reader};
use serde_json::Value;
use tempfile::TempDir;
use xtask::Clr;

use crate::it::recording::record::replay;
use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Document, GCSTATS, Gcwatch, Guard, Json, brief, fact, gcstats};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("lost::no_fewer_events_than_trace_event_says", &[Need::Peer(GCSTATS)], |clr| {
        no_fewer_events(&watched_with_gaps(clr)?)
    });
    suite.each("lost::what_is_complete_is_right", &[], complete_is_right);
}

/// One run, seen in a whole stream and in one with gaps.
struct Gappy {
    live: Document,
    document: Document,
    recording: PathBuf,
    _dir: TempDir,
}

/// Each thread numbers its events from 1, also those that the runtime drops, apart from the large ones with ranges.
/// TraceEvent counts from the first number that it sees of a thread.
fn no_fewer_events(gappy: &Gappy) -> Result<()> {
    let theirs = gcstats(&gappy.recording)?.totals.uint("/lost")?;
    let lost = gappy.document.0.uint("/lost/events")?;
    let mut reader = Reader::new();
    reader.feed(&std::fs::read(&gappy.recording)?);
    reader.finish();
    // By thread: how many events there are, and the highest number.
    let mut threads: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Event(event) => {
                let thread = threads.entry(event.capture_thread_id).or_default();
                *thread = (thread.0 + 1, thread.1.max(event.sequence.into()));
            }
            Item::End(_) => break,
            _ => {}
        }
    }
    let between: u64 = threads.values().map(|(there, highest)| highest - there).sum();
    ensure!(lost >= theirs && lost >= between, "{lost} events, TraceEvent: {theirs}, by numbers: {between}");
    Ok(())
}

/// Records one run twice: the stream that gcwatch reads, and a file of the runtime's own with far too small a buffer.
fn watched_with_gaps(clr: &Clr) -> Result<Gappy> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("out.json"), dir.path().join("own.nettrace"));
    let own = recording.to_string_lossy().into_owned();
    let session = [
        ("DOTNET_EnableEventPipe", "1"),
        ("DOTNET_EventPipeConfig", "Microsoft-Windows-DotNETRuntime:0x400001:5"),
        ("DOTNET_EventPipeOutputPath", &own),
        ("DOTNET_EventPipeCircularMB", "1"),
    ];
    let mut program = Gcwatch::on(clr)
        .envs(session)
        .args("run --level moves --format json -o")
        .arg(&path)
        // Several MiB of ranges in one pause: more than the buffer holds, faster than the runtime writes it out.
        .app(clr, "moves", "objects=60000 sample=1")?
        .spawn()?;
    let ready = program.wait_line("ready ", DEADLINE)?;
    let _guard = Guard(fact(&ready, "pid")?.parse()?);
    for line in ["move 0", "keep 2", "move 2", "keep 1", "move 1", "keep 2", "move 2"] {
        program.ask(line, "collected ", DEADLINE)?;
    }
    program.send_line("exit")?;
    let status = program.wait(DEADLINE)?;
    ensure!(status.success(), "{status}: {program:?}");
    let live = Document::read(&path)?;
    live.nothing_lost()?;
    // Losses are a failure only with `--strict`.
    Gcwatch::new().args("report --strict").arg(&recording).output()?.expect(11)?;
    let document = replay(&recording, "")?;
    let lost = document.0.uint("/lost/events")?;
    ensure!(lost > 0, "nothing was lost: the test needs another load");
    Ok(Gappy { live, document, recording, _dir: dir })
}

fn complete_is_right(clr: &Clr) -> Result<()> {
    let gappy = watched_with_gaps(clr)?;
    let mut lost = 0;
    for gc in gappy.document.gcs()? {
        match &gc["incomplete"] {
            Value::Null => {
                let number = gc.uint("/number")?;
                same(gc, gappy.live.gc(number)?).with_context(|| format!("GC {number}: {}", brief(gc)))?;
            }
            why if why == "lost" => lost += 1,
            // The program or the file ended first.
            why => ensure!(why == "ended-after", "incomplete by {why}: {}", brief(gc)),
        }
    }
    ensure!(lost > 0, "every collection is complete, although events are missing");
    Ok(())
}

fn same(gc: &Value, live: &Value) -> Result<()> {
    for key in ["generation", "kind", "reason", "compacting", "heap_before_bytes", "heap_after_bytes"] {
        ensure!(gc[key] == live[key], "{key} is {}, in the whole stream {}", gc[key], live[key]);
    }
    for key in ["promoted_bytes", "handles", "pinned_objects", "generations", "moved", "surviving"] {
        // If all batches of a collection were dropped, its record has no ranges.
        let unsaid = ["generations", "moved", "surviving"].contains(&key) && gc["level"] == "basic";
        ensure!(unsaid || gc[key] == live[key], "{key} is {}, in the whole stream {}", gc[key], live[key]);
    }
    Ok(())
}
