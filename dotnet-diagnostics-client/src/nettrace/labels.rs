//! Label lists of version 6: what several events have in common.

use std::collections::HashMap;

use super::bytes::{Bytes, Malformed, Result};
use super::field::OVERHEAD_BYTES;

const LAST_OF_LIST: u8 = 0x80;

/// The value of a [label](super::Event::labels).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LabelValue {
    /// A text.
    Text(Box<str>),
    /// A number.
    Int(i64),
}

/// The labels of one list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LabelList {
    pub(super) activity: Option<[u8; 16]>,
    pub(super) related_activity: Option<[u8; 16]>,
    pub(super) trace_id: Option<[u8; 16]>,
    pub(super) span_id: Option<u64>,
    pub(super) opcode: Option<u8>,
    pub(super) keywords: Option<u64>,
    pub(super) level: Option<u8>,
    pub(super) version: Option<u8>,
    pub(super) named: Vec<(Box<str>, LabelValue)>,
}

/// The list of an event without labels.
static NONE: LabelList = LabelList {
    activity: None,
    related_activity: None,
    trace_id: None,
    span_id: None,
    opcode: None,
    keywords: None,
    level: None,
    version: None,
    named: Vec::new(),
};

impl LabelList {
    /// Memory in bytes.
    fn memory(&self) -> usize {
        let named = self.named.iter().map(|(key, value)| {
            let text = if let LabelValue::Text(text) = value { text.len() } else { 0 };
            size_of::<(Box<str>, LabelValue)>() + OVERHEAD_BYTES + key.len() + text
        });
        size_of::<Self>() + OVERHEAD_BYTES + named.sum::<usize>()
    }

    fn parse(bytes: &mut Bytes<'_>) -> Result<Self> {
        let mut list = Self::default();
        loop {
            let kind = bytes.u8()?;
            match kind & !LAST_OF_LIST {
                1 => list.activity = Some(bytes.array()?),
                2 => list.related_activity = Some(bytes.array()?),
                3 => list.trace_id = Some(bytes.array()?),
                4 => list.span_id = Some(bytes.u64()?),
                5 => list.named.push((bytes.utf8()?, LabelValue::Text(bytes.utf8()?))),
                6 => list.named.push((bytes.utf8()?, LabelValue::Int(bytes.varint()?))),
                7 => list.opcode = Some(bytes.u8()?),
                8 => list.keywords = Some(bytes.u64()?),
                9 => list.level = Some(bytes.u8()?),
                10 => list.version = Some(bytes.u8()?),
                _ => return Err(Malformed("a label of an unknown kind")),
            }
            if kind & LAST_OF_LIST != 0 {
                return Ok(list);
            }
        }
    }
}

/// The lists since the last sequence point.
#[derive(Debug, Default)]
pub(super) struct Labels {
    by_index: HashMap<u32, LabelList>,
    bytes: usize,
}

impl Labels {
    /// A list. One without labels if the stream does not have it.
    #[inline]
    pub(super) fn get(&self, index: u32) -> &LabelList {
        match index {
            0 => &NONE,
            _ => self.by_index.get(&index).unwrap_or(&NONE),
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Reads a label list block. At most `limit` lists are kept, and those that fit into `limit_bytes`.
    pub(super) fn parse(&mut self, bytes: &mut Bytes<'_>, limit: usize, limit_bytes: usize) -> Result<()> {
        let first = bytes.u32()?;
        let count = bytes.u32()?;
        for index in 0..count {
            let list = LabelList::parse(bytes)?;
            let memory = list.memory();
            if self.by_index.len() < limit && self.bytes.saturating_add(memory) <= limit_bytes {
                self.bytes += memory;
                self.by_index.insert(first.wrapping_add(index), list);
            }
        }
        Ok(())
    }
}
