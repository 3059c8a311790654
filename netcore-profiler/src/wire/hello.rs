//! The first event: who is there, and how it was loaded.

use super::cursor::{Reader, WireError, Writer};

/// How the library came into the process. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Load(pub u8);

impl Load {
    /// Loaded while the runtime started (`Initialize`): background GC stays off until the process ends.
    pub const STARTUP: Self = Self(0);
    /// Attached to a running process (`InitializeForAttach`): background GC comes back on detach.
    pub const ATTACH: Self = Self(1);
}

/// When `COR_PRF_MONITOR_GC` is on. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arming(pub u8);

impl Arming {
    /// Only from the mark phase of a collection to its end.
    pub const LATE: Self = Self(0);
    /// All the time.
    pub const ALWAYS: Self = Self(1);
}

/// One of the windows in which a sampling watch looks at roots: attached for it, gone after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Its number, from 1. Windows that were skipped have theirs, too.
    pub number: u32,
    /// It is for so many collections, which are armed; later ones are not. 0: for a time. [`Window::STAYS`]: it ends when
    /// collections of generation 2 that block because of the profiler have stopped the program for too long.
    pub gcs: u32,
    /// Its length, where it is for a time. Where it [stays](Window::STAYS), how long one such collection may stop the program.
    pub length_ms: u32,
    /// From the beginning of one window to that of the next.
    pub every_ms: u32,
    /// How many before it were skipped because a background collection ran. What else is missing in the numbers was
    /// refused by the runtime. Where it [stays](Window::STAYS), the millionths of the time for which all such collections
    /// may stop the program.
    pub busy: u32,
}

impl Window {
    /// [`Window::gcs`] of a window without an end of its own.
    pub const STAYS: u32 = u32::MAX;
}

/// The profiler is loaded, and this is what it will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// [`ABI_VERSION`](super::ABI_VERSION) of the library.
    pub abi: u32,
    /// How it was loaded.
    pub load: Load,
    /// When it watches.
    pub arming: Arming,
    /// Whether raw ranges and roots are sent.
    pub blocks: bool,
    /// Version of the runtime as `GetRuntimeInformation` gives it: major, minor, build, QFE.
    pub clr_version: [u16; 4],
    /// Whether types of roots are looked up and names are sent.
    pub names: bool,
    /// Number of accumulators for concurrent GC threads.
    pub slots: u32,
    /// Whether the lease connection was made.
    pub lease_connected: bool,
    /// Monotonic clock of the process in nanoseconds, as used by every event of the profiler.
    pub tick_ns: u64,
    /// Which window of a sampling watch this is; `None`: it came to stay.
    pub window: Option<Window>,
    /// How long it has been loaded, ns. A session that began later did not bring it: it is another watch's.
    pub age_ns: u64,
}

impl Hello {
    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(payload);
        let mut hello = Self {
            abi: reader.u32()?,
            tick_ns: reader.u64()?,
            slots: reader.u32()?,
            clr_version: [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?],
            load: Load(reader.u8()?),
            arming: Arming(reader.u8()?),
            blocks: reader.u8()? != 0,
            lease_connected: reader.u8()? != 0,
            // The first version did not have it.
            names: !reader.is_empty() && reader.u8()? != 0,
            window: None,
            age_ns: 0,
        };
        // Nor had the second this.
        if !reader.is_empty() {
            let window = Window {
                number: reader.u32()?,
                gcs: reader.u32()?,
                length_ms: reader.u32()?,
                every_ms: reader.u32()?,
                busy: reader.u32()?,
            };
            hello.window = Some(window).filter(|window| window.number != 0);
        }
        // Nor did the first builds of the third have this.
        if !reader.is_empty() {
            hello.age_ns = reader.u64()?;
        }
        Ok(hello)
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut writer = Writer::new(buffer);
        writer.u32(self.abi);
        writer.u64(self.tick_ns);
        writer.u32(self.slots);
        for part in self.clr_version {
            writer.u16(part);
        }
        writer.u8(self.load.0);
        writer.u8(self.arming.0);
        writer.u8(u8::from(self.blocks));
        writer.u8(u8::from(self.lease_connected));
        writer.u8(u8::from(self.names));
        let window = self.window.unwrap_or_default();
        let Window { number, gcs, length_ms, every_ms, busy } = window;
        for number in [number, gcs, length_ms, every_ms, busy] {
            writer.u32(number);
        }
        writer.u64(self.age_ns);
        writer.finish()
    }
}
