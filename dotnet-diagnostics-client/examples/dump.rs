//! Writes a core dump of a process: `dump PID FILE`. The file is as the process sees it.

#![expect(clippy::print_stdout, reason = "the example prints")]

use std::error::Error;
use std::time::Duration;

use dotnet_diagnostics_client::{Client, CoreDump, DumpKind, discovery};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, pid, path] = arguments.as_slice() else { return Err("usage: dump PID FILE".into()) };
    let client = Client::new(discovery::find(pid.parse()?)?).with_timeout(Duration::from_secs(300));
    client.write_core_dump(&CoreDump::new(path).kind(DumpKind::Heap)).await?;
    println!("{path}");
    Ok(())
}
