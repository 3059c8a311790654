//! Roots and static fields, with type, size and generation of the objects they refer to.

use super::batch::{RootFlags, RootKind, row};
use super::payload::field;

/// Where an object lies after the collection. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(pub u8);

impl Generation {
    /// The large object heap.
    pub const LARGE: Self = Self(3);
    /// The pinned object heap.
    pub const PINNED: Self = Self(4);
    /// The frozen heap, which is never collected.
    pub const FROZEN: Self = Self(5);
    /// Unknown.
    pub const UNKNOWN: Self = Self(0xff);
}

field! { Generation StaticsPhase }

/// Kind of a handle: `Kind` of the runtime's `SetGCHandle` event. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandleKind(pub u8);

impl HandleKind {
    /// Weak, cleared before finalization.
    pub const WEAK_SHORT: Self = Self(0);
    /// Weak, cleared after finalization.
    pub const WEAK_LONG: Self = Self(1);
    /// Strong.
    pub const STRONG: Self = Self(2);
    /// Strong and pinning.
    pub const PINNED: Self = Self(3);
    /// Strong while a COM reference count is not 0.
    pub const REFCOUNTED: Self = Self(5);
    /// From one object to another that it keeps alive.
    pub const DEPENDENT: Self = Self(6);
    /// Pins buffers of overlapped I/O.
    pub const ASYNC_PINNED: Self = Self(7);
    /// Strong, and records the size of what it keeps alive.
    pub const SIZED_REF: Self = Self(8);
    /// The allocation of the handle was not seen.
    pub const UNKNOWN: Self = Self(0xff);
}

/// A root that is not null, and its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedRoot {
    /// Address of the object after the collection; for an interior root it may lie within the object.
    pub object: u64,
    /// As [`Root::root_id`](super::Root::root_id).
    pub root_id: u64,
    /// Class of the object; 0: unknown.
    pub class_id: u64,
    /// Size of the object in bytes; 0: unknown.
    pub bytes: u64,
    /// `FunctionID` of the method that allocated the handle; 0: unknown.
    pub allocated_by: u64,
    /// Kind of the root.
    pub kind: RootKind,
    /// Its flags.
    pub flags: RootFlags,
    /// Where the object lies.
    pub generation: Generation,
    /// Kind of the handle.
    pub handle_kind: HandleKind,
    /// How many equal roots came directly after this one.
    pub repeats: u16,
}

/// Which fields a batch has. Later versions may add values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StaticsPhase(pub u8);

impl StaticsPhase {
    /// Fields whose value has changed since it was last sent.
    pub const CHANGES: Self = Self(0);
    /// All fields; one without a row is null.
    pub const FULL: Self = Self(1);
}

/// Value of a static field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticRow {
    /// [`FieldDef::field`](super::FieldDef::field).
    pub field: u32,
    /// Address of the object after the collection; 0: null.
    pub object: u64,
    /// Class of the object; 0: unknown.
    pub class_id: u64,
    /// Its size in bytes; 0: unknown.
    pub bytes: u64,
    /// Generation of the object.
    pub generation: Generation,
}

row! { StaticRow, 29 bytes, StaticsPhase: field, object, class_id, bytes, generation }
