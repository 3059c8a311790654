//! Events of ranges: GCBulkMovedObjectRanges and GCBulkSurvivingObjectRanges.

use super::cursor::Cursor;

/// A payload of ranges; see [`Ranges::moved`] and [`Ranges::surviving`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranges<'a> {
    cursor: Cursor<'a>,
    /// Number of the event in the walk of one heap, from 0.
    pub(crate) index: u32,
    count: u32,
}

/// Rows by the size of the target's pointers.
pub(crate) enum Rows<Narrow, Wide> {
    /// Pointers of 4 bytes.
    Narrow(Narrow),
    /// Pointers of 8 bytes.
    Wide(Wide),
}

/// The rows of one payload.
pub(crate) trait RowsOf<Row>: ExactSizeIterator<Item = Row> + Clone {}
impl<Row, Iter: ExactSizeIterator<Item = Row> + Clone> RowsOf<Row> for Iter {}

/// Old start, new start and bytes of a moved range.
pub(crate) type MovedRow = (u64, u64, u64);
/// Start and bytes of a range that survived in place.
pub(crate) type SurvivingRow = (u64, u64);

impl<'a> Ranges<'a> {
    /// The rows of GCBulkMovedObjectRanges. Two kinds of iterators, so that a loop over either is compiled for it.
    pub(crate) fn moved(self) -> Rows<impl RowsOf<MovedRow> + use<'a>, impl RowsOf<MovedRow> + use<'a>> {
        match self.cursor.pointer_size {
            4 => Rows::Narrow(self.rows::<16>().map(|r| (half(r, 0), half(r, 4), whole(r, 8)))),
            _ => Rows::Wide(self.rows::<24>().map(|r| (whole(r, 0), whole(r, 8), whole(r, 16)))),
        }
    }

    /// The rows of GCBulkSurvivingObjectRanges.
    pub(crate) fn surviving(
        self,
    ) -> Rows<impl RowsOf<SurvivingRow> + use<'a>, impl RowsOf<SurvivingRow> + use<'a>> {
        match self.cursor.pointer_size {
            4 => Rows::Narrow(self.rows::<12>().map(|r| (half(r, 0), whole(r, 4)))),
            _ => Rows::Wide(self.rows::<16>().map(|r| (whole(r, 0), whole(r, 8)))),
        }
    }

    /// Whether an event of surviving ranges has no room for another row. The last event of a walk usually has.
    pub(crate) fn is_full(self) -> bool {
        /// The runtime fills an event up to 64 KiB less 1,280 bytes: 4,016 rows on 64-bit systems.
        const MAX_ROW_BYTES: usize = (64 << 10) - 0x500;
        let row = self.cursor.pointer_size as usize + size_of::<u64>();
        (self.count as usize).saturating_add(1).saturating_mul(row) > MAX_ROW_BYTES
    }

    /// The rows that the payload holds, up to the number that it announces.
    fn rows<const N: usize>(self) -> impl RowsOf<&'a [u8; N]> + use<'a, N> {
        let (rows, _) = self.cursor.bytes.as_chunks::<N>();
        rows.get(..self.count as usize).unwrap_or(rows).iter()
    }
}

/// 8 bytes of a row. The compiler knows all offsets, so there is no check at run time.
#[inline]
fn whole<const N: usize>(row: &[u8; N], at: usize) -> u64 {
    row[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[inline]
fn half<const N: usize>(row: &[u8; N], at: usize) -> u64 {
    row[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes).into())
}

/// Whether this event holds ranges of blocks. It may be large.
pub(crate) fn tells_blocks(id: u32) -> bool {
    matches!(id, 21 | 22)
}

/// Length of the fields before the ranges.
pub(crate) const BLOCKS_HEAD_BYTES: usize = 10;

pub(super) fn ranges(mut c: Cursor<'_>) -> Option<Ranges<'_>> {
    let index = c.u32()?;
    let count = c.u32()?;
    c.u16()?;
    Some(Ranges { cursor: c, index, count })
}
