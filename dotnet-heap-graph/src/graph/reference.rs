//! A reference that is in no field.

/// A reference that is in no field of the object that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The object that keeps the other alive.
    pub from: u32,
    /// The object that is kept alive.
    pub to: u32,
    /// The dependent handle, as `ConditionalWeakTable` has. `None`: the runtime tells no place, as for the loader of a
    /// collectible class.
    pub handle: Option<u64>,
}
