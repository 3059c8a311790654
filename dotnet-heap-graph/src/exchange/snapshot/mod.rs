//! Heap snapshots in `.nettrace` recordings.
//!
//! A session with the keywords [`KEYWORDS`] makes the runtime collect all generations, and write all objects of the heap as
//! events of `Microsoft-Windows-DotNETRuntime`. dotnet-gcdump takes its graphs this way; dotnet-trace records it with
//! `--providers Microsoft-Windows-DotNETRuntime:0x1980001:5`.
//!
//! Objects and references come in separate blocks, and only their order tells which reference is of which object. The
//! blocks are numbered, so a gap shows; behind it the objects are known, but not their references. [`Taken`] tells it.
//!
//! [`read`] takes a recording. [`Snapshot`] takes the events one by one, wherever they come from.

mod collector;
mod heap;
mod kinds;
mod nettrace;
mod payload;
mod roots;
mod statics;
mod text;
mod write;

pub use self::{
    collector::{Event, Provider, Snapshot},
    nettrace::read,
    text::type_name,
    write::Taken,
};

/// The keywords of a session that takes a snapshot, at level 5: GC, types, heap dump, collect, and names of types.
pub const KEYWORDS: u64 = 0x198_0001;
