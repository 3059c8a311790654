//! What one GC thread has been told: sums, and raw rows where they are wanted.

use super::bounds::Bounds;
use super::events::Events;
use crate::info::Info;
use crate::wire::histogram::{BUCKETS, bucket};
use crate::wire::{
    BLOCK_GENERATIONS, BatchHeader, Histogram, MAX_EVENT_BYTES, MovedRange, ROOT_CELLS, RangeTotals, Root,
    RootCounts, Row, SurvivingRange, event_id, root_cell,
};

/// Entries of a full batch: the runtime collects that many before it calls.
const FULL_BATCH: usize = 512;

/// A histogram in the making. All zeros is an empty one.
#[derive(Debug)]
pub(super) struct Counts {
    min: u64,
    max: u64,
    values: u64,
    buckets: [u64; BUCKETS],
}

impl Counts {
    fn add(&mut self, value: u64) -> usize {
        self.min = if self.values == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.values = self.values.saturating_add(1);
        let index = usize::from(bucket(value));
        add(self.buckets.get_mut(index), 1);
        index
    }

    /// The buckets that may hold something; the others are zero.
    fn touched(&self) -> core::ops::Range<usize> {
        if self.values == 0 {
            return 0..0;
        }
        usize::from(bucket(self.min))..usize::from(bucket(self.max)).saturating_add(1)
    }

    fn take_from(&mut self, other: &mut Self) {
        if other.values == 0 {
            return;
        }
        self.min = if self.values == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.values = self.values.saturating_add(other.values);
        move_cells(&mut self.buckets, &mut other.buckets, other.min, other.max);
        (other.min, other.max, other.values) = (0, 0, 0);
    }

    fn clear(&mut self) {
        let touched = self.touched();
        if let Some(cells) = self.buckets.get_mut(touched) {
            cells.fill(0);
        }
        (self.min, self.max, self.values) = (0, 0, 0);
    }

    fn histogram<'a>(&'a self, bytes: &'a [u64]) -> Histogram<'a> {
        Histogram::dense(self.min, self.max, &self.buckets, bytes)
    }
}

/// Adds the cells from the bucket of `min` to that of `max`, and leaves zeros.
fn move_cells(to: &mut [u64], from: &mut [u64], min: u64, max: u64) {
    let touched = usize::from(bucket(min))..=usize::from(bucket(max));
    if let (Some(to), Some(from)) = (to.get_mut(touched.clone()), from.get_mut(touched)) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = to.saturating_add(core::mem::take(from));
        }
    }
}

fn add(cell: Option<&mut u64>, value: u64) {
    if let Some(cell) = cell {
        *cell = cell.saturating_add(value);
    }
}

/// Sums of ranges.
#[derive(Debug)]
pub(super) struct Ranges {
    bytes: u64,
    by_generation: [(u64, u64); BLOCK_GENERATIONS],
    lengths: Counts,
    bytes_by_bucket: [u64; BUCKETS],
}

impl Ranges {
    fn add(&mut self, bytes: u64, generation: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some((blocks, sum)) = self.by_generation.get_mut(generation) {
            *blocks = blocks.saturating_add(1);
            *sum = sum.saturating_add(bytes);
        }
        let index = self.lengths.add(bytes);
        add(self.bytes_by_bucket.get_mut(index), bytes);
    }

    fn take_from(&mut self, other: &mut Self) {
        self.bytes = self.bytes.saturating_add(core::mem::take(&mut other.bytes));
        for (to, from) in self.by_generation.iter_mut().zip(&mut other.by_generation) {
            to.0 = to.0.saturating_add(core::mem::take(&mut from.0));
            to.1 = to.1.saturating_add(core::mem::take(&mut from.1));
        }
        if other.lengths.values != 0 {
            let (min, max) = (other.lengths.min, other.lengths.max);
            move_cells(&mut self.bytes_by_bucket, &mut other.bytes_by_bucket, min, max);
        }
        self.lengths.take_from(&mut other.lengths);
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.by_generation = [(0, 0); BLOCK_GENERATIONS];
        if let Some(cells) = self.bytes_by_bucket.get_mut(self.lengths.touched()) {
            cells.fill(0);
        }
        self.lengths.clear();
    }

    pub(super) fn totals(&self) -> RangeTotals<'_> {
        RangeTotals {
            blocks: self.lengths.values,
            bytes: self.bytes,
            by_generation: self.by_generation,
            histogram: self.lengths.histogram(&self.bytes_by_bucket),
        }
    }
}

/// Rows that wait to be sent.
#[derive(Debug)]
struct Waiting {
    /// Null where raw data is not wanted.
    memory: *mut u8,
    length: usize,
    rows: u32,
}

/// Bytes of rows in one event.
pub(super) const ROWS_BYTES: usize = MAX_EVENT_BYTES.saturating_sub(BatchHeader::SIZE);
/// Kinds of rows that an accumulator keeps apart.
const KINDS: usize = 3;
/// Memory that one accumulator needs for raw rows.
pub(super) const RAW_BYTES: usize = KINDS.saturating_mul(MAX_EVENT_BYTES);

/// Where rows go when there are enough of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sink<'a> {
    pub(super) info: Info,
    pub(super) events: &'a Events,
    pub(super) gc_seq: u64,
}

impl Waiting {
    fn push(&mut self, row: &impl Row, event_id: u32, sink: Sink<'_>) {
        if self.memory.is_null() {
            return;
        }
        if let Ok(bytes) = row.encode(self.space()) {
            self.length = self.length.saturating_add(bytes);
            self.rows = self.rows.saturating_add(1);
            return;
        }
        self.send(event_id, sink);
        if let Ok(bytes) = row.encode(self.space()) {
            self.length = bytes;
            self.rows = 1;
        }
    }

    fn space(&mut self) -> &mut [u8] {
        let left = ROWS_BYTES.saturating_sub(self.length);
        // SAFETY: `memory` is ROWS_BYTES long and belongs to this accumulator, which the caller has
        // for itself; `length` of them are taken.
        unsafe { core::slice::from_raw_parts_mut(self.memory.wrapping_add(self.length), left) }
    }

    fn send(&mut self, event_id: u32, sink: Sink<'_>) {
        if self.rows == 0 || self.memory.is_null() {
            return;
        }
        // SAFETY: as in `space`; these bytes were written by `push`.
        let bytes = unsafe { core::slice::from_raw_parts(self.memory, self.length) };
        sink.events.write_rows(sink, event_id, 0, self.rows, bytes);
        (self.length, self.rows) = (0, 0);
    }
}

/// All that one GC thread was told in one collection. All zeros is an empty one.
#[derive(Debug)]
pub(super) struct Accumulator {
    pub(super) moved: Ranges,
    pub(super) surviving: Ranges,
    distance: Counts,
    pub(super) stayed_blocks: u64,
    pub(super) stayed_bytes: u64,
    root_cells: [u64; ROOT_CELLS],
    pub(super) null_roots: u64,
    pub(super) callback_ns: u64,
    pub(super) walk_ns: u64,
    /// The end of the last range callback if it brought a full batch, and whose it was.
    full_batch_end_ns: u64,
    full_batch_thread: usize,
    /// Where in the table of bounds the last range was.
    bounds_hint: usize,
    waiting: [Waiting; KINDS],
}

impl Accumulator {
    pub(super) fn moved(&mut self, range: MovedRange, bounds: &Bounds, sink: Sink<'_>) {
        if range.old == range.new {
            self.stayed_blocks = self.stayed_blocks.saturating_add(1);
            self.stayed_bytes = self.stayed_bytes.saturating_add(range.bytes);
        } else {
            let generation = bounds.generation(range.old, &mut self.bounds_hint);
            self.moved.add(range.bytes, generation);
            self.distance.add(range.old.abs_diff(range.new));
        }
        let [moved, ..] = &mut self.waiting;
        moved.push(&range, event_id::MOVED, sink);
    }

    pub(super) fn surviving(&mut self, range: SurvivingRange, bounds: &Bounds, sink: Sink<'_>) {
        let generation = bounds.generation(range.start, &mut self.bounds_hint);
        self.surviving.add(range.bytes, generation);
        let [_, surviving, _] = &mut self.waiting;
        surviving.push(&range, event_id::SURVIVING, sink);
    }

    /// `kind` and `flags` are those of the runtime, before they were cut to a byte for the row.
    pub(super) fn root(&mut self, root: Root, kind: u32, flags: u32, sink: Sink<'_>) {
        if root.object == 0 {
            self.null_roots = self.null_roots.saturating_add(1);
        } else {
            add(self.root_cells.get_mut(root_cell(kind, flags)), 1);
        }
        let [.., roots] = &mut self.waiting;
        roots.push(&root, event_id::ROOTS, sink);
    }

    /// A range callback begins.
    pub(super) fn entered(&mut self, now_ns: u64, thread: usize) {
        if self.full_batch_end_ns != 0 && self.full_batch_thread == thread {
            let gap_ns = now_ns.saturating_sub(self.full_batch_end_ns);
            self.walk_ns = self.walk_ns.saturating_add(gap_ns);
        }
    }

    /// A range callback that began at `entered_ns` ends.
    pub(super) fn left(&mut self, entered_ns: u64, now_ns: u64, thread: usize, count: usize) {
        self.callback_ns = self.callback_ns.saturating_add(now_ns.saturating_sub(entered_ns));
        self.full_batch_end_ns = if count == FULL_BATCH { now_ns } else { 0 };
        self.full_batch_thread = thread;
    }

    /// Gives the accumulator memory for raw rows, or takes it away (null).
    pub(super) fn set_raw_memory(&mut self, memory: *mut u8) {
        for (kind, waiting) in self.waiting.iter_mut().enumerate() {
            let offset = kind.saturating_mul(MAX_EVENT_BYTES);
            let memory = if memory.is_null() { memory } else { memory.wrapping_add(offset) };
            *waiting = Waiting { memory, length: 0, rows: 0 };
        }
    }

    /// Sends the rows that wait.
    pub(super) fn send_rest(&mut self, sink: Sink<'_>) {
        for (waiting, id) in
            self.waiting.iter_mut().zip([event_id::MOVED, event_id::SURVIVING, event_id::ROOTS])
        {
            waiting.send(id, sink);
        }
    }

    /// Adds another one's sums, and leaves it empty.
    pub(super) fn take_from(&mut self, other: &mut Self) {
        self.moved.take_from(&mut other.moved);
        self.surviving.take_from(&mut other.surviving);
        self.distance.take_from(&mut other.distance);
        for (to, from) in self.root_cells.iter_mut().zip(&mut other.root_cells) {
            *to = to.saturating_add(core::mem::take(from));
        }
        for (to, from) in self.sums().into_iter().zip(other.sums()) {
            *to = to.saturating_add(core::mem::take(from));
        }
        other.full_batch_end_ns = 0;
    }

    fn sums(&mut self) -> [&mut u64; 5] {
        [
            &mut self.stayed_blocks,
            &mut self.stayed_bytes,
            &mut self.null_roots,
            &mut self.callback_ns,
            &mut self.walk_ns,
        ]
    }

    /// Empties it; only what was touched is written.
    pub(super) fn clear(&mut self) {
        self.moved.clear();
        self.surviving.clear();
        self.distance.clear();
        self.root_cells = [0; ROOT_CELLS];
        for sum in self.sums() {
            *sum = 0;
        }
        self.full_batch_end_ns = 0;
    }

    pub(super) fn distance(&self) -> Histogram<'_> {
        self.distance.histogram(&[])
    }

    pub(super) fn root_counts(&self) -> RootCounts<'_> {
        RootCounts::dense(&self.root_cells)
    }
}
