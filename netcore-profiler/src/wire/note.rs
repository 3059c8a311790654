//! Notices: what the profiler did that a reader should know of.

use super::cursor::{Reader, WireError, Writer};

/// What happened. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NoteCode(pub u32);

impl NoteCode {
    /// The profiler stops watching and asks to be detached. The reason was noted before.
    pub const LEAVING: Self = Self(1);
    /// The runtime refused to detach it (`hresult` says why). It stays loaded, does nothing, and asks again, once a
    /// minute at most.
    pub const DETACH_REFUSED: Self = Self(2);
    /// `COR_PRF_MONITOR_GC` could not be set in the mark phase; that collection is unarmed.
    pub const TOGGLE_FAILED: Self = Self(3);
    /// Setting it failed three times in a row, and it is now on all the time.
    pub const FELL_BACK_ALWAYS: Self = Self(4);
    /// The lease connection was closed by the other end.
    pub const LEASE_LOST: Self = Self(5);
    /// The lease connection was silent for too long.
    pub const LEASE_SILENT: Self = Self(6);
    /// The provider was switched off, which ends the lease where there is no connection.
    pub const PROVIDER_OFF: Self = Self(7);
    /// The in-process session for late arming could not be started; fell back to always on.
    pub const SESSION_FAILED: Self = Self(8);
    /// So many handles were made at once, in this stay or an earlier one in the process, that watching them would cost
    /// too much: from here on the kind and the creator of handles are not known.
    pub const HANDLE_WATCH_OFF: Self = Self(9);
    /// The program has closed the lease connection, by mistake.
    pub const LEASE_TAKEN: Self = Self(10);
}

/// One notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// What happened.
    pub code: NoteCode,
    /// The runtime's answer that belongs to it, 0 where there is none.
    pub hresult: i32,
    /// Monotonic clock of the process in nanoseconds.
    pub tick_ns: u64,
}

impl Note {
    pub(super) fn decode(payload: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(payload);
        Ok(Self { code: NoteCode(reader.u32()?), hresult: reader.i32()?, tick_ns: reader.u64()? })
    }

    /// Writes the payload and returns its length.
    ///
    /// # Errors
    /// [`WireError::BufferFull`].
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let mut writer = Writer::new(buffer);
        writer.u32(self.code.0);
        writer.i32(self.hresult);
        writer.u64(self.tick_ns);
        writer.finish()
    }
}
