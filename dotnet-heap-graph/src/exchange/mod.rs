//! Heap graphs of other tools for .NET, to and from `.gcgraph` files.
//!
//! - [`gcdump`] reads and writes `.gcdump` files, which dotnet-gcdump, PerfView and Visual Studio read.
//! - [`snapshot`] reads the heap snapshot in a `.nettrace` recording.
//!
//! Neither tells where in an object a reference is. Their classes have the flag
//! [`ClassRecord::UNPLACED`](crate::format::ClassRecord::UNPLACED). Neither tells the contents of strings, so `System.String`
//! is a class like any other, without [`ClassRecord::STRING`](crate::format::ClassRecord::STRING).

mod classes;
mod counts;
mod error;
pub mod gcdump;
mod names;
mod sink;
pub mod snapshot;

pub use self::{
    counts::Counts,
    error::{Error, Result},
};
