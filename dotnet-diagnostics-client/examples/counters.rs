//! Shows the counters of a process, as dotnet-counters does: `counters PID [PROVIDER...]`.

#![expect(clippy::print_stdout, reason = "the example prints")]

use std::error::Error;

use dotnet_diagnostics_client::nettrace::{Fields, Item, Value};
use dotnet_diagnostics_client::{Client, Keywords, Level, Provider, SessionConfig, discovery};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid = arguments.next().ok_or("usage: counters PID [PROVIDER...]")?.parse()?;
    let mut names: Vec<String> = arguments.collect();
    if names.is_empty() {
        names.push("System.Runtime".to_owned());
    }
    let counters = |name| {
        Provider::new(name, Level::Informational)
            .keywords(Keywords::NONE)
            .arguments("EventCounterIntervalSec=1")
    };
    let client = Client::new(discovery::find(pid)?);
    let session = client.collect_tracing(&SessionConfig::new(names.into_iter().map(counters))).await?;
    let (mut events, stop) = session.into_split();
    tokio::spawn(async move {
        let _ = tokio::signal::ctrl_c().await;
        stop.stop();
    });
    while let Some(item) = events.next().await? {
        if let Item::Event(event) = item
            && event.name() == "EventCounters"
            && let Some(Value::Struct(counter)) = event.fields().get("Payload")
            && let Some(line) = line(&counter)
        {
            println!("{} {line}", event.metadata.provider);
        }
    }
    Ok(())
}

/// Name, value and unit of a counter. A rate is shown for a second.
fn line(counter: &Fields<'_>) -> Option<String> {
    let number = |name| counter.get(name)?.as_f64();
    let text = |name| Some(counter.get(name)?.as_text()?.to_string());
    let (value, per) = match number("Mean") {
        Some(mean) => (mean, ""),
        None => (number("Increment")? / number("IntervalSec")?, "/s"),
    };
    let unit = text("DisplayUnits").unwrap_or_default();
    Some(format!("{:?} = {value} {unit:?}{per}", text("Name")?))
}
