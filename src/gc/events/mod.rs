//! The runtime's events.

mod condemned;
mod cursor;
mod decode;
mod process;
mod ranges;

pub(super) use condemned::condemned_reasons;
pub(super) use cursor::Cursor;
#[cfg(test)]
pub(super) use decode::HeapGeneration;
pub(crate) use decode::RUNTIME_PROVIDER;
pub(super) use decode::{GlobalHeapHistory, HeapStatsEvent, PerHeapHistory, RuntimeEvent, decode};
pub(crate) use process::{EVENTPIPE_PROVIDER, RUNDOWN_PROVIDER};
pub(super) use process::{RUNTIME_INFORMATION, gc_settings_concurrent, process_info, runtime_information};
pub(crate) use ranges::tells_blocks;
pub(super) use ranges::{BLOCKS_HEAD_BYTES, MovedRow, Ranges, Rows, RowsOf, SurvivingRow};
