//! The list of types.

use std::borrow::Cow;
use std::cmp::Reverse;

use dotnet_heap_graph::analysis::ClassTotals;
use regex::RegexBuilder;

use super::cursor::Cursor;
use super::heap::Heap;

/// A longer text is not searched for.
const MAX_SEARCH_CHARS: usize = 200;

/// What the list is sorted by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Retained,
    Size,
    Count,
    Name,
}

impl Order {
    fn next(self) -> Order {
        match self {
            Order::Retained => Order::Size,
            Order::Size => Order::Count,
            Order::Count => Order::Name,
            Order::Name => Order::Retained,
        }
    }

    /// What it is sorted by, in words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Order::Retained => "retained size",
            Order::Size => "own size",
            Order::Count => "number of objects",
            Order::Name => "name",
        }
    }
}

/// The list of types, as far as they are searched for.
#[derive(Debug)]
pub(super) struct Types {
    order: Order,
    search: String,
    /// Places in [`Heap::classes`].
    rows: Vec<usize>,
    pub(super) cursor: Cursor,
}

impl Types {
    pub(super) fn new(heap: &Heap<'_>) -> Types {
        let rows = (0..heap.classes().len()).collect();
        Types { order: Order::default(), search: String::new(), rows, cursor: Cursor::default() }
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn search(&self) -> &str {
        &self.search
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn row<'h>(&self, heap: &'h Heap<'_>, row: usize) -> Option<&'h ClassTotals> {
        heap.classes().get(*self.rows.get(row)?)
    }

    pub(super) fn selected<'h>(&self, heap: &'h Heap<'_>) -> Option<&'h ClassTotals> {
        self.row(heap, self.cursor.selected())
    }

    /// Sorts by something else. The same type stays selected.
    pub(super) fn sort_next(&mut self, heap: &Heap<'_>) {
        let selected = self.rows.get(self.cursor.selected()).copied();
        self.order = self.order.next();
        self.sort(heap);
        let row = self.rows.iter().position(|row| Some(*row) == selected);
        self.cursor.select(row.unwrap_or_default());
    }

    /// Shows only types with this text in their name, in capital or small letters.
    pub(super) fn search_for(&mut self, heap: &Heap<'_>, text: &str) {
        self.search = text.chars().take(MAX_SEARCH_CHARS).collect();
        let pattern = RegexBuilder::new(&regex::escape(&self.search)).case_insensitive(true).build();
        let is_match = |name: &str| match &pattern {
            Ok(pattern) => pattern.is_match(name),
            Err(_) => name.contains(&self.search),
        };
        let found =
            (0..heap.classes().len()).filter(|row| self.search.is_empty() || is_match(&name(heap, *row)));
        self.rows = found.collect();
        self.sort(heap);
        self.cursor.select(0);
    }

    fn sort(&mut self, heap: &Heap<'_>) {
        let totals = |row: &usize| heap.classes().get(*row).copied().unwrap_or_default();
        match self.order {
            // So they are sorted already.
            Order::Retained => self.rows.sort_unstable(),
            Order::Size => self.rows.sort_by_key(|row| (Reverse(totals(row).all.bytes), *row)),
            Order::Count => self.rows.sort_by_key(|row| (Reverse(totals(row).all.objects), *row)),
            Order::Name => self.rows.sort_by(|a, b| name(heap, *a).cmp(&name(heap, *b)).then(a.cmp(b))),
        }
    }
}

fn name<'h>(heap: &'h Heap<'_>, row: usize) -> Cow<'h, str> {
    let class = heap.classes().get(row).and_then(|totals| heap.graph().class(totals.class));
    class.map_or(Cow::Borrowed(""), |class| class.label())
}
