//! Watches a process for some seconds and prints the stack of each exception that it threw: `stacks PID SECONDS`.

#![expect(clippy::print_stdout, reason = "the example prints")]

use std::error::Error;
use std::time::Duration;

use dotnet_diagnostics_client::nettrace::{Item, Symbols};
use dotnet_diagnostics_client::{Client, Keywords, Level, Provider, Rundown, SessionConfig, discovery};

/// ExceptionThrown, which begins with the name of the type.
const EXCEPTION_THROWN: u32 = 80;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, pid, seconds] = arguments.as_slice() else { return Err("usage: stacks PID SECONDS".into()) };
    let duration = Duration::from_secs(seconds.parse()?);
    let client = Client::new(discovery::find(pid.parse()?)?);
    let keywords = Keywords::EXCEPTION | Keywords::LOADER | Keywords::JIT;
    let runtime = Provider::new(Provider::RUNTIME, Level::Verbose).keywords(keywords);
    // The rundown has the methods that were compiled before the session.
    let config = SessionConfig::new([runtime]).stackwalk(true).rundown(Rundown::Default);
    let (mut events, stop) = client.collect_tracing(&config).await?.into_split();
    tokio::spawn(async move {
        tokio::time::sleep(duration).await;
        stop.stop();
    });
    let mut symbols = Symbols::new();
    let mut thrown: Vec<(String, Vec<u64>)> = Vec::new();
    while let Some(item) = events.next().await? {
        let Item::Event(event) = item else { continue };
        symbols.add(&event);
        if event.metadata.event_id == EXCEPTION_THROWN && &*event.metadata.provider == Provider::RUNTIME {
            thrown.push((type_name(event.payload), event.stack().addresses().collect()));
        }
    }
    for (exception, stack) in thrown {
        println!("{exception}");
        for symbol in stack.into_iter().filter_map(|address| symbols.resolve(address)) {
            println!("    {}", symbol.method.to_string().escape_debug());
        }
    }
    Ok(())
}

/// The UTF-16 text at the beginning. With the feature `clr-events` it is the field `ExceptionType`.
fn type_name(payload: &[u8]) -> String {
    let units = payload.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let name: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
    String::from_utf16_lossy(&name).escape_debug().to_string()
}
