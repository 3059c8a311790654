//! What the profiler and gcwatch say to each other while a heap graph is taken.
//!
//! gcwatch sends [`LEASE_GRAPH`](super::LEASE_GRAPH) on the lease. The profiler then connects to the lease's socket a
//! second time, and gcwatch sends a [`Request`] there. The forked copy of the process answers with messages: a kind, the
//! length of the payload (u32), the payload. Kinds below 128 are frames of a `.gcgraph` file (`docs/gcgraph.md`), to be
//! written as they are. When the copy has ended, the process itself sends [`kind::OUTCOME`], and then answers to
//! [`Ask`]s until gcwatch closes the connection.

use super::cursor::{WireError, Writer};
use super::payload::{Field, fields, payload};
use super::text::Text;

/// Kinds of messages.
pub mod kind {
    /// Classes, a frame of the file.
    pub const CLASSES: u8 = 2;
    /// Objects, a frame of the file.
    pub const OBJECTS: u8 = 3;
    /// Roots, a frame of the file.
    pub const ROOTS: u8 = 4;
    /// References that are in no field, a frame of the file.
    pub const EDGES: u8 = 5;
    /// Address ranges of the generations, a frame of the file.
    pub const RANGES: u8 = 6;
    /// Contents of strings, a frame of the file.
    pub const TEXTS: u8 = 8;
    /// Counts, the last frame of the file.
    pub const END: u8 = 9;
    /// Further references of a large object, a frame of the file.
    pub const MORE: u8 = 10;
    /// The copy exists: [`Taken`](super::Taken).
    pub const TAKEN: u8 = 128;
    /// What a class is: [`Class`](crate::wire::Class).
    pub const CLASS_FACTS: u8 = 129;
    /// What a method is: [`Method`](crate::wire::Method).
    pub const METHOD_FACTS: u8 = 130;
    /// The fields of a class: [`Layout`](super::Layout), and its rows.
    pub const LAYOUT: u8 = 131;
    /// What the copy cost: [`CopyCost`](super::CopyCost).
    pub const COPY_COST: u8 = 132;
    /// How it ended: [`Outcome`](super::Outcome).
    pub const OUTCOME: u8 = 140;
    /// A module: [`Module`](crate::wire::Module).
    pub const MODULE: u8 = 141;
    /// A type: [`TypeDef`](crate::wire::TypeDef).
    pub const TYPE_DEF: u8 = 142;
    /// A method: [`MethodDef`](crate::wire::MethodDef).
    pub const METHOD_DEF: u8 = 143;
    /// A field: [`FieldName`](super::FieldName).
    pub const FIELD_NAME: u8 = 144;
    /// A static field: [`FieldDef`](crate::wire::FieldDef).
    pub const STATIC: u8 = 145;
    /// All questions so far have been answered.
    pub const ANSWERED: u8 = 146;
}

/// Bytes of a message's kind and length.
pub const HEAD_BYTES: usize = 5;

/// The largest payload of a message.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// What gcwatch wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// [`Request::TEXTS`], [`Request::INDUCE`], [`Request::IN_PAUSE`].
    pub flags: u32,
    /// After this many milliseconds the copy ends itself, or the walk in the pause is given up.
    pub deadline_ms: u32,
}

impl Request {
    /// Send the contents of strings.
    pub const TEXTS: u32 = 1;
    /// Induce a collection, instead of waiting for the program's next one.
    pub const INDUCE: u32 = 2;
    /// Walk the heap while the program stands still, instead of in a copy of the process. If the walk is given up, the
    /// profiler closes the connection.
    pub const IN_PAUSE: u32 = 4;
    /// Size in bytes.
    pub const BYTES: usize = 8;
}

fields! { Request: flags, deadline_ms }

/// A question of gcwatch about names: a kind, and what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// [`Ask::NAMES`], [`Ask::STATICS`], [`Ask::STATICS_OF_CLASS`] or [`Ask::DONE`].
    pub kind: u32,
    /// `mdTypeDef` or `mdMethodDef`.
    pub token: u32,
    /// Its module.
    pub module_id: u64,
    /// The class, for [`Ask::STATICS_OF_CLASS`].
    pub class_id: u64,
}

impl Ask {
    /// The name of a definition, and of a type's fields.
    pub const NAMES: u32 = 1;
    /// The static fields that refer to objects, of all classes with compiled methods.
    pub const STATICS: u32 = 2;
    /// Answer with [`kind::ANSWERED`].
    pub const DONE: u32 = 3;
    /// The static fields of one class that refer to objects.
    pub const STATICS_OF_CLASS: u32 = 4;
    /// Size in bytes.
    pub const BYTES: usize = 24;
}

fields! { Ask: kind, token, module_id, class_id }

/// The copy of the process, at its first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Process id of the copy, in the target's namespace.
    pub pid: u32,
    /// Number of the collection, as in the runtime's `GCStart`; 0: unknown.
    pub gc_number: u32,
    /// A bit for each generation that was collected.
    pub collected: u32,
    /// `COR_PRF_GC_REASON`.
    pub reason: u32,
}

fields! { Taken: pid, gc_number, collected, reason }

/// The head of [`kind::LAYOUT`]. A row of a token (u32) and an offset (u32) follows for each field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Index of the class in the file.
    pub index: u32,
    /// How many fields follow.
    pub fields: u32,
    /// Identifier of the class.
    pub class_id: u64,
}

impl Layout {
    /// Size in bytes, without the rows.
    pub const BYTES: usize = 16;
}

fields! { Layout: index, fields, class_id }

/// What the copy cost, as far as it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyCost {
    /// How long it lived, in ns.
    pub lived_ns: u64,
    /// Bytes that it does not share with the program any more, because one of the two has written them since; 0: unknown.
    pub unshared_bytes: u64,
}

fields! { CopyCost: lived_ns, unshared_bytes }

/// How the taking of a graph ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// [`Outcome::TAKEN`] or what went wrong.
    pub code: u32,
    /// How the copy ended, as `waitpid` says; or the system's error number.
    pub status: i32,
    /// How long the program stood still for `fork` alone, or for the walk in the pause, in ns.
    pub fork_ns: u64,
    /// How long it stood still to keep the roots, in ns.
    pub roots_ns: u64,
    /// Processor time of the copy in ns.
    pub cpu_ns: u64,
}

impl Outcome {
    /// The copy was made and has ended, or the heap was walked in the pause.
    pub const TAKEN: u32 = 0;
    /// The system refused `fork`.
    pub const FORK_FAILED: u32 = 1;
    /// There was not enough memory to keep the roots.
    pub const NO_MEMORY: u32 = 2;
    /// This system has no `fork` that could be used.
    pub const NOT_POSSIBLE: u32 = 3;
    /// A graph is being taken already.
    pub const BUSY: u32 = 4;
    /// Size in bytes.
    pub const BYTES: usize = 32;
}

fields! { Outcome: code, status, fork_ns, roots_ns, cpu_ns }

/// How long a program stood still for a heap graph, in a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphPause {
    /// The collection.
    pub gc_seq: u64,
    /// Number of the collection as in the runtime's `GCStart` event; 0: unknown.
    pub gc_number: u32,
    /// The time in ns, without what is in [`GcTotals::callback_ns`](super::GcTotals::callback_ns).
    pub pause_ns: u64,
}

impl GraphPause {
    /// Size in bytes.
    pub const BYTES: usize = 20;
}

payload! { GRAPH_PAUSE, GraphPause: gc_seq, gc_number, pause_ns }

/// A field's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldName<'a> {
    /// Its module.
    pub module_id: u64,
    /// `mdTypeDef` of its type.
    pub type_token: u32,
    /// `mdFieldDef`.
    pub token: u32,
    /// The name in the metadata.
    pub name: Text<'a>,
}

fields! { FieldName<'a>: module_id, type_token, token, name }

/// Reads one of the structures of this module from the front of a payload.
///
/// # Errors
/// The payload is too short.
pub fn read<'a, T: Field<'a>>(payload: &'a [u8]) -> Result<T, WireError> {
    T::decode(payload)
}

/// Writes one of the structures of this module, and returns its length in bytes.
///
/// # Errors
/// [`WireError::BufferFull`].
pub fn write<'a>(value: &impl Field<'a>, buffer: &mut [u8]) -> Result<usize, WireError> {
    let mut writer = Writer::new(buffer);
    value.write(&mut writer);
    writer.finish()
}
