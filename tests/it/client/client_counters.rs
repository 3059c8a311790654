//! The runtime's counters say what the program itself reads from `GC.GetGCMemoryInfo`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use dotnet_diagnostics_client::nettrace::{Item, Value};
use dotnet_diagnostics_client::{Keywords, Level, Provider, SessionConfig};
use tokio::time::timeout;
use xtask::Clr;
use xtask::testkit::Target;

use super::{block_on, client_of};
use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, fact};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("client_counters::are_what_the_program_reads", &[], counters);
}

fn counters(clr: &Clr) -> Result<()> {
    // It has collected once and does not collect again.
    let mut program = Target::app(clr, "idle", &["bytes=30000000", "collect=1"], &[])?;
    program.wait_line("ready ", DEADLINE)?;
    let said = program.ask("?", "now ", DEADLINE)?;
    let number = |name: &str| -> Result<f64> { fact(&said, name)?.parse().context("a number") };
    let shown = block_on(read(program.pid()))?;
    let counter = |name: &str| shown.get(name).copied().with_context(|| format!("no {name}: {shown:?}"));
    ensure!(counter("gc-committed")? == number("committed")? / 1e6, "{shown:?}, the program: {said}");
    let fragmentation = number("fragmented")? * 100.0 / number("info")?;
    ensure!((counter("gc-fragmentation")? - fragmentation).abs() < 1e-9, "{shown:?}, the program: {said}");
    ensure!(counter("gc-heap-size")? >= 30.0, "{shown:?}");
    Ok(())
}

/// The mean of each counter in its first interval.
async fn read(pid: u32) -> Result<BTreeMap<String, f64>> {
    let runtime = Provider::new("System.Runtime", Level::Informational)
        .keywords(Keywords::NONE)
        .arguments("EventCounterIntervalSec=1");
    let session = client_of(pid)?.collect_tracing(&SessionConfig::new([runtime])).await?;
    let (mut events, stop) = session.into_split();
    let mut counters = BTreeMap::new();
    while let Some(item) = timeout(DEADLINE, events.next()).await.context("no event")?? {
        let Item::Event(event) = item else { continue };
        let Some(Value::Struct(counter)) = event.fields().get("Payload") else { continue };
        let name = counter.get("Name").and_then(|name| name.as_text()).context("no name")?.to_string();
        if let Some(mean) = counter.get("Mean") {
            counters.entry(name).or_insert(mean.as_f64().context("no number")?);
        }
        if counters.contains_key("gc-committed") && counters.contains_key("gc-fragmentation") {
            stop.stop();
        }
    }
    Ok(counters)
}
