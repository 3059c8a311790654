//! Writes a snapshot of a process's heap to a file, as dotnet-gcdump takes it: `heap_snapshot PID FILE.nettrace`. The
//! process does a full collection, and stands still while the runtime sends every object as events.

#![expect(clippy::print_stdout, reason = "the example prints")]

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::time::Duration;

use dotnet_diagnostics_client::nettrace::Item;
use dotnet_diagnostics_client::{Client, EventSession, Keywords, Level, Provider, SessionConfig, discovery};
use tokio::io::AsyncReadExt;

/// GC, types, the heap dump and its collection: what dotnet-gcdump asks for.
const HEAP_SNAPSHOT: Keywords = Keywords(0x198_0001);
/// As large as dotnet-gcdump's, so that few events are lost.
const BUFFER_MB: u32 = 1024;
const TIMEOUT: Duration = Duration::from_secs(600);
const GC_START: u32 = 1;
const GC_END: u32 = 2;
/// A blocking collection that somebody has induced.
const INDUCED: u64 = 1;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, pid, path] = arguments.as_slice() else {
        return Err("usage: heap_snapshot PID FILE.nettrace".into());
    };
    let file = File::create(path)?;
    // The process answers when its collection has ended.
    let client = Client::new(discovery::find(pid.parse()?)?).with_timeout(TIMEOUT);
    // A session of its own tells when the collection has ended, so that the large one is only copied.
    let collections = Provider::new(Provider::RUNTIME, Level::Informational).keywords(Keywords::GC);
    let collections = client.collect_tracing(&SessionConfig::new([collections])).await?;
    let snapshot = Provider::new(Provider::RUNTIME, Level::Verbose).keywords(HEAP_SNAPSHOT);
    let config = SessionConfig::new([snapshot]).circular_buffer_mb(BUFFER_MB);
    let snapshot = client.collect_tracing(&config).await?;
    let id = snapshot.id();
    let (bytes, stopped) = tokio::join!(save(snapshot, file), async {
        let ended = induced_has_ended(collections).await;
        client.stop_tracing(id).await?;
        ended
    });
    stopped?;
    println!("{} bytes", bytes?);
    Ok(())
}

/// Waits until an induced collection has begun and ended.
async fn induced_has_ended(session: EventSession) -> Result<(), Box<dyn Error>> {
    let (mut events, stop) = session.into_split();
    let mut induced = None;
    while let Some(item) = events.next().await? {
        let Item::Event(event) = item else { continue };
        let fields = event.fields();
        let number = |name| fields.get(name).and_then(|value| value.as_u64());
        match event.metadata.event_id {
            GC_START if number("Reason") == Some(INDUCED) => induced = number("Count"),
            GC_END if induced.is_some() && number("Count") == induced => stop.stop(),
            _ => {}
        }
    }
    induced.map(|_| ()).ok_or_else(|| "the process ended".into())
}

/// Writes the stream to a file, until the stream ends.
async fn save(mut session: EventSession, mut file: File) -> std::io::Result<usize> {
    let mut buffer = Vec::with_capacity(1 << 20);
    let mut total = 0;
    while session.read_buf(&mut buffer).await? > 0 {
        file.write_all(&buffer)?;
        total += buffer.len();
        buffer.clear();
    }
    Ok(total)
}
