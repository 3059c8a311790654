//! Names and types of the leading fields, given to EventPipe with each event, so that other readers
//! of a recording can show them. Tables that follow are for [`decode`](super::decode) alone.

use super::{KEYWORD_NAMES, KEYWORD_RAW, KEYWORD_TOTALS, event_id};

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
pub const EVENTS: [Description; 18] = [
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
            ("names", Byte),
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
    names(event_id::HOLDERS, "Holders", BATCH),
    names(
        event_id::CLASS,
        "Class",
        &[("class_id", UInt64), ("shape", Byte), ("module_id", UInt64), ("token", UInt32)],
    ),
    names(
        event_id::METHOD,
        "Method",
        &[
            ("function_id", UInt64),
            ("shape", Byte),
            ("class_id", UInt64),
            ("module_id", UInt64),
            ("token", UInt32),
        ],
    ),
    names(event_id::MODULE, "Module", &[("module_id", UInt64), ("flags", UInt32)]),
    names(event_id::TYPE_DEF, "TypeDef", DEFINITION),
    names(event_id::METHOD_DEF, "MethodDef", DEFINITION),
    names(event_id::NAMES_DONE, "NamesDone", &[("gc_seq", UInt64)]),
    names(event_id::TRIGGER, "Trigger", &[("reason", UInt32), ("os_thread", UInt64)]),
    names(
        event_id::FIELD_DEF,
        "FieldDef",
        &[
            ("field", UInt32),
            ("module_id", UInt64),
            ("type_token", UInt32),
            ("token", UInt32),
            ("slot", UInt64),
        ],
    ),
    names(event_id::STATICS, "Statics", BATCH),
    names(event_id::FORGET, "Forget", &[]),
];

const DEFINITION: &[(&str, FieldType)] = &[("module_id", UInt64), ("token", UInt32), ("status", Byte)];

const fn names(id: u32, name: &'static str, fields: &'static [(&'static str, FieldType)]) -> Description {
    Description { id, name, keywords: KEYWORD_NAMES, fields }
}
