//! Providers of events.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A provider of events in a session, and which of its events the session gets.
///
/// ```
/// use dotnet_diagnostics_client::{Keywords, Level, Provider};
///
/// let gc = Provider::new(Provider::RUNTIME, Level::Informational).keywords(Keywords::GC);
/// let counters = Provider::new("System.Runtime", Level::Informational)
///     .arguments("EventCounterIntervalSec=1");
/// # let _ = (gc, counters);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provider {
    /// Name of the provider, for example `Microsoft-Windows-DotNETRuntime`.
    pub name: String,
    /// The events up to this verbosity.
    pub level: Level,
    /// The events with one of these keywords, and those without a keyword.
    pub keywords: Keywords,
    /// Arguments for the provider, `key=value;…`.
    pub arguments: Option<String>,
    /// Selects single events among those of keywords and level (.NET 10 and later).
    pub event_filter: Option<EventFilter>,
}

impl Provider {
    /// The name of the runtime's own provider.
    pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

    /// The events of a provider up to a level, with all keywords.
    #[must_use]
    pub fn new(name: impl Into<String>, level: Level) -> Self {
        Self { name: name.into(), level, keywords: Keywords::ALL, arguments: None, event_filter: None }
    }

    /// The same with only the events of these keywords.
    #[must_use]
    pub fn keywords(self, keywords: impl Into<Keywords>) -> Self {
        Self { keywords: keywords.into(), ..self }
    }

    /// The same with arguments for the provider, `key=value;…`.
    #[must_use]
    pub fn arguments(self, arguments: impl Into<String>) -> Self {
        Self { arguments: Some(arguments.into()), ..self }
    }

    /// The same with only the events that the filter lets through. Runtimes before .NET 10 ignore it, see
    /// [`EventSession::honours_event_filters`](crate::EventSession::honours_event_filters).
    #[must_use]
    pub fn event_filter(self, filter: EventFilter) -> Self {
        Self { event_filter: Some(filter), ..self }
    }
}

/// Verbosity of events. A session gets the events of its level and of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Level {
    /// Only the events that are always written.
    LogAlways = 0,
    /// Failures that end the process.
    Critical = 1,
    /// Errors.
    Error = 2,
    /// Warnings.
    Warning = 3,
    /// What happens rarely enough to be written always, such as garbage collections.
    Informational = 4,
    /// Everything, such as samples of allocations.
    Verbose = 5,
}

impl Level {
    /// The number of the protocol.
    pub const fn number(self) -> u32 {
        self as u32
    }
}

/// Keywords of a provider: a bit set that selects events. Each provider has its own; the constants are those of
/// [`Provider::RUNTIME`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Keywords(pub u64);

impl Keywords {
    /// No keyword: only events without one.
    pub const NONE: Self = Self(0);
    /// All keywords.
    pub const ALL: Self = Self(u64::MAX);
    /// Garbage collections.
    pub const GC: Self = Self(0x1);
    /// Handles.
    pub const GC_HANDLE: Self = Self(0x2);
    /// Modules and assemblies.
    pub const LOADER: Self = Self(0x8);
    /// Methods that are compiled.
    pub const JIT: Self = Self(0x10);
    /// Methods of precompiled code.
    pub const NGEN: Self = Self(0x20);
    /// Locks that threads wait for.
    pub const CONTENTION: Self = Self(0x4000);
    /// Exceptions.
    pub const EXCEPTION: Self = Self(0x8000);
    /// Threads and the thread pool.
    pub const THREADING: Self = Self(0x10000);
    /// Which machine code belongs to which IL, see [`Symbols`](crate::nettrace::Symbols).
    pub const IL_TO_NATIVE_MAP: Self = Self(0x20000);
    /// Names of the types that other events mention.
    pub const TYPE: Self = Self(0x80000);
    /// Objects that survived and moved, for each collection. It slows collections down.
    pub const GC_HEAP_SURVIVAL_AND_MOVEMENT: Self = Self(0x400000);

    /// Whether it has all keywords of another set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Keywords {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Keywords {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl From<u64> for Keywords {
    fn from(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Keywords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keywords({:#x})", self.0)
    }
}

/// Selects events by their ids.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventFilter {
    /// Only these events. With an empty list, none.
    Only(Vec<u32>),
    /// All events except these.
    Except(Vec<u32>),
}
