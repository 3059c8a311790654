//! How the payload of a frame is stored.

use super::frame::MAX_PAYLOAD_BYTES;

/// The payload is stored as it is.
const NONE: u8 = 0;
/// One block of LZ4.
const LZ4: u8 = 1;

/// The largest that a stored payload can be.
pub(crate) const MAX_STORED_BYTES: usize = MAX_PAYLOAD_BYTES;

/// Compresses payloads, in a buffer that is used again.
#[derive(Debug, Default)]
pub(crate) struct Compressor {
    buffer: Vec<u8>,
}

impl Compressor {
    /// How the payload is stored, and the bytes to store. What does not become smaller is stored as it is.
    pub(crate) fn compress<'a>(&'a mut self, payload: &'a [u8]) -> (u8, &'a [u8]) {
        let needed = lz4_flex::block::get_maximum_output_size(payload.len());
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
        match lz4_flex::block::compress_into(payload, &mut self.buffer) {
            Ok(len) if len < payload.len() => (LZ4, self.buffer.get(..len).unwrap_or_default()),
            _ => (NONE, payload),
        }
    }
}

/// Whether this reader knows the way in which a payload is stored.
pub(crate) fn is_known(compression: u8) -> bool {
    matches!(compression, NONE | LZ4)
}

/// Puts the payload into `raw`, which has its length. `false` if that is not possible.
pub(crate) fn decompress(compression: u8, stored: &[u8], raw: &mut [u8]) -> bool {
    match compression {
        NONE if stored.len() == raw.len() => {
            raw.copy_from_slice(stored);
            true
        }
        LZ4 => lz4_flex::block::decompress_into(stored, raw).is_ok_and(|len| len == raw.len()),
        _ => false,
    }
}
