//! Names and types of the leading fields, given to EventPipe with each event, so that other readers
//! of a recording can show them. Tables that follow are for [`decode`](super::decode) alone.

use super::{KEYWORD_RAW, KEYWORD_TOTALS, event_id};

/// Type of a field, as `COR_PRF_EVENTPIPE_PARAM_TYPE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum FieldType {
    /// One byte.
    Byte = 6,
    /// Two bytes.
    UInt16 = 8,
    /// Four bytes, signed.
    Int32 = 9,
    /// Four bytes.
    UInt32 = 10,
    /// Eight bytes.
    UInt64 = 12,
}

/// What EventPipe is told of an event.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Number.
    pub id: u32,
    /// Name.
    pub name: &'static str,
    /// Keywords.
    pub keywords: u64,
    /// Leading fields, in order.
    pub fields: &'static [(&'static str, FieldType)],
}

use FieldType::{Byte, Int32, UInt16, UInt32, UInt64};

const BATCH: &[(&str, FieldType)] =
    &[("gc_seq", UInt64), ("part", UInt32), ("rows", UInt32), ("phase", Byte)];

/// The most fields an event has.
pub const MAX_FIELDS: usize = 24;

/// Every event, ordered by number from 1.
pub const EVENTS: [Description; 7] = [
    Description {
        id: event_id::HELLO,
        name: "Hello",
        keywords: KEYWORD_TOTALS,
        fields: &[
            ("abi", UInt32),
            ("tick_ns", UInt64),
            ("slots", UInt32),
            ("clr_major", UInt16),
            ("clr_minor", UInt16),
            ("clr_build", UInt16),
            ("clr_qfe", UInt16),
            ("load", Byte),
            ("arming", Byte),
            ("blocks", Byte),
            ("lease_connected", Byte),
        ],
    },
    Description {
        id: event_id::GC_TOTALS,
        name: "GcTotals",
        keywords: KEYWORD_TOTALS,
        fields: &[
            ("gc_seq", UInt64),
            ("gc_number", UInt32),
            ("collected", Byte),
            ("reason", UInt32),
            ("flags", UInt32),
            ("started_ns", UInt64),
            ("finished_ns", UInt64),
            ("callback_ns", UInt64),
            ("walk_ns", UInt64),
            ("toggle_failures", UInt32),
            ("stayed_blocks", UInt64),
            ("stayed_bytes", UInt64),
            ("dependent_pairs", UInt64),
            ("finalizable_queued", UInt64),
            ("missing_ranges", UInt64),
            ("missing_range_bytes", UInt64),
            ("missing_roots", UInt64),
            ("bounds_parts", UInt32),
            ("moved_parts", UInt32),
            ("surviving_parts", UInt32),
            ("roots_parts", UInt32),
            ("bounds_ranges", UInt32),
            ("moved_blocks", UInt64),
            ("moved_bytes", UInt64),
        ],
    },
    Description { id: event_id::BOUNDS, name: "Bounds", keywords: KEYWORD_RAW, fields: BATCH },
    Description { id: event_id::MOVED, name: "Moved", keywords: KEYWORD_RAW, fields: BATCH },
    Description { id: event_id::SURVIVING, name: "Surviving", keywords: KEYWORD_RAW, fields: BATCH },
    Description { id: event_id::ROOTS, name: "Roots", keywords: KEYWORD_RAW, fields: BATCH },
    Description {
        id: event_id::NOTE,
        name: "Note",
        keywords: KEYWORD_TOTALS,
        fields: &[("code", UInt32), ("hresult", Int32), ("tick_ns", UInt64)],
    },
];
