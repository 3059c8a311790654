//! What the fuzz targets share.

mod bound;
mod mutate;
mod stream;

pub use bound::bounded;
pub use mutate::mutate;
pub use stream::{Event, Stream};
