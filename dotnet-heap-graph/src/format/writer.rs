//! Writes frames.

use std::io::{self, Write};

use super::compression::Compressor;
use super::end::EndRecord;
use super::frame::{FrameHead, FrameKind, MAX_PAYLOAD_BYTES, file_head};
use crate::error::{Error, Result};

/// Writes a `.gcgraph` file, frame by frame.
///
/// [`finish`](Self::finish) makes it complete. A file whose writer stopped before that is one that was cut.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    compressor: Compressor,
}

impl<W: Write> Writer<W> {
    /// Writes the head of the file.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(mut output: W) -> io::Result<Self> {
        output.write_all(&file_head())?;
        Ok(Self { output, compressor: Compressor::default() })
    }

    /// Writes a frame with this payload, compressed.
    ///
    /// # Errors
    /// [`Error::FrameTooLarge`] if the payload has more than [`MAX_PAYLOAD_BYTES`]. [`Error::Io`] if the output cannot be
    /// written.
    pub fn write_frame(&mut self, kind: FrameKind, payload: &[u8]) -> Result<()> {
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(Error::FrameTooLarge { bytes: payload.len() });
        }
        let (compression, stored) = self.compressor.compress(payload);
        let head = FrameHead::new(kind, compression, stored, payload.len() as u32);
        self.output.write_all(&head.encode())?;
        self.output.write_all(stored)?;
        Ok(())
    }

    /// Writes the frame `END` and flushes the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self, counts: EndRecord) -> Result<W> {
        self.write_frame(FrameKind::END, &counts.encode())?;
        self.output.flush()?;
        Ok(self.output)
    }
}
