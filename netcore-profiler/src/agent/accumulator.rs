//! What one GC thread has been told: sums, and raw rows where they are wanted.

use super::bounds::{Bounds, Span};
use super::events::{ROWS_BYTES, Sink};
use crate::wire::histogram::{BUCKETS, bucket};
use crate::wire::{
    BLOCK_GENERATIONS, Histogram, MAX_EVENT_BYTES, MovedRange, ROOT_CELLS, RangeTotals, Root, RootCounts,
    RootFlags, RootKind, Row, SurvivingRange, event_id, root_cell,
};

/// Entries of a full batch: the runtime collects that many before it calls.
const FULL_BATCH: usize = 512;

/// Room for the buckets of a histogram: a power of two, so that a bucket's number needs no check.
const CELLS: usize = BUCKETS.next_power_of_two();

/// A histogram in the making. All zeros is an empty one.
#[derive(Debug)]
pub(super) struct Counts {
    extremes: Extremes,
    buckets: [u64; CELLS],
}

/// The smallest and the largest value. All zeros is none.
#[derive(Debug, Clone, Copy)]
struct Extremes {
    /// With every bit turned, so that the smallest is the largest here.
    turned_min: u64,
    max: u64,
}

impl Extremes {
    const NONE: Self = Self { turned_min: 0, max: 0 };

    #[inline(always)]
    fn add(&mut self, value: u64) {
        self.turned_min = self.turned_min.max(!value);
        self.max = self.max.max(value);
    }

    fn are_none(self) -> bool {
        self.turned_min == 0 && self.max == 0
    }

    fn take_from(&mut self, other: &mut Self) {
        self.turned_min = self.turned_min.max(other.turned_min);
        self.max = self.max.max(other.max);
        *other = Self::NONE;
    }

    fn min(self) -> u64 {
        if self.are_none() { 0 } else { !self.turned_min }
    }

    /// The buckets that may hold something; the others are zero.
    fn touched(self) -> core::ops::Range<usize> {
        if self.are_none() {
            return 0..0;
        }
        usize::from(bucket(self.min()))..usize::from(bucket(self.max)).saturating_add(1)
    }
}

/// The cell of a value. Its own function does not know that the number is small.
#[inline(always)]
fn cell(cells: &mut [u64; CELLS], value: u64) -> (usize, &mut u64) {
    let index = usize::from(bucket(value)) % CELLS;
    #[expect(clippy::indexing_slicing, reason = "smaller than the length, which the compiler sees")]
    (index, &mut cells[index])
}

/// Adds the cells of a range, and leaves zeros.
fn move_cells(to: &mut [u64], from: &mut [u64], touched: core::ops::Range<usize>) {
    if let (Some(to), Some(from)) = (to.get_mut(touched.clone()), from.get_mut(touched)) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = to.saturating_add(core::mem::take(from));
        }
    }
}

impl Counts {
    fn take_from(&mut self, other: &mut Self) {
        let touched = other.extremes.touched();
        self.extremes.take_from(&mut other.extremes);
        move_cells(&mut self.buckets, &mut other.buckets, touched);
    }

    fn clear(&mut self) {
        if let Some(cells) = self.buckets.get_mut(self.extremes.touched()) {
            cells.fill(0);
        }
        self.extremes = Extremes::NONE;
    }

    fn histogram<'a>(&'a self, bytes: &'a [u64]) -> Histogram<'a> {
        let touched = self.extremes.touched();
        let counts = self.buckets.get(touched.clone()).unwrap_or_default();
        let bytes = bytes.get(touched.clone()).unwrap_or_default();
        Histogram::dense_from(touched.start, self.extremes.min(), self.extremes.max, counts, bytes)
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
    by_generation: [(u64, u64); BLOCK_GENERATIONS],
    lengths: Counts,
    bytes_by_bucket: [u64; CELLS],
}

/// What is summed up of a batch in registers: ranges that follow each other mostly lie in one part of the table of
/// bounds.
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
        #[expect(clippy::indexing_slicing, reason = "of the same length as the other")]
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
        let touched = other.lengths.extremes.touched();
        move_cells(&mut self.bytes_by_bucket, &mut other.bytes_by_bucket, touched);
        self.lengths.take_from(&mut other.lengths);
    }

    fn clear(&mut self) {
        self.by_generation = [(0, 0); BLOCK_GENERATIONS];
        if let Some(cells) = self.bytes_by_bucket.get_mut(self.lengths.extremes.touched()) {
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

/// Rows that wait to be sent.
#[derive(Debug)]
struct Waiting {
    /// Null where raw data is not wanted.
    memory: *mut u8,
    length: usize,
    rows: u32,
}

/// Kinds of rows that an accumulator keeps apart.
const KINDS: usize = 3;
/// Memory that one accumulator needs for raw rows.
pub(super) const RAW_BYTES: usize = KINDS.saturating_mul(MAX_EVENT_BYTES);

/// A batch of roots, as the runtime gives them: arrays of one length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Roots<'a> {
    pub(super) objects: &'a [usize],
    pub(super) kinds: &'a [u32],
    pub(super) flags: &'a [u32],
    pub(super) ids: &'a [usize],
}

impl<'a> Roots<'a> {
    /// Object, kind, flags and id of each.
    #[inline(always)]
    fn all(self) -> impl Iterator<Item = (usize, u32, u32, usize)> + use<'a> {
        let all = self.objects.iter().zip(self.kinds).zip(self.flags).zip(self.ids);
        all.map(|(((object, kind), flags), id)| (*object, *kind, *flags, *id))
    }

    /// Each as a row, with kind and flags cut to a byte.
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

    /// Only where rows are wanted.
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
        // SAFETY: `memory` is ROWS_BYTES long and belongs to this accumulator, which the caller has
        // for itself; `length` of them are taken.
        unsafe { core::slice::from_raw_parts_mut(self.memory.wrapping_add(self.length), left) }
    }

    #[inline(never)]
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
    waiting: [Waiting; KINDS],
}

impl Accumulator {
    /// A batch of moved ranges.
    pub(super) fn moved(
        &mut self,
        old: &[usize],
        new: &[usize],
        lengths: &[usize],
        bounds: &Bounds,
        sink: Sink<'_>,
    ) {
        let mut batch = Batch::new(bounds);
        let (mut distances, mut stayed) = (Extremes::NONE, (0_u64, 0_u64));
        for ((old, new), length) in old.iter().zip(new).zip(lengths) {
            let bytes = *length as u64;
            if old == new {
                stayed = (stayed.0.wrapping_add(1), stayed.1.saturating_add(bytes));
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
        self.stayed_blocks = self.stayed_blocks.saturating_add(stayed.0);
        self.stayed_bytes = self.stayed_bytes.saturating_add(stayed.1);
        let [waiting, ..] = &mut self.waiting;
        if waiting.is_wanted() {
            for ((old, new), length) in old.iter().zip(new).zip(lengths) {
                let row = MovedRange { old: *old as u64, new: *new as u64, bytes: *length as u64 };
                waiting.push(&row, event_id::MOVED, sink);
            }
        }
    }

    /// A batch of ranges that survived in place.
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

    /// A batch of roots.
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
