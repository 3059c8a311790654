//! The session that gcwatch opens, by level.

use std::time::Duration;

use dotnet_diagnostics_client::{Client, Error, EventSession, Provider, Rundown, SessionConfig, Transport};
use netcore_profiler::wire;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::counters;
use crate::gc::events::RUNTIME_PROVIDER;
use crate::gc::record::Level;

/// Keyword GC of the runtime's provider.
const GC: u64 = 0x1;
/// Keyword GCHeapSurvivalAndMovement: ranges of every collection.
const SURVIVAL_AND_MOVEMENT: u64 = 0x40_0000;
/// Level 5 would add an event per finalized object.
const INFORMATIONAL: u32 = 4;
/// An upper bound: the runtime takes memory on demand.
const BUFFER_MB: u32 = 256;

/// How long a runtime may take to end a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// What the profiler has to send beside totals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    /// Every range and root.
    pub(crate) blocks: bool,
    /// Types of the objects that roots hold, names of methods, and who induced a collection.
    pub(crate) names: bool,
    /// The level between sampling windows, if roots are watched in windows.
    pub(crate) between: Option<Level>,
    /// The runtime's own counters, for a live line.
    pub(crate) counters: bool,
}

/// The configuration of the session.
pub(crate) fn config(level: Level, detail: Detail) -> SessionConfig {
    let ranges =
        if level == Level::Moves || detail.between == Some(Level::Moves) { SURVIVAL_AND_MOVEMENT } else { 0 };
    let mut providers = vec![Provider::new(RUNTIME_PROVIDER, GC | ranges, INFORMATIONAL)];
    if level == Level::Roots {
        let raw = if detail.blocks { wire::KEYWORD_RAW } else { 0 };
        let names = if detail.names { wire::KEYWORD_NAMES } else { 0 };
        providers.push(Provider::new(wire::PROVIDER_NAME, wire::KEYWORD_TOTALS | raw | names, wire::LEVEL));
    }
    if detail.counters {
        providers.push(counters::provider());
    }
    // Keyword 1 of the rundown is two small events with the GC's settings.
    SessionConfig { buffer_mb: BUFFER_MB, providers, rundown: Rundown::Keyword(1), stacks: false }
}

/// Opens the session.
pub(crate) async fn open<T: Transport>(
    client: &Client<T>,
    level: Level,
    detail: Detail,
) -> Result<EventSession, Error> {
    client.collect_tracing(&config(level, detail)).await
}

/// Ends a session, and waits until the runtime has ended it.
///
/// Otherwise the runtime would notice some time later that nobody reads, while another session is being opened. After
/// each change it passes the keywords of all sessions to its garbage collector. Two changes at once can arrive in the
/// wrong order, and the garbage collector then stays without the keywords of the new session.
pub(crate) async fn close<T: Transport>(client: &Client<T>, mut stream: EventSession) {
    let id = stream.id();
    // Before it answers, the runtime writes what it still holds, so that has to be read meanwhile.
    let read = async {
        let mut buffer = vec![0; 64 << 10];
        while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
    };
    let ended = timeout(CLOSE_TIMEOUT, async { tokio::join!(client.stop_tracing(id), read).0 }).await;
    if !matches!(ended, Ok(Ok(()))) {
        tracing::debug!("the session did not end in order: {ended:?}");
    }
}
