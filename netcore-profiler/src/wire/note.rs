//! Notes: what happened to the profiler that a reader should know.

use super::payload::{field, fields, payload};

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

field! { NoteCode }

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
