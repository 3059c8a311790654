//! What was taken from another tool's file.

/// How much of a graph was taken over, and what was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Objects. The nodes that stand for groups of roots are none.
    pub objects: u64,
    /// The size of all objects in bytes, each rounded up to a multiple of 8.
    pub object_bytes: u64,
    /// References from object to object.
    pub references: u64,
    /// Classes.
    pub classes: u64,
    /// Roots, weak ones too.
    pub roots: u64,
    /// Dependent handles.
    pub edges: u64,
    /// References from objects and roots to what is no object of the file, which are left out.
    pub references_to_nowhere: u64,
    /// Objects and references that are left out because no object can be at their address: it is no multiple of 8, or
    /// another object is there.
    pub impossible: u64,
    /// Objects that are larger than a `.gcdump` file can say, 2 GiB. There they have 2 GiB.
    pub oversized: u64,
}
