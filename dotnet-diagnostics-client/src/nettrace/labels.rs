//! Label lists of version 6. Only the activity ids in them are kept.

use std::collections::HashMap;

use super::bytes::{Bytes, Malformed, Result};

const LAST_OF_LIST: u8 = 0x80;

/// The activity ids of one label list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Activities {
    pub(super) activity: [u8; 16],
    pub(super) related: [u8; 16],
}

#[derive(Debug, Default)]
pub(super) struct Labels {
    by_index: HashMap<u32, Activities>,
}

impl Labels {
    pub(super) fn get(&self, index: u32) -> Activities {
        self.by_index.get(&index).copied().unwrap_or_default()
    }

    pub(super) fn clear(&mut self) {
        self.by_index.clear();
    }

    /// Reads a label list block. At most `limit` lists are kept.
    pub(super) fn parse(&mut self, bytes: &mut Bytes<'_>, limit: usize) -> Result<()> {
        let first = bytes.u32()?;
        let count = bytes.u32()?;
        for index in 0..count {
            let list = label_list(bytes)?;
            if self.by_index.len() < limit && list != Activities::default() {
                self.by_index.insert(first.wrapping_add(index), list);
            }
        }
        Ok(())
    }
}

fn label_list(bytes: &mut Bytes<'_>) -> Result<Activities> {
    let mut list = Activities::default();
    loop {
        let kind = bytes.u8()?;
        match kind & !LAST_OF_LIST {
            1 => list.activity = bytes.array()?,
            2 => list.related = bytes.array()?,
            // Trace id.
            3 => drop(bytes.take(16)?),
            // Span id, keywords.
            4 | 8 => drop(bytes.u64()?),
            // Key and value: text, number.
            5 => drop((bytes.utf8()?, bytes.utf8()?)),
            6 => drop((bytes.utf8()?, bytes.varu64()?)),
            // Opcode, level, version.
            7 | 9 | 10 => drop(bytes.u8()?),
            _ => return Err(Malformed("a label of an unknown kind")),
        }
        if kind & LAST_OF_LIST != 0 {
            return Ok(list);
        }
    }
}
