//! The events that the profiler writes and gcwatch reads.
//!
//! They are events of the provider [`PROVIDER_NAME`] in the EventPipe stream of the process. Integers are little-endian
//! and unaligned; fields come in the order of the source; a reader ignores bytes after the last field that it knows.
//! [`decode`] never panics, whatever the bytes are.
//!
//! The profiler sends exact totals of every collection ([`GcTotals`]). If the configuration asks for `blocks`, it also
//! sends raw ranges and roots: before the totals, in numbered parts of at most [`MAX_EVENT_BYTES`]. The totals say how
//! many parts there are.
//!
//! Names come in two steps. Roots and static fields ([`TypedRoots`], [`StaticRow`]) have identifiers. What an identifier
//! stands for ([`Class`], [`Method`]) is read during the pause and comes before the totals of the first collection that
//! uses it. The names of its tokens ([`TypeDef`], [`MethodDef`]) follow later, and [`NamesDone`] says up to which
//! collection they are complete. [`event_id::FORGET`] makes all identifiers void that were sent before.

mod batch;
mod cursor;
mod definitions;
pub mod describe;
mod facts;
pub mod graph;
mod hello;
pub mod histogram;
mod packed;
mod payload;
mod text;
mod totals;
mod typed_root;

pub use batch::{
    Batch, BatchHeader, BoundsPhase, BoundsRange, MovedRange, Root, RootFlags, RootKind, Row, Rows,
    SurvivingRange,
};
pub use cursor::WireError;
pub use definitions::{DefStatus, FieldDef, MethodDef, Module, NamesDone, TypeDef};
pub use facts::{CODE_WITHOUT_METHOD, Class, ClassShape, Ids, MAX_FRAMES, Method, MethodShape, Trigger};
pub use graph::GraphPause;
pub use hello::{Arming, Hello, Load, Note, NoteCode, Window};
pub use histogram::{Bucket, Histogram};
pub use packed::{PACKED_ROW_BYTES, PackedRows, Packer, TypedRoots};
use payload::Field as _;
pub use payload::Payload;
pub use text::{MAX_TEXT_UNITS, MAX_TEXTS, Text, Texts};
pub use totals::{
    BLOCK_GENERATIONS, GcFlags, GcTotals, Naming, Parts, ROOT_CELLS, RangeTotals, RootCount, RootCounts,
    RootTotals, root_cell,
};
pub use typed_root::{Generation, HandleKind, StaticRow, StaticsPhase, TypedRoot};

/// Name of the EventPipe provider that carries the events.
pub const PROVIDER_NAME: &str = "Gcwatch-Profiler";

/// Version of this schema and of the configuration text. Profiler and gcwatch must have the same one.
pub const ABI_VERSION: u32 = 5;

/// Class identifier of the profiler, in the byte order of a COM `GUID` in memory:
/// `{8E1CBDBC-A372-4EAE-8F84-91DA39DA2C47}`.
pub const CLSID: [u8; 16] =
    [0xbc, 0xbd, 0x1c, 0x8e, 0x72, 0xa3, 0xae, 0x4e, 0x8f, 0x84, 0x91, 0xda, 0x39, 0xda, 0x2c, 0x47];

/// [`CLSID`] as the value of `CORECLR_PROFILER`, with braces.
pub const CLSID_TEXT: &str = "{8E1CBDBC-A372-4EAE-8F84-91DA39DA2C47}";

/// Keyword of [`event_id::HELLO`], [`event_id::GC_TOTALS`], [`event_id::NOTE`] and [`event_id::GRAPH_PAUSE`].
pub const KEYWORD_TOTALS: u64 = 1;

/// Keyword of the raw events: bounds, moved, surviving and roots.
pub const KEYWORD_RAW: u64 = 2;

/// Keyword of all events for names: [`event_id::TYPED_ROOTS`] and above.
pub const KEYWORD_NAMES: u64 = 4;

/// Level of every event: 4, informational.
pub const LEVEL: u32 = 4;

/// The largest payload that the profiler writes. EventPipe silently drops events above 65,536 bytes.
pub const MAX_EVENT_BYTES: usize = 60 * 1024;

/// A byte of the lease, sent once a second: gcwatch still watches.
pub const LEASE_HEARTBEAT: u8 = 1;

/// A byte of the lease: a heap graph is wanted. The profiler connects a second time, for [`graph`].
pub const LEASE_GRAPH: u8 = 2;

/// The last byte of the lease: the profiler is to leave. The end of the connection means the same.
pub const LEASE_GOODBYE: u8 = 0;

/// Makes [`event_id`], [`Record`] and [`decode`] from one row for each event.
macro_rules! events {
    ($($(#[$doc:meta])* $id:ident = $number:literal => $record:ident($type:ty);)*) => {
        /// Numbers of the events within the provider.
        pub mod event_id {
            $(
                $(#[$doc])*
                #[doc = concat!(" [`Record::", stringify!($record), "`](super::Record::", stringify!($record), ")")]
                pub const $id: u32 = $number;
            )*
            /// Identifiers are void: [`Record::Forget`](super::Record::Forget).
            pub const FORGET: u32 = 18;
        }

        /// One decoded event.
        #[derive(Debug, Clone, Copy, PartialEq)]
        #[non_exhaustive]
        #[expect(clippy::large_enum_variant, reason = "decoding allocates nothing, and records are not stored")]
        pub enum Record<'a> {
            $($(#[$doc])* $record($type),)*
            /// A module was unloaded: classes, methods, modules and fields that were sent before are void, and the
            /// runtime may use their identifiers for others.
            Forget,
            /// An event of a later version; the value is its number.
            Unknown(u32),
        }

        /// Decodes the payload of one event of the provider [`PROVIDER_NAME`].
        ///
        /// # Errors
        /// [`WireError`] if the payload is shorter than its own counts say.
        pub fn decode<'a>(event_id: u32, payload: &'a [u8]) -> Result<Record<'a>, WireError> {
            Ok(match event_id {
                event_id::TYPED_ROOTS if TypedRoots::are_of_another_layout(payload) => Record::Unknown(event_id),
                $(event_id::$id => Record::$record(<$type>::decode(payload)?),)*
                event_id::FORGET => Record::Forget,
                other => Record::Unknown(other),
            })
        }
    };
}

events! {
    /// The profiler is loaded. Only this event proves it; the result of an attach does not.
    HELLO = 1 => Hello(Hello);
    /// Totals of one collection.
    GC_TOTALS = 2 => GcTotals(GcTotals<'a>);
    /// Generation bounds of one collection.
    BOUNDS = 3 => Bounds(Batch<'a, BoundsRange>);
    /// Ranges that were moved.
    MOVED = 4 => Moved(Batch<'a, MovedRange>);
    /// Ranges that survived in place.
    SURVIVING = 5 => Surviving(Batch<'a, SurvivingRange>);
    /// Roots, null ones included.
    ROOTS = 6 => Roots(Batch<'a, Root>);
    /// A note.
    NOTE = 7 => Note(Note);
    /// Roots with types.
    TYPED_ROOTS = 8 => TypedRoots(TypedRoots<'a>);
    /// What a class is.
    CLASS = 9 => Class(Class<'a>);
    /// What a method is.
    METHOD = 10 => Method(Method<'a>);
    /// A module.
    MODULE = 11 => Module(Module<'a>);
    /// Name of a type.
    TYPE_DEF = 12 => TypeDef(TypeDef<'a>);
    /// Name of a method.
    METHOD_DEF = 13 => MethodDef(MethodDef<'a>);
    /// Names are complete up to a collection.
    NAMES_DONE = 14 => NamesDone(NamesDone);
    /// The stack that induced a collection.
    TRIGGER = 15 => Trigger(Trigger<'a>);
    /// A static field.
    FIELD_DEF = 16 => FieldDef(FieldDef<'a>);
    /// Values of static fields after a collection.
    STATICS = 17 => Statics(Batch<'a, StaticRow>);
    /// A heap graph was taken in a collection. This event comes before its totals.
    GRAPH_PAUSE = 19 => GraphPause(GraphPause);
}

#[cfg(test)]
mod tests;
