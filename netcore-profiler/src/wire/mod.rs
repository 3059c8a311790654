//! The events that the profiler writes and gcwatch reads.
//!
//! Everything travels in the process's own EventPipe stream as events of the provider
//! [`PROVIDER_NAME`]. Integers are little-endian, unaligned, in the order of the fields in the
//! source; a reader ignores bytes after the last field it knows. [`decode`] never panics, whatever
//! the bytes.
//!
//! The profiler sends exact totals of every collection ([`GcTotals`]). Raw ranges and roots follow
//! only where the configuration asks for `blocks`: in numbered parts of at most
//! [`MAX_EVENT_BYTES`], before the totals, which say how many parts there were.

mod batch;
mod cursor;
pub mod describe;
mod hello;
pub mod histogram;
mod note;
mod totals;

pub use batch::{
    BatchHeader, Bounds, BoundsPhase, BoundsRange, MovedRange, MovedRanges, Root, RootBatch, RootFlags,
    RootKind, Row, Rows, SurvivingRange, SurvivingRanges,
};
pub use cursor::WireError;
pub use hello::{Arming, Hello, Load};
pub use histogram::{Bucket, Histogram};
pub use note::{Note, NoteCode};
pub use totals::{
    BLOCK_GENERATIONS, GcFlags, GcTotals, Parts, ROOT_CELLS, RangeTotals, RootCount, RootCounts, RootTotals,
    root_cell,
};

/// Name of the EventPipe provider that carries the events.
pub const PROVIDER_NAME: &str = "Gcwatch-Profiler";

/// Version of this schema and of the configuration text. Both sides must have the same.
pub const ABI_VERSION: u32 = 1;

/// Class identifier of the profiler, in the byte order of a COM `GUID` in memory:
/// `{8E1CBDBC-A372-4EAE-8F84-91DA39DA2C47}`.
pub const CLSID: [u8; 16] =
    [0xbc, 0xbd, 0x1c, 0x8e, 0x72, 0xa3, 0xae, 0x4e, 0x8f, 0x84, 0x91, 0xda, 0x39, 0xda, 0x2c, 0x47];

/// [`CLSID`] as `CORECLR_PROFILER` wants it, braces included.
pub const CLSID_TEXT: &str = "{8E1CBDBC-A372-4EAE-8F84-91DA39DA2C47}";

/// Keyword of [`event_id::HELLO`], [`event_id::GC_TOTALS`] and [`event_id::NOTE`].
pub const KEYWORD_TOTALS: u64 = 1;

/// Keyword of the raw events: bounds, moved, surviving and roots.
pub const KEYWORD_RAW: u64 = 2;

/// Level of every event: 4, informational.
pub const LEVEL: u32 = 4;

/// Largest payload the profiler writes. EventPipe silently drops anything above 65,536 bytes.
pub const MAX_EVENT_BYTES: usize = 60 * 1024;

/// Numbers of the events within the provider.
pub mod event_id {
    /// The profiler has been loaded: [`Hello`](super::Hello).
    pub const HELLO: u32 = 1;
    /// Totals of one collection: [`GcTotals`](super::GcTotals).
    pub const GC_TOTALS: u32 = 2;
    /// Generation bounds of one collection: [`Bounds`](super::Bounds).
    pub const BOUNDS: u32 = 3;
    /// Ranges that were moved: [`MovedRanges`](super::MovedRanges).
    pub const MOVED: u32 = 4;
    /// Ranges that survived in place: [`SurvivingRanges`](super::SurvivingRanges).
    pub const SURVIVING: u32 = 5;
    /// Roots: [`RootBatch`](super::RootBatch).
    pub const ROOTS: u32 = 6;
    /// Something worth knowing happened: [`Note`](super::Note).
    pub const NOTE: u32 = 7;
}

/// One decoded event.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "decoding allocates nothing, and no one stores these")]
pub enum Record<'a> {
    /// The profiler reports in. Without it, it is not there, whatever the runtime answered.
    Hello(Hello),
    /// Totals of one collection.
    GcTotals(GcTotals<'a>),
    /// Generation bounds of one collection.
    Bounds(Bounds<'a>),
    /// Moved ranges.
    Moved(MovedRanges<'a>),
    /// Ranges that survived in place.
    Surviving(SurvivingRanges<'a>),
    /// Roots.
    Roots(RootBatch<'a>),
    /// A notice.
    Note(Note),
    /// An event of a later version; the value is its number.
    Unknown(u32),
}

/// Decodes the payload of one event of the provider [`PROVIDER_NAME`].
///
/// # Errors
/// [`WireError`] where the payload is shorter than its own counts say.
pub fn decode(event_id: u32, payload: &[u8]) -> Result<Record<'_>, WireError> {
    Ok(match event_id {
        event_id::HELLO => Record::Hello(Hello::decode(payload)?),
        event_id::GC_TOTALS => Record::GcTotals(GcTotals::decode(payload)?),
        event_id::BOUNDS => Record::Bounds(Bounds::decode(payload)?),
        event_id::MOVED => Record::Moved(MovedRanges::decode(payload)?),
        event_id::SURVIVING => Record::Surviving(SurvivingRanges::decode(payload)?),
        event_id::ROOTS => Record::Roots(RootBatch::decode(payload)?),
        event_id::NOTE => Record::Note(Note::decode(payload)?),
        other => Record::Unknown(other),
    })
}

#[cfg(test)]
mod tests;
