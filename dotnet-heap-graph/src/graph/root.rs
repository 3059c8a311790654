//! A root of the graph.

use crate::format::RootRecord;

/// A reference from outside the heap to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The object that it refers to.
    pub object: u32,
    /// What it is.
    pub kind: RootKind,
    /// Whether it keeps nothing alive.
    pub is_weak: bool,
    /// The method of a stack root, the handle, the slot of a static field. 0: unknown.
    pub id: u64,
}

/// What a root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootKind {
    /// A static field, where no object of the file has it: [`Root::id`] is its [slot](crate::format::StaticName::slot). Only
    /// files that were made of other tools' files have such roots.
    Static,
    /// A handle that lets the object move.
    StrongHandle,
    /// A handle that pins the object. Arrays with the static fields of classes have such handles.
    PinnedHandle,
    /// A handle that keeps the object only while a reference count outside says so, as for COM.
    CountedHandle,
    /// A local variable of a method that runs.
    Stack,
    /// None of the others.
    Other,
    /// The list of objects that wait for their finalizer.
    Finalizer,
    /// No root, but a part of the heap that is never collected, as that of literal strings.
    Frozen,
}

impl RootKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Static,
        Self::StrongHandle,
        Self::PinnedHandle,
        Self::CountedHandle,
        Self::Stack,
        Self::Other,
        Self::Finalizer,
        Self::Frozen,
    ];

    /// The kind of a root of a file.
    pub fn of(root: &RootRecord) -> Self {
        match root.kind {
            RootRecord::STACK => Self::Stack,
            RootRecord::STATIC => Self::Static,
            RootRecord::FINALIZER => Self::Finalizer,
            RootRecord::HANDLE if root.flags & RootRecord::REFERENCE_COUNTED != 0 => Self::CountedHandle,
            RootRecord::HANDLE if root.flags & RootRecord::PINNED != 0 => Self::PinnedHandle,
            RootRecord::HANDLE => Self::StrongHandle,
            _ => Self::Other,
        }
    }
}
