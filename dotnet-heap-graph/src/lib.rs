//! Reads and writes `.gcgraph` files, and says what holds the objects of a .NET process in memory.
//!
//! A `.gcgraph` file has all objects of one process at one moment: their classes, sizes and references, and the roots that
//! hold them.
//!
//! - [`mod@format`] has the frames and records of such a file: [`Reader`](format::Reader), [`Writer`](format::Writer) for
//!   frames with ready payloads, and [`GraphWriter`](format::GraphWriter) for who has only objects.
//! - [`Graph`] has all objects in memory: `len`, `class_of`, `size_bytes`, `references`, `address`, `object_at`,
//!   `classes`, `roots`, `edges`, `generation_of`, `completeness`. What is seldom asked it reads again from the file:
//!   `record` (length and hash), `place` (the field that has a reference), `texts`.
//! - [`Dominators`] says what each object retains: `retained`, `dominator`, `children`, `top`, `retained_by_roots`.
//! - [`analysis`] has a function for each question: totals, classes, what roots keep, the biggest objects, paths from roots,
//!   referrers, duplicate strings, wasted arrays, boxed values, finalizers, delegates, pending work, suspects, differences.
//! - [`exchange`] reads and writes the files of other tools.
//!
//! ```no_run
//! use dotnet_heap_graph::Graph;
//!
//! # fn main() -> dotnet_heap_graph::Result<()> {
//! let graph = Graph::open("app.gcgraph")?;
//! for object in 0..graph.len() {
//!     let class = graph.class(graph.class_of(object)).map(|class| class.label());
//!     println!("{:#x} {class:?} {} bytes", graph.address(object), graph.size_bytes(object));
//! }
//! # Ok(())
//! # }
//! ```

pub mod analysis;
mod dominators;
mod error;
pub mod exchange;
pub mod format;
mod graph;
mod parallel;

pub use dominators::{Amount, Dominator, Dominators, Ordered};
pub use error::{Error, Result};
pub use graph::{Class, Completeness, Difference, Edge, Generation, Graph, Limits, Place, Root, RootKind};
