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
//! Names come in two steps. Roots and static fields ([`TypedRoots`], [`Statics`]) have identifiers. What an identifier
//! stands for ([`Class`], [`Method`]) is read during the pause and comes before the totals of the first collection that
//! uses it. The names of its tokens ([`TypeDef`], [`MethodDef`]) follow later, and [`NamesDone`] says up to which
//! collection they are complete. [`event_id::FORGET`] makes all identifiers void that were sent before.

mod batch;
mod cursor;
mod definitions;
pub mod describe;
mod facts;
mod hello;
pub mod histogram;
mod note;
mod packed;
mod payload;
mod statics;
mod text;
mod totals;
mod typed_root;

pub use batch::{
    BatchHeader, Bounds, BoundsPhase, BoundsRange, MovedRange, MovedRanges, Root, RootBatch, RootFlags,
    RootKind, Row, Rows, SurvivingRange, SurvivingRanges,
};
pub use cursor::WireError;
pub use definitions::{DefStatus, FieldDef, MethodDef, Module, NamesDone, TypeDef};
pub use facts::{CODE_WITHOUT_METHOD, Class, ClassShape, Ids, MAX_FRAMES, Method, MethodShape, Trigger};
pub use hello::{Arming, Hello, Load, Window};
pub use histogram::{Bucket, Histogram};
pub use note::{Note, NoteCode};
pub use packed::{PACKED_ROW_BYTES, PackedRows, Packer, TypedRoots};
pub use statics::{StaticRow, Statics, StaticsPhase};
pub use text::{MAX_TEXT_UNITS, MAX_TEXTS, Text, Texts};
pub use totals::{
    BLOCK_GENERATIONS, GcFlags, GcTotals, Naming, Parts, ROOT_CELLS, RangeTotals, RootCount, RootCounts,
    RootTotals, root_cell,
};
pub use typed_root::{Generation, HandleKind, TypedRoot};

/// Name of the EventPipe provider that carries the events.
pub const PROVIDER_NAME: &str = "Gcwatch-Profiler";

/// Version of this schema and of the configuration text. Profiler and gcwatch must have the same one.
pub const ABI_VERSION: u32 = 3;

/// Class identifier of the profiler, in the byte order of a COM `GUID` in memory:
/// `{8E1CBDBC-A372-4EAE-8F84-91DA39DA2C47}`.
pub const CLSID: [u8; 16] =
    [0xbc, 0xbd, 0x1c, 0x8e, 0x72, 0xa3, 0xae, 0x4e, 0x8f, 0x84, 0x91, 0xda, 0x39, 0xda, 0x2c, 0x47];

/// [`CLSID`] as the value of `CORECLR_PROFILER`, with braces.
pub const CLSID_TEXT: &str = "{8E1CBDBC-A372-4EAE-8F84-91DA39DA2C47}";

/// Keyword of [`event_id::HELLO`], [`event_id::GC_TOTALS`] and [`event_id::NOTE`].
pub const KEYWORD_TOTALS: u64 = 1;

/// Keyword of the raw events: bounds, moved, surviving and roots.
pub const KEYWORD_RAW: u64 = 2;

/// Keyword of all events for names: [`event_id::TYPED_ROOTS`] and above.
pub const KEYWORD_NAMES: u64 = 4;

/// Level of every event: 4, informational.
pub const LEVEL: u32 = 4;

/// The largest payload that the profiler writes. EventPipe silently drops events above 65,536 bytes.
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
    /// A note: [`Note`](super::Note).
    pub const NOTE: u32 = 7;
    /// Roots with types: [`TypedRoots`](super::TypedRoots).
    pub const TYPED_ROOTS: u32 = 8;
    /// What a class is: [`Class`](super::Class).
    pub const CLASS: u32 = 9;
    /// What a method is: [`Method`](super::Method).
    pub const METHOD: u32 = 10;
    /// A module: [`Module`](super::Module).
    pub const MODULE: u32 = 11;
    /// Name of a type: [`TypeDef`](super::TypeDef).
    pub const TYPE_DEF: u32 = 12;
    /// Name of a method: [`MethodDef`](super::MethodDef).
    pub const METHOD_DEF: u32 = 13;
    /// Names are complete up to a collection: [`NamesDone`](super::NamesDone).
    pub const NAMES_DONE: u32 = 14;
    /// The stack that induced a collection: [`Trigger`](super::Trigger).
    pub const TRIGGER: u32 = 15;
    /// A static field: [`FieldDef`](super::FieldDef).
    pub const FIELD_DEF: u32 = 16;
    /// Values of static fields: [`Statics`](super::Statics).
    pub const STATICS: u32 = 17;
    /// Identifiers are void: [`Record::Forget`](super::Record::Forget).
    pub const FORGET: u32 = 18;
}

/// One decoded event.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "decoding allocates nothing, and records are not stored")]
pub enum Record<'a> {
    /// The profiler is loaded. Only this event proves it; the result of an attach does not.
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
    /// A note.
    Note(Note),
    /// Roots with types.
    TypedRoots(TypedRoots<'a>),
    /// What a class is.
    Class(Class<'a>),
    /// What a method is.
    Method(Method<'a>),
    /// A module.
    Module(Module<'a>),
    /// Name of a type.
    TypeDef(TypeDef<'a>),
    /// Name of a method.
    MethodDef(MethodDef<'a>),
    /// Names are complete up to a collection.
    NamesDone(NamesDone),
    /// The stack that induced a collection.
    Trigger(Trigger<'a>),
    /// A static field.
    FieldDef(FieldDef<'a>),
    /// Values of static fields.
    Statics(Statics<'a>),
    /// A module was unloaded: classes, methods, modules and fields that were sent before are void, and the runtime may
    /// use their identifiers for others.
    Forget,
    /// An event of a later version; the value is its number.
    Unknown(u32),
}

/// Decodes the payload of one event of the provider [`PROVIDER_NAME`].
///
/// # Errors
/// [`WireError`] if the payload is shorter than its own counts say.
pub fn decode(event_id: u32, payload: &[u8]) -> Result<Record<'_>, WireError> {
    Ok(match event_id {
        event_id::HELLO => Record::Hello(Hello::decode(payload)?),
        event_id::GC_TOTALS => Record::GcTotals(GcTotals::decode(payload)?),
        event_id::BOUNDS => Record::Bounds(Bounds::decode(payload)?),
        event_id::MOVED => Record::Moved(MovedRanges::decode(payload)?),
        event_id::SURVIVING => Record::Surviving(SurvivingRanges::decode(payload)?),
        event_id::ROOTS => Record::Roots(RootBatch::decode(payload)?),
        event_id::NOTE => Record::Note(Note::decode(payload)?),
        event_id::TYPED_ROOTS => {
            TypedRoots::decode(payload)?.map_or(Record::Unknown(event_id), Record::TypedRoots)
        }
        event_id::CLASS => Record::Class(Class::decode(payload)?),
        event_id::METHOD => Record::Method(Method::decode(payload)?),
        event_id::MODULE => Record::Module(Module::decode(payload)?),
        event_id::TYPE_DEF => Record::TypeDef(TypeDef::decode(payload)?),
        event_id::METHOD_DEF => Record::MethodDef(MethodDef::decode(payload)?),
        event_id::NAMES_DONE => Record::NamesDone(NamesDone::decode(payload)?),
        event_id::TRIGGER => Record::Trigger(Trigger::decode(payload)?),
        event_id::FIELD_DEF => Record::FieldDef(FieldDef::decode(payload)?),
        event_id::STATICS => Record::Statics(Statics::decode(payload)?),
        event_id::FORGET => Record::Forget,
        other => Record::Unknown(other),
    })
}

#[cfg(test)]
mod tests;
