//! What the runtime itself says was promoted by which roots: the bytes in GCMarkWithType, added up by collection.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::own_events::{u32_at, u64_at};
use super::stream::each_event;

const GC_START: u32 = 1;
const GC_END: u32 = 2;
const MARK_WITH_TYPE: u32 = 202;

/// The names of MarkType, in the runtime's order.
pub(crate) const MARKS: [&str; 10] = [
    "stack",
    "finalizer",
    "handle",
    "older_generation",
    "sized_ref",
    "overflow",
    "dependent_handle",
    "new_finalizable",
    "steal",
    "background",
];

/// The bytes by number of the collection and by name. An event belongs to the collection that started last and has not
/// ended: while a foreground collection runs, the background one is paused.
pub(crate) fn read_marks(path: &Path) -> Result<BTreeMap<u64, BTreeMap<&'static str, u64>>> {
    let mut all: BTreeMap<u64, BTreeMap<&str, u64>> = BTreeMap::new();
    let mut open: Vec<u64> = Vec::new();
    each_event(path, |event| {
        let payload = event.payload;
        match event.metadata.event_id {
            GC_START => {
                let number = u64::from(u32_at(payload, 0)?);
                open.push(number);
                all.entry(number).or_default();
            }
            GC_END => {
                let number = u64::from(u32_at(payload, 0)?);
                open.retain(|one| *one != number);
            }
            MARK_WITH_TYPE => {
                let number = open.last().context("a mark outside of collections")?;
                let name = MARKS.get(u32_at(payload, 6)? as usize).context("an unknown MarkType")?;
                *all.entry(*number).or_default().entry(name).or_default() += u64_at(payload, 10)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(all)
}
