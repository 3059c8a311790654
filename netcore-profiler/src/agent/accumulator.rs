//! What one GC thread has received: totals, and raw rows if they are wanted.

use super::bounds::{Bounds, Span};
use super::events::{ROWS_BYTES, Sink};
use crate::wire::histogram::{BUCKETS, bucket};
use crate::wire::{
    BLOCK_GENERATIONS, Histogram, MAX_EVENT_BYTES, MovedRange, ROOT_CELLS, RangeTotals, Root, RootCounts,
    RootFlags, RootKind, Row, SurvivingRange, event_id, root_cell,
};

/// Entries of a full batch: the runtime collects this many before it calls.
const FULL_BATCH: usize = 512;

/// Room for the buckets of a histogram: a power of two, so that a bucket's number needs no bounds check.
const CELLS: usize = BUCKETS.next_power_of_two();

/// A histogram under construction. All zeros is an empty one.
#[derive(Debug)]
pub(super) struct Counts {
    extremes: Extremes,
    buckets: [u64; CELLS],
}

/// The smallest and the largest value. All zeros is none.
#[derive(Debug, Clone, Copy)]
struct Extremes {
    /// The bits of the minimum, inverted, so that 0 stands for no value.
    inverted_min: u64,
    max: u64,
}

impl Extremes {
    const NONE: Self = Self { inverted_min: 0, max: 0 };

    #[inline(always)]
    fn add(&mut self, value: u64) {
        self.inverted_min = self.inverted_min.max(!value);
        self.max = self.max.max(value);
    }

    fn is_empty(self) -> bool {
        self.inverted_min == 0 && self.max == 0
    }

    fn take_from(&mut self, other: &mut Self) {
        self.inverted_min = self.inverted_min.max(other.inverted_min);
        self.max = self.max.max(other.max);
        *other = Self::NONE;
    }

    fn min(self) -> u64 {
        if self.is_empty() { 0 } else { !self.inverted_min }
    }

    /// The range of buckets that may not be zero.
    fn used(self) -> core::ops::Range<usize> {
        if self.is_empty() {
            return 0..0;
        }
        usize::from(bucket(self.min()))..usize::from(bucket(self.max)).saturating_add(1)
    }
}

/// The cell of a value, with its index.
#[inline(always)]
fn cell(cells: &mut [u64; CELLS], value: u64) -> (usize, &mut u64) {
    let index = usize::from(bucket(value)) % CELLS;
    #[expect(clippy::indexing_slicing, reason = "below the length, as the compiler sees")]
    (index, &mut cells[index])
}

/// Adds a range of cells to others, and leaves zeros.
fn move_cells(to: &mut [u64], from: &mut [u64], used: core::ops::Range<usize>) {
    if let (Some(to), Some(from)) = (to.get_mut(used.clone()), from.get_mut(used)) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = to.saturating_add(core::mem::take(from));
        }
    }
}

impl Counts {
    fn take_from(&mut self, other: &mut Self) {
        let used = other.extremes.used();
        self.extremes.take_from(&mut other.extremes);
        move_cells(&mut self.buckets, &mut other.buckets, used);
    }

    fn clear(&mut self) {
        if let Some(cells) = self.buckets.get_mut(self.extremes.used()) {
            cells.fill(0);
        }
        self.extremes = Extremes::NONE;
    }

    fn histogram<'a>(&'a self, bytes: &'a [u64]) -> Histogram<'a> {
        let used = self.extremes.used();
        let counts = self.buckets.get(used.clone()).unwrap_or_default();
        let bytes = bytes.get(used.clone()).unwrap_or_default();
        Histogram::dense_from(used.start, self.extremes.min(), self.extremes.max, counts, bytes)
    }
}

fn add(cell: Option<&mut u64>, value: u64) {
    if let Some(cell) = cell {
        *cell = cell.saturating_add(value);
    }
}

/// Totals of ranges.
#[derive(Debug)]
pub(super) struct Ranges {
    by_generation: [(u64, u64); BLOCK_GENERATIONS],
    lengths: Counts,
    bytes_by_bucket: [u64; CELLS],
}

/// Totals of a batch, kept in registers: most ranges of a batch lie in one span of the generation bounds.
struct Batch<'a> {
    bounds: &'a Bounds,
    span: Span,
    blocks: u64,
    bytes: u64,
    lengths: Extremes,
}

impl<'a> Batch<'a> {
    fn new(bounds: &'a Bounds) -> Self {
        Self { bounds, span: Span::NOWHERE, blocks: 0, bytes: 0, lengths: Extremes::NONE }
    }

    #[inline(always)]
    fn add(&mut self, ranges: &mut Ranges, address: usize, bytes: u64) {
        if !self.span.holds(address) {
            self.flush(ranges);
            self.span = self.bounds.span(address);
        }
        self.blocks = self.blocks.wrapping_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        self.lengths.add(bytes);
        let (index, count) = cell(&mut ranges.lengths.buckets, bytes);
        *count = count.wrapping_add(1);
        #[expect(clippy::indexing_slicing, reason = "as long as the other table")]
        let sum = &mut ranges.bytes_by_bucket[index];
        *sum = sum.saturating_add(bytes);
    }

    fn flush(&mut self, ranges: &mut Ranges) {
        if let Some((blocks, bytes)) = ranges.by_generation.get_mut(self.span.generation) {
            *blocks = blocks.saturating_add(core::mem::take(&mut self.blocks));
            *bytes = bytes.saturating_add(core::mem::take(&mut self.bytes));
        }
    }

    fn end(mut self, ranges: &mut Ranges) {
        self.flush(ranges);
        ranges.lengths.extremes.take_from(&mut self.lengths);
    }
}

impl Ranges {
    fn take_from(&mut self, other: &mut Self) {
        for (to, from) in self.by_generation.iter_mut().zip(&mut other.by_generation) {
            to.0 = to.0.saturating_add(core::mem::take(&mut from.0));
            to.1 = to.1.saturating_add(core::mem::take(&mut from.1));
        }
        let used = other.lengths.extremes.used();
        move_cells(&mut self.bytes_by_bucket, &mut other.bytes_by_bucket, used);
        self.lengths.take_from(&mut other.lengths);
    }

    fn clear(&mut self) {
        self.by_generation = [(0, 0); BLOCK_GENERATIONS];
        if let Some(cells) = self.bytes_by_bucket.get_mut(self.lengths.extremes.used()) {
            cells.fill(0);
        }
        self.lengths.clear();
    }

    pub(super) fn totals(&self) -> RangeTotals<'_> {
        let (mut blocks, mut bytes) = (0_u64, 0_u64);
        for cell in self.by_generation {
            blocks = blocks.saturating_add(cell.0);
            bytes = bytes.saturating_add(cell.1);
        }
        let histogram = self.lengths.histogram(&self.bytes_by_bucket);
        RangeTotals { blocks, bytes, by_generation: self.by_generation, histogram }
    }
}

/// Rows that wait to be sent as one event.
#[derive(Debug)]
struct Waiting {
    /// Null: raw rows are not wanted.
    memory: *mut u8,
    length: usize,
    rows: u32,
}

/// Kinds of rows: moved, surviving, roots.
const KINDS: usize = 3;
/// Memory of one accumulator for raw rows, in bytes.
pub(super) const RAW_BYTES: usize = KINDS.saturating_mul(MAX_EVENT_BYTES);

/// A batch of roots as the runtime passes it: arrays of equal length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Roots<'a> {
    pub(super) objects: &'a [usize],
    pub(super) kinds: &'a [u32],
    pub(super) flags: &'a [u32],
    pub(super) ids: &'a [usize],
}

impl<'a> Roots<'a> {
    /// Object, kind, flags and id of each root.
    #[inline(always)]
    fn all(self) -> impl Iterator<Item = (usize, u32, u32, usize)> + use<'a> {
        let all = self.objects.iter().zip(self.kinds).zip(self.flags).zip(self.ids);
        all.map(|(((object, kind), flags), id)| (*object, *kind, *flags, *id))
    }

    /// Each root as a row. Kinds and flags above 255 become 255.
    #[inline(always)]
    pub(super) fn rows(self) -> impl Iterator<Item = Root> + use<'a> {
        let byte = |value: u32| value.min(u32::from(u8::MAX)) as u8;
        self.all().map(move |(object, kind, flags, id)| Root {
            object: object as u64,
            root_id: id as u64,
            kind: RootKind(byte(kind)),
            flags: RootFlags(byte(flags)),
        })
    }
}

impl Waiting {
    fn is_wanted(&self) -> bool {
        !self.memory.is_null()
    }

    /// Only if rows are wanted.
    #[inline(always)]
    fn push(&mut self, row: &impl Row, event_id: u32, sink: Sink<'_>) {
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
        // SAFETY: `memory` has ROWS_BYTES bytes and belongs to this accumulator, which the caller has exclusively;
        // `length` is at most that.
        unsafe { core::slice::from_raw_parts_mut(self.memory.wrapping_add(self.length), left) }
    }

    #[inline(never)]
    fn send(&mut self, event_id: u32, sink: Sink<'_>) {
        if self.rows == 0 || self.memory.is_null() {
            return;
        }
        // SAFETY: as in `space`; `push` has written these bytes.
        let bytes = unsafe { core::slice::from_raw_parts(self.memory, self.length) };
        sink.events.write_rows(sink, event_id, 0, self.rows, bytes);
        (self.length, self.rows) = (0, 0);
    }
}

/// What one GC thread received in one collection. All zeros is an empty one.
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
    /// When the last range callback ended if it had a full batch, else 0, and its thread.
    full_batch_end_ns: u64,
    full_batch_thread: usize,
    waiting: [Waiting; KINDS],
}

impl Accumulator {
    /// Adds a batch of moved ranges.
    pub(super) fn moved(
        &mut self,
        old: &[usize],
        new: &[usize],
        lengths: &[usize],
        bounds: &Bounds,
        sink: Sink<'_>,
    ) {
        let mut batch = Batch::new(bounds);
        let (mut distances, mut in_place) = (Extremes::NONE, (0_u64, 0_u64));
        for ((old, new), length) in old.iter().zip(new).zip(lengths) {
            let bytes = *length as u64;
            if old == new {
                in_place = (in_place.0.wrapping_add(1), in_place.1.saturating_add(bytes));
                continue;
            }
            batch.add(&mut self.moved, *old, bytes);
            let distance = old.abs_diff(*new) as u64;
            distances.add(distance);
            let (_, count) = cell(&mut self.distance.buckets, distance);
            *count = count.wrapping_add(1);
        }
        batch.end(&mut self.moved);
        self.distance.extremes.take_from(&mut distances);
        self.stayed_blocks = self.stayed_blocks.saturating_add(in_place.0);
        self.stayed_bytes = self.stayed_bytes.saturating_add(in_place.1);
        let [waiting, ..] = &mut self.waiting;
        if waiting.is_wanted() {
            for ((old, new), length) in old.iter().zip(new).zip(lengths) {
                let row = MovedRange { old: *old as u64, new: *new as u64, bytes: *length as u64 };
                waiting.push(&row, event_id::MOVED, sink);
            }
        }
    }

    /// Adds a batch of ranges that survived in place.
    pub(super) fn surviving(&mut self, starts: &[usize], lengths: &[usize], bounds: &Bounds, sink: Sink<'_>) {
        let mut batch = Batch::new(bounds);
        for (start, length) in starts.iter().zip(lengths) {
            batch.add(&mut self.surviving, *start, *length as u64);
        }
        batch.end(&mut self.surviving);
        let [_, waiting, _] = &mut self.waiting;
        if waiting.is_wanted() {
            for (start, length) in starts.iter().zip(lengths) {
                let row = SurvivingRange { start: *start as u64, bytes: *length as u64 };
                waiting.push(&row, event_id::SURVIVING, sink);
            }
        }
    }

    /// Adds a batch of roots.
    pub(super) fn roots(&mut self, batch: Roots<'_>, sink: Sink<'_>) {
        for (object, kind, flags, _) in batch.all() {
            if object == 0 {
                self.null_roots = self.null_roots.saturating_add(1);
            } else {
                add(self.root_cells.get_mut(root_cell(kind, flags)), 1);
            }
        }
        let [.., waiting] = &mut self.waiting;
        if waiting.is_wanted() {
            for root in batch.rows() {
                waiting.push(&root, event_id::ROOTS, sink);
            }
        }
    }

    /// Notes that a range callback begins.
    pub(super) fn entered(&mut self, now_ns: u64, thread: usize) {
        if self.full_batch_end_ns != 0 && self.full_batch_thread == thread {
            let gap_ns = now_ns.saturating_sub(self.full_batch_end_ns);
            self.walk_ns = self.walk_ns.saturating_add(gap_ns);
        }
    }

    /// Notes that a range callback, which began at `entered_ns`, ends.
    pub(super) fn left(&mut self, entered_ns: u64, now_ns: u64, thread: usize, count: usize) {
        self.callback_ns = self.callback_ns.saturating_add(now_ns.saturating_sub(entered_ns));
        self.full_batch_end_ns = if count == FULL_BATCH { now_ns } else { 0 };
        self.full_batch_thread = thread;
    }

    /// Sets the memory for raw rows; null: they are not wanted.
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

    /// Adds the totals of another accumulator, and leaves that one empty.
    pub(super) fn take_from(&mut self, other: &mut Self) {
        self.moved.take_from(&mut other.moved);
        self.surviving.take_from(&mut other.surviving);
        self.distance.take_from(&mut other.distance);
        for (to, from) in self.root_cells.iter_mut().zip(&mut other.root_cells) {
            *to = to.saturating_add(core::mem::take(from));
        }
        for (to, from) in self.counters().into_iter().zip(other.counters()) {
            *to = to.saturating_add(core::mem::take(from));
        }
        other.full_batch_end_ns = 0;
    }

    fn counters(&mut self) -> [&mut u64; 5] {
        [
            &mut self.stayed_blocks,
            &mut self.stayed_bytes,
            &mut self.null_roots,
            &mut self.callback_ns,
            &mut self.walk_ns,
        ]
    }

    /// Empties it. Only what is not zero is written.
    pub(super) fn clear(&mut self) {
        self.moved.clear();
        self.surviving.clear();
        self.distance.clear();
        self.root_cells = [0; ROOT_CELLS];
        for sum in self.counters() {
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
