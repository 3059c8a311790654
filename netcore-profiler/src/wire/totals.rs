//! Totals of one collection.

use super::batch::{RootFlags, RootKind, Rows, row};
use super::cursor::{Reader, WireError, Writer};
use super::histogram::Histogram;
use super::payload::{Field, field, fields, payload};

/// Flags of a collection: a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct GcFlags(pub u32);

impl GcFlags {
    /// `GarbageCollectionStarted` was seen.
    pub const STARTED: Self = Self(1);
    /// Moved, surviving and root callbacks were on from before the plan phase to the end.
    pub const ARMED: Self = Self(1 << 1);
    /// The event mask was written from another thread during the collection: ranges may be missing.
    pub const HALF_ARMED: Self = Self(1 << 2);
    /// A moved length of 4 GiB or more came through a 32-bit callback: bytes are a lower bound.
    pub const MOVED_AT_LEAST: Self = Self(1 << 3);
    /// The same for a surviving length.
    pub const SURVIVING_AT_LEAST: Self = Self(1 << 4);
    /// More threads called at once than there are accumulators: see the `missing` fields.
    pub const NO_SLOT: Self = Self(1 << 5);
    /// The generation bounds are known, so ranges are counted by generation.
    pub const BOUNDS_KNOWN: Self = Self(1 << 6);
    /// The runtime called only the first version of the callbacks: roots have neither kind nor flags.
    pub const V1_CALLBACKS: Self = Self(1 << 7);
    /// A background collection: it reports neither ranges nor roots to a profiler.
    pub const BACKGROUND: Self = Self(1 << 8);
    /// Some of its names are not sent yet. They come before the [`NamesDone`](super::NamesDone) of this or a later
    /// collection.
    pub const NAMES_PENDING: Self = Self(1 << 9);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

field! { GcFlags }

/// Number of entries of [`RangeTotals::by_generation`]: generations 0, 1, 2, the large object heap,
/// the pinned object heap, and unknown.
pub const BLOCK_GENERATIONS: usize = 6;

/// Totals of ranges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RangeTotals<'a> {
    /// Number of ranges.
    pub blocks: u64,
    /// Sum of their lengths in bytes.
    pub bytes: u64,
    /// Count and sum of lengths, by the generation of the range before the collection, in the order of
    /// [`BLOCK_GENERATIONS`].
    pub by_generation: [(u64, u64); BLOCK_GENERATIONS],
    /// The lengths.
    pub histogram: Histogram<'a>,
}

fields! { RangeTotals<'a>: blocks, bytes, by_generation, histogram }

/// One cell of the table of roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootCount {
    /// Kind of the roots.
    pub kind: RootKind,
    /// Their flags.
    pub flags: RootFlags,
    /// How many there are.
    pub count: u64,
}

row! { RootCount, 10 bytes, u8: kind, flags, count }

const FLAG_CELLS: usize = 17;

/// Number of cells of the dense table of roots: five kinds by seventeen sets of flags, one of each for unknown ones.
pub const ROOT_CELLS: usize = 5 * FLAG_CELLS;

/// The cell of a root in the dense table, from the raw values of `RootReferences2`.
#[must_use]
#[inline]
pub const fn root_cell(kind: u32, flags: u32) -> usize {
    let kind = if kind > 4 { 4 } else { kind as usize };
    let flags = if flags > 15 { 16 } else { flags as usize };
    kind.wrapping_mul(FLAG_CELLS).wrapping_add(flags)
}

fn cell_names(cell: usize) -> (RootKind, RootFlags) {
    let kind = match cell.checked_div(FLAG_CELLS) {
        Some(kind @ 0..4) => RootKind(kind as u8),
        _ => RootKind::UNKNOWN,
    };
    let flags = match cell.checked_rem(FLAG_CELLS) {
        Some(flags @ 0..16) => RootFlags(flags as u8),
        _ => RootFlags::UNKNOWN,
    };
    (kind, flags)
}

/// Counts of roots that are not null, by kind and flags.
#[derive(Debug, Clone, Copy)]
pub struct RootCounts<'a>(Cells<'a>);

#[derive(Debug, Clone, Copy)]
enum Cells<'a> {
    Rows(Rows<'a, RootCount>),
    Dense(&'a [u64]),
}

impl<'a> RootCounts<'a> {
    /// Counts by [`root_cell`].
    #[must_use]
    pub const fn dense(cells: &'a [u64]) -> Self {
        Self(Cells::Dense(cells))
    }

    /// The cells that are not empty.
    pub fn iter(&self) -> impl Iterator<Item = RootCount> + use<'a> {
        let (rows, cells): (_, &[u64]) = match self.0 {
            Cells::Rows(rows) => (Some(rows), &[]),
            Cells::Dense(cells) => (None, cells),
        };
        let dense = cells.iter().enumerate().filter(|(_, count)| **count != 0);
        rows.into_iter().flatten().chain(dense.map(|(at, count)| {
            let (kind, flags) = cell_names(at);
            RootCount { kind, flags, count: *count }
        }))
    }
}

impl<'a> Field<'a> for RootCounts<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        Ok(Self(Cells::Rows(Rows::counted(reader)?)))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.rows(self.iter(), Field::write);
    }
}

impl PartialEq for RootCounts<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Totals of roots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RootTotals<'a> {
    /// Null roots.
    pub nulls: u64,
    /// All other roots, weak ones included.
    pub counts: RootCounts<'a>,
}

fields! { RootTotals<'a>: nulls, counts }

/// How many numbered parts of raw data were written for this collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// Parts of generation bounds, both phases together.
    pub bounds: u32,
    /// Parts of moved ranges.
    pub moved: u32,
    /// Parts of surviving ranges.
    pub surviving: u32,
    /// Parts of roots.
    pub roots: u32,
}

fields! { Parts: bounds, moved, surviving, roots }

/// For how many roots types were looked up, and how long that took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Naming {
    /// Time of the look-ups, inside the pause and part of [`GcTotals::callback_ns`], in ns.
    pub naming_ns: u64,
    /// Roots in [`TypedRoots`](super::TypedRoots), repeats included.
    pub typed_roots: u64,
    /// Other roots that are not null: there were too many, or looking up has taken more than one part in twenty of the
    /// recent time.
    pub untyped_roots: u64,
    /// Parts of [`TypedRoots`](super::TypedRoots).
    pub typed_root_parts: u32,
    /// Parts of [`StaticRow`](super::StaticRow)s.
    pub statics_parts: u32,
}

fields! { Naming: naming_ns, typed_roots, untyped_roots, typed_root_parts, statics_parts }

impl Field<'_> for Option<Naming> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Field::read(reader).map(Some)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        if let Some(naming) = self {
            naming.write(writer);
        }
    }
}

/// Totals of one collection. [`MAX_EVENT_BYTES`](super::MAX_EVENT_BYTES) always suffice for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GcTotals<'a> {
    /// The profiler's own number of the collection, from 1 in each attach. A gap means lost events.
    pub gc_seq: u64,
    /// Number of the collection as in the runtime's `GCStart` event (`Count`); 0: unknown.
    pub gc_number: u32,
    /// One bit for each collected generation, from `GarbageCollectionStarted`.
    pub collected: u8,
    /// `COR_PRF_GC_REASON`: 1 induced, 0 other.
    pub reason: u32,
    /// Its flags.
    pub flags: GcFlags,
    /// Monotonic clock at `GarbageCollectionStarted`, in ns; 0: not called.
    pub started_ns: u64,
    /// Monotonic clock at `GarbageCollectionFinished`, in ns.
    pub finished_ns: u64,
    /// Time in the profiler's callbacks of this collection, from entry to exit, all threads added, in ns. Writing this
    /// event is not included.
    pub callback_ns: u64,
    /// Time that the runtime spent on walks for the profiler, in ns: a lower bound. It is the sum of (1) the gaps
    /// between two range callbacks on one accumulator if the first had a full batch of 512, so that the second followed
    /// without other work, and (2) the time outside callbacks from the first root callback to
    /// `GarbageCollectionFinished`.
    pub walk_ns: u64,
    /// How often `COR_PRF_MONITOR_GC` could not be set since the profiler was loaded.
    pub toggle_failures: u32,
    /// Ranges with a new address.
    pub moved: RangeTotals<'a>,
    /// Ranges reported as moved whose address is the same; not in `moved`.
    pub stayed_blocks: u64,
    /// Sum of their lengths in bytes.
    pub stayed_bytes: u64,
    /// Distances of the ranges of `moved`, |new - old|, in bytes. Its buckets have no sums.
    pub distance: Histogram<'a>,
    /// Ranges reported as surviving in place.
    pub surviving: RangeTotals<'a>,
    /// Roots.
    pub roots: RootTotals<'a>,
    /// Entries of conditional weak tables and dependent handles, which are edges, not roots.
    pub dependent_pairs: u64,
    /// Objects queued for finalization during this collection.
    pub finalizable_queued: u64,
    /// Ranges that reached the profiler and could not be counted.
    pub missing_ranges: u64,
    /// Sum of their lengths in bytes.
    pub missing_range_bytes: u64,
    /// Roots that reached the profiler and could not be counted.
    pub missing_roots: u64,
    /// Parts of raw data; all 0 unless `blocks` is on.
    pub parts: Parts,
    /// Number of generation ranges at the start of the collection.
    pub bounds_ranges: u32,
    /// Types of roots. `None`: names are off, or the profiler is of a version without them.
    pub naming: Option<Naming>,
}

payload! {
    GC_TOTALS, GcTotals<'a>:
    gc_seq, gc_number, collected, reason, flags, started_ns, finished_ns, callback_ns, walk_ns, toggle_failures,
    stayed_blocks, stayed_bytes, dependent_pairs, finalizable_queued, missing_ranges, missing_range_bytes,
    missing_roots, parts, bounds_ranges, moved, distance, surviving, roots; naming
}
