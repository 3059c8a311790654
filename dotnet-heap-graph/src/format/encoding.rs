//! How a record is written. Other crates cannot name it, so only this one has records.

use super::bytes::{Bytes, Result};

/// How a record is written.
pub trait Encoding<'a>: Sized {
    fn decode(bytes: &mut Bytes<'a>) -> Result<Self>;
    fn encode(&self, out: &mut Vec<u8>);
}
