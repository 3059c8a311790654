//! The last frame: what the file should contain, and what its writer lost.

use super::bytes::{Bytes, Result};

/// Counts of the writer, to compare with what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndRecord {
    /// How many objects there are.
    pub objects: u64,
    /// The size of all objects in bytes.
    pub object_bytes: u64,
    /// How many references between objects there are, without those in `EDGES`.
    pub references: u64,
    /// How many classes there are.
    pub classes: u64,
    /// How many roots there are.
    pub roots: u64,
    /// How many references without a field there are.
    pub edges: u64,
    /// How many strings there are.
    pub strings: u64,
    /// Objects whose references differ between the runtime's two ways of telling them.
    pub objects_of_two_minds: u64,
    /// Objects of a fixed size that have another size.
    pub objects_of_another_size: u64,
    /// Roots that did not fit into the writer's memory.
    pub lost_roots: u64,
}

impl EndRecord {
    fn fields(&mut self) -> [&mut u64; 10] {
        [
            &mut self.objects,
            &mut self.object_bytes,
            &mut self.references,
            &mut self.classes,
            &mut self.roots,
            &mut self.edges,
            &mut self.strings,
            &mut self.objects_of_two_minds,
            &mut self.objects_of_another_size,
            &mut self.lost_roots,
        ]
    }

    /// The payload of the frame.
    pub fn encode(mut self) -> Vec<u8> {
        self.fields().iter().flat_map(|field| field.to_le_bytes()).collect()
    }

    /// Reads the payload. Bytes behind the fields that this reader knows are of a newer writer.
    ///
    /// # Errors
    /// The payload is too short.
    pub fn decode(payload: &[u8]) -> Result<Self> {
        let mut bytes = Bytes::new(payload);
        let mut record = Self::default();
        for field in record.fields() {
            *field = bytes.u64()?;
        }
        Ok(record)
    }
}
