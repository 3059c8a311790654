//! What the profiler says about itself: which one was loaded and how, and notes on what happened to it.

use super::cursor::{Reader, WireError, Writer};
use super::payload::{Field, field, fields, payload};

/// How the profiler was loaded. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Load(pub u8);

impl Load {
    /// When the runtime started (`Initialize`): background GC stays off until the process ends.
    pub const STARTUP: Self = Self(0);
    /// By an attach (`InitializeForAttach`): background GC is possible again after the detach.
    pub const ATTACH: Self = Self(1);
}

/// When `COR_PRF_MONITOR_GC` is on. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arming(pub u8);

impl Arming {
    /// From the mark phase of a collection to its end.
    pub const LATE: Self = Self(0);
    /// All the time.
    pub const ALWAYS: Self = Self(1);
}

field! { Load Arming NoteCode }

/// A sampling window: the profiler is attached for it, and detached after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Its number, from 1. Skipped windows have a number, too.
    pub number: u32,
    /// How many collections are armed; later ones are not. 0: the window has a length in time. [`Window::STAYS`]: it
    /// ends when blocking collections of generation 2 that the profiler causes have paused the program for too long.
    /// [`Window::GRAPH`]: it ends when the graph was taken.
    pub gcs: u32,
    /// Its length in ms, if it has one in time. With [`Window::STAYS`]: how long one such collection may pause the
    /// program.
    pub length_ms: u32,
    /// From the beginning of one window to that of the next, in ms.
    pub every_ms: u32,
    /// How many windows before it were skipped because of a background collection. Other gaps in the numbers are
    /// windows that the runtime refused. With [`Window::STAYS`]: for which part of the time, in millionths, all such
    /// collections may pause the program.
    pub busy: u32,
}

impl Window {
    /// [`Window::gcs`] of a window without a planned end.
    pub const STAYS: u32 = u32::MAX;
    /// [`Window::gcs`] of a profiler that is loaded only for a heap graph: it is no window of a sampling watch.
    pub const GRAPH: u32 = u32::MAX - 1;
}

fields! { Window: number, gcs, length_ms, every_ms, busy }

/// `None` is a window with number 0.
impl Field<'_> for Option<Window> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let window = Window::read(reader)?;
        Ok(Some(window).filter(|window| window.number != 0))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.unwrap_or_default().write(writer);
    }
}

/// The profiler was loaded, with this configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// [`ABI_VERSION`](super::ABI_VERSION) of the library.
    pub abi: u32,
    /// How it was loaded.
    pub load: Load,
    /// When `COR_PRF_MONITOR_GC` is on.
    pub arming: Arming,
    /// Whether raw ranges and roots are sent.
    pub blocks: bool,
    /// Version of the runtime as `GetRuntimeInformation` gives it: major, minor, build, QFE.
    pub clr_version: [u16; 4],
    /// Whether names are on.
    pub names: bool,
    /// Number of accumulators for concurrent GC threads.
    pub slots: u32,
    /// Whether the lease is connected.
    pub lease_connected: bool,
    /// Monotonic clock of the target in ns, as in every event of the profiler.
    pub tick_ns: u64,
    /// The sampling window; `None`: the watch does not sample.
    pub window: Option<Window>,
    /// How long the profiler has been loaded, in ns. If that is longer than the session, another watch has loaded it.
    pub age_ns: u64,
}

// The first version ended before `names`, the second before `window`, the first builds of the third before `age_ns`.
payload! {
    HELLO, Hello:
    abi, tick_ns, slots, clr_version, load, arming, blocks, lease_connected; names, window, age_ns
}

/// What happened. Later versions may add codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NoteCode(pub u32);

impl NoteCode {
    /// The goodbye: the profiler has switched its event mask off and is about to ask the runtime to detach it. A note
    /// with the reason came before.
    pub const GOODBYE: Self = Self(1);
    /// The runtime refused to detach the profiler (`hresult` says why). It stays loaded, does nothing, and asks again,
    /// at most once a minute.
    pub const DETACH_REFUSED: Self = Self(2);
    /// `COR_PRF_MONITOR_GC` could not be set in the mark phase; that collection is not armed.
    pub const TOGGLE_FAILED: Self = Self(3);
    /// Setting it failed three times in a row; it stays on from now on.
    pub const FELL_BACK_ALWAYS: Self = Self(4);
    /// gcwatch closed the lease.
    pub const LEASE_LOST: Self = Self(5);
    /// No heartbeat came over the lease for too long.
    pub const LEASE_SILENT: Self = Self(6);
    /// Nobody listens to the provider any more, which is the sign to leave if there is no lease.
    pub const PROVIDER_OFF: Self = Self(7);
    /// The in-process session for late arming could not be started; the flag stays on.
    pub const SESSION_FAILED: Self = Self(8);
    /// The program allocates handles so fast, now or since the library was loaded, that watching them would cost too
    /// much. From here on it is unknown of what kind handles are and which methods allocated them.
    pub const HANDLE_WATCH_OFF: Self = Self(9);
    /// The target has closed the descriptor of the lease by mistake.
    pub const LEASE_TAKEN: Self = Self(10);
}

/// One note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// What happened.
    pub code: NoteCode,
    /// The runtime's answer that belongs to it, or 0.
    pub hresult: i32,
    /// Monotonic clock of the process in nanoseconds.
    pub tick_ns: u64,
}

payload! { NOTE, Note: code, hresult, tick_ns }
