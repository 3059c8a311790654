//! `.gcdump` files.
//!
//! Such a file is one `GCHeapDump` object in the FastSerialization format of microsoft/perfview. Its `Graphs.MemoryGraph`
//! has a table of types and a list of nodes: a type, a size and the numbers of the nodes that it refers to. Nodes without
//! an address stand for groups of roots: `[static vars]` refers to `[static var Program.Cache]`, which refers to the object.

mod blob;
mod description;
mod export;
mod file;
mod graph;
mod groups;
mod import;
mod input;
mod nodes;
mod objects;
mod output;
mod roots;
mod slots;
mod tables;
mod type_names;

pub use self::{description::Description, export::write, import::read};
