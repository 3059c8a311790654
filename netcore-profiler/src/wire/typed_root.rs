//! One root with the type, size and generation of the object it refers to.

use super::batch::{RootFlags, RootKind};

/// Where an object lies after the collection. An open set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Generation(pub u8);

impl Generation {
    /// The heap of large objects.
    pub const LARGE: Self = Self(3);
    /// The heap of pinned objects.
    pub const PINNED: Self = Self(4);
    /// Outside the heap that is collected: frozen objects.
    pub const FROZEN: Self = Self(5);
    /// Not known.
    pub const UNKNOWN: Self = Self(0xff);
}

/// What sort of handle it is: `Kind` of the runtime's `SetGCHandle` event. An open set.
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
    /// Strong while something outside counts references.
    pub const REFCOUNTED: Self = Self(5);
    /// From one object to another that lives as long.
    pub const DEPENDENT: Self = Self(6);
    /// Pins what is used by overlapped input and output.
    pub const ASYNC_PINNED: Self = Self(7);
    /// Strong, with the size of what it holds.
    pub const SIZED_REF: Self = Self(8);
    /// The making of the handle was not seen.
    pub const UNKNOWN: Self = Self(0xff);
}

/// A root that is not null, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedRoot {
    /// Address after the collection, as the root has it: an interior one may lie within the object.
    pub object: u64,
    /// As [`Root::root_id`](super::Root::root_id).
    pub root_id: u64,
    /// The object's class; 0 unknown.
    pub class_id: u64,
    /// The object's size; 0 unknown.
    pub bytes: u64,
    /// `FunctionID` of the method that made the handle; 0 unknown.
    pub allocated_by: u64,
    /// What the root is.
    pub kind: RootKind,
    /// Its properties.
    pub flags: RootFlags,
    /// Where the object lies.
    pub generation: Generation,
    /// What sort of handle it is.
    pub handle_kind: HandleKind,
    /// How many more roots exactly like this one came after it.
    pub repeats: u16,
}
