//! What the fuzz targets share.

mod bound;
mod dice;
mod frames;
mod graph;
mod mutate;
mod payload;
mod stream;

pub use bound::bounded;
pub use frames::mutate_frames;
pub use graph::graph;
pub use mutate::mutate;
pub use stream::{Event, Stream};
