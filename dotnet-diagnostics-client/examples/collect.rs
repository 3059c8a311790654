//! Writes the GC events of a process to a file: `collect PID SECONDS FILE.nettrace`.

#![expect(clippy::print_stdout, reason = "the example prints")]

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use dotnet_diagnostics_client::{
    Client, EventSession, Keywords, Level, Provider, Rundown, SessionConfig, discovery,
};
use tokio::io::AsyncReadExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, pid, seconds, path] = arguments.as_slice() else {
        return Err("usage: collect PID SECONDS FILE.nettrace".into());
    };
    let duration = Duration::from_secs(seconds.parse()?);
    let client = Client::new(discovery::find(pid.parse()?)?);
    let gc = Provider::new(Provider::RUNTIME, Level::Informational).keywords(Keywords::GC);
    let config = SessionConfig::new([gc]).rundown(Rundown::Keyword(Keywords::GC));
    let session = client.collect_tracing(&config).await?;
    println!("CollectTracing{} accepted", session.version().number());
    let id = session.id();
    let (read, stop_time) = tokio::join!(save(session, File::create(path)?), async {
        tokio::time::sleep(duration).await;
        let asked = Instant::now();
        client.stop_tracing(id).await.map(|()| asked.elapsed())
    });
    println!("{} bytes, stop answered after {:?}", read?, stop_time?);
    Ok(())
}

/// Writes the stream to a file, until the stream ends.
async fn save(mut session: EventSession, mut file: File) -> std::io::Result<usize> {
    let mut buffer = Vec::with_capacity(64 << 10);
    let mut total = 0;
    while session.read_buf(&mut buffer).await? > 0 {
        file.write_all(&buffer)?;
        total += buffer.len();
        buffer.clear();
    }
    Ok(total)
}
