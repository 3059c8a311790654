//! A list of objects, a page at a time.

use super::cursor::Cursor;
use super::heap::{Heap, Source};
use super::ranked::{Page, Rank};

/// So many objects are on a page.
pub(super) const PAGE: usize = 200;

/// A page of a list of objects.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) source: Source,
    pub(super) page: Page,
    pub(super) cursor: Cursor,
}

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Object(u32),
    /// The last row: the next page, with this many objects from here on.
    More {
        after: Rank,
        left: u64,
    },
}

impl Objects {
    /// The first page, or the one behind a rank.
    pub(super) fn new(heap: &Heap<'_>, source: Source, after: Option<Rank>) -> Objects {
        Objects { source, page: heap.objects(source, after, PAGE), cursor: Cursor::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.page.ranks.len() + usize::from(self.page.after() > 0)
    }

    pub(super) fn row(&self, row: usize) -> Option<Row> {
        let ranks = &self.page.ranks;
        let more = || ranks.last().filter(|_| row == ranks.len() && self.page.after() > 0);
        match ranks.get(row) {
            Some(rank) => Some(Row::Object(rank.object)),
            None => more().map(|after| Row::More { after: *after, left: self.page.after() }),
        }
    }

    pub(super) fn selected(&self) -> Option<Row> {
        self.row(self.cursor.selected())
    }
}
