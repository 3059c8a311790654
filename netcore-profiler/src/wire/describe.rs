//! Names and types of the leading fields of each event, which EventPipe stores so that other readers of a recording can
//! show them. Only [`decode`](super::decode) reads the tables that follow.

use super::{KEYWORD_NAMES, KEYWORD_RAW, KEYWORD_TOTALS};

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

/// The description of an event for EventPipe.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Number.
    pub id: u32,
    /// Name.
    pub name: &'static str,
    /// Keywords.
    pub keywords: u64,
    fields: &'static str,
}

/// The maximum number of fields of an event.
pub const MAX_FIELDS: usize = 24;

/// Number of events.
pub const EVENTS: usize = 19;

/// A line for each event, by number from 1: name, first letter of the keyword, fields, each with its type (`B` 1 byte,
/// `H` 2, `I` 4, `i` 4 signed, `Q` 8). One text, because a table of texts costs the library 48 bytes for each.
const TEXT: &str = concat!(
    "Hello t abi:I tick_ns:Q slots:I clr_major:H clr_minor:H clr_build:H clr_qfe:H load:B arming:B ",
    "blocks:B lease_connected:B names:B window:I window_gcs:I window_length_ms:I window_every_ms:I ",
    "window_busy:I age_ns:Q\n",
    "GcTotals t gc_seq:Q gc_number:I collected:B reason:I flags:I started_ns:Q finished_ns:Q ",
    "callback_ns:Q walk_ns:Q toggle_failures:I stayed_blocks:Q stayed_bytes:Q dependent_pairs:Q ",
    "finalizable_queued:Q missing_ranges:Q missing_range_bytes:Q missing_roots:Q bounds_parts:I ",
    "moved_parts:I surviving_parts:I roots_parts:I bounds_ranges:I moved_blocks:Q moved_bytes:Q\n",
    "Bounds r gc_seq:Q part:I rows:I phase:B\n",
    "Moved r gc_seq:Q part:I rows:I phase:B\n",
    "Surviving r gc_seq:Q part:I rows:I phase:B\n",
    "Roots r gc_seq:Q part:I rows:I phase:B\n",
    "Note t code:I hresult:i tick_ns:Q\n",
    "Holders n gc_seq:Q part:I rows:I phase:B\n",
    "Class n class_id:Q shape:B module_id:Q token:I\n",
    "Method n function_id:Q shape:B class_id:Q module_id:Q token:I\n",
    "Module n module_id:Q flags:I\n",
    "TypeDef n module_id:Q token:I status:B\n",
    "MethodDef n module_id:Q token:I status:B\n",
    "NamesDone n gc_seq:Q\n",
    "Trigger n reason:I os_thread:Q\n",
    "FieldDef n field:I module_id:Q type_token:I token:I slot:Q\n",
    "Statics n gc_seq:Q part:I rows:I phase:B\n",
    "Forget n\n",
    "GraphPause t gc_seq:Q gc_number:I pause_ns:Q\n",
);

/// Every event, ordered by number from 1.
pub fn events() -> impl Iterator<Item = Description> {
    let mut rest = TEXT;
    (1..).map_while(move |id| {
        let mut line = cut(&mut rest, b'\n')?;
        let name = cut(&mut line, b' ')?;
        let keywords = match line.as_bytes().first()? {
            b't' => KEYWORD_TOTALS,
            b'r' => KEYWORD_RAW,
            _ => KEYWORD_NAMES,
        };
        Some(Description { id, name, keywords, fields: line.get(2..).unwrap_or_default() })
    })
}

impl Description {
    /// Leading fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, FieldType)> {
        let mut rest = self.fields;
        core::iter::from_fn(move || {
            let name = cut(&mut rest, b':')?;
            let kind = match rest.as_bytes().first()? {
                b'B' => FieldType::Byte,
                b'H' => FieldType::UInt16,
                b'i' => FieldType::Int32,
                b'I' => FieldType::UInt32,
                _ => FieldType::UInt64,
            };
            rest = rest.get(2..).unwrap_or_default();
            Some((name, kind))
        })
    }
}

/// Takes the text up to a character off, and the character; all of the text if it is not there.
fn cut(rest: &mut &'static str, end: u8) -> Option<&'static str> {
    if rest.is_empty() {
        return None;
    }
    let at = rest.bytes().position(|byte| byte == end).unwrap_or(rest.len());
    let before = rest.get(..at)?;
    *rest = rest.get(at.saturating_add(1)..).unwrap_or_default();
    Some(before)
}
