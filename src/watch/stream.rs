//! The session that gcwatch opens, by level.

use std::time::Duration;

use dotnet_diagnostics_client::{
    Client, Error, EventSession, Keywords, Level as Verbosity, Provider, Rundown, SessionConfig,
};
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
/// Keyword Loader: assemblies and modules that are loaded and unloaded.
const LOADER: u64 = 0x8;
/// Keyword Jit: methods that are freed; at level 5 also three events for each one that is compiled.
const JIT: u64 = 0x10;
/// Keyword AllocationSampling (.NET 10).
const ALLOCATION_SAMPLING: u64 = 0x800_0000_0000;
/// Verbose would add an event per finalized object.
const INFORMATIONAL: Verbosity = Verbosity::Informational;
// The profiler's events have this level, too.
const _: () = assert!(INFORMATIONAL.number() == wire::LEVEL);
/// The level of AllocationTick.
const VERBOSE: Verbosity = Verbosity::Verbose;
/// Keywords of the rundown: the GC's settings, modules, methods compiled at run time and ahead, at the session's end.
const SETTINGS: u64 = 0x1;
const METHODS: u64 = 0x8 | 0x10 | 0x20 | 0x100;
/// An upper bound: the runtime takes memory on demand.
const BUFFER_MB: u32 = 256;

/// How long a runtime may take to end a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// What the profiler has to send beside totals.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Detail {
    /// Every range and root.
    pub(crate) blocks: bool,
    /// Types of the objects that roots hold, names of methods, and who induced a collection.
    pub(crate) names: bool,
    /// Samples of allocations.
    pub(crate) allocations: Option<AllocationEvents>,
    /// The level between sampling windows, if roots are watched in windows.
    pub(crate) between: Option<Level>,
    /// The runtime's own counters, for a live line.
    pub(crate) counters: bool,
    /// The profiler may come for a heap graph, and says then what that cost.
    pub(crate) graph: bool,
}

/// The events that sample allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllocationEvents {
    /// AllocationTick.
    Ticks,
    /// AllocationSampled.
    Sampled,
    /// The one that the runtime has; which it is, is found out before the session is opened.
    Either,
}

/// The configuration of the session.
pub(crate) fn config(level: Level, detail: Detail) -> SessionConfig {
    let ranges =
        if level == Level::Moves || detail.between == Some(Level::Moves) { SURVIVAL_AND_MOVEMENT } else { 0 };
    let callers = detail.names && level != Level::Roots;
    let stacks = callers || detail.allocations.is_some();
    let (more, verbosity) = match detail.allocations {
        None if callers => (LOADER | JIT, INFORMATIONAL),
        None => (0, INFORMATIONAL),
        Some(AllocationEvents::Sampled) => (LOADER | JIT | ALLOCATION_SAMPLING, INFORMATIONAL),
        Some(AllocationEvents::Ticks | AllocationEvents::Either) => (LOADER, VERBOSE),
    };
    let mut providers = vec![Provider::new(RUNTIME_PROVIDER, verbosity).keywords(GC | ranges | more)];
    if level == Level::Roots || detail.graph {
        let roots = level == Level::Roots;
        let raw = if detail.blocks && roots { wire::KEYWORD_RAW } else { 0 };
        let names = if detail.names && roots { wire::KEYWORD_NAMES } else { 0 };
        let profiler = Provider::new(wire::PROVIDER_NAME, INFORMATIONAL);
        providers.push(profiler.keywords(wire::KEYWORD_TOTALS | raw | names));
    }
    if detail.counters {
        providers.push(counters::provider());
    }
    let rundown = match stacks {
        true => Rundown::KeywordOrDefault(Keywords(SETTINGS | METHODS)),
        false => Rundown::Keyword(Keywords(SETTINGS)),
    };
    SessionConfig::new(providers).circular_buffer_mb(BUFFER_MB).rundown(rundown).stackwalk(stacks)
}

impl AllocationEvents {
    /// Those of a runtime of this version. One that does not tell its version is old.
    fn of(version: Option<&str>) -> AllocationEvents {
        const FIRST_SAMPLED: u32 = 10;
        let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        match major {
            Some(FIRST_SAMPLED..) => AllocationEvents::Sampled,
            _ => AllocationEvents::Ticks,
        }
    }
}

/// Opens the session.
pub(crate) async fn open(client: &Client, level: Level, mut detail: Detail) -> Result<EventSession, Error> {
    if detail.allocations == Some(AllocationEvents::Either) {
        let version = client.process_info().await?.clr_version;
        detail.allocations = Some(AllocationEvents::of(version.as_deref()));
    }
    client.collect_tracing(&config(level, detail)).await
}

/// Ends a session, and waits until the runtime has ended it.
///
/// Otherwise the runtime would notice some time later that nobody reads, while another session is being opened. After
/// each change it passes the keywords of all sessions to its garbage collector. Two changes at once can arrive in the
/// wrong order, and the garbage collector then stays without the keywords of the new session.
pub(crate) async fn close(client: &Client, mut stream: EventSession) {
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
