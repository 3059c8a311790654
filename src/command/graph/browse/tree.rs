//! The tree of dominators: below each object are those that it alone keeps alive.

use dotnet_heap_graph::Amount;

use super::children::{Child, Members, Node};
use super::cursor::Cursor;
use super::heap::Heap;

/// No more rows than these are open at a time.
const MAX_ROWS: usize = 2000;

/// A row of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) node: Node,
    pub(super) retained: Amount,
    /// How many rows are above it, up to the roots.
    pub(super) depth: u32,
    pub(super) is_open: bool,
}

/// Those rows of the tree that were opened.
#[derive(Debug, Default)]
pub(super) struct Tree {
    rows: Vec<Row>,
    is_loaded: bool,
    pub(super) cursor: Cursor,
}

/// What came of an attempt to open a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    Yes,
    /// There is nothing below it.
    Nothing,
    /// Too many rows are open.
    TooMany,
}

impl Tree {
    /// Loads the first rows, when they are needed first.
    pub(super) fn load(&mut self, heap: &Heap<'_>) {
        if !self.is_loaded {
            self.is_loaded = true;
            self.rows = rows(Members::OF_ROOTS.load(heap, None), 0).collect();
        }
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(super) fn selected(&self) -> Option<&Row> {
        self.rows.get(self.cursor.selected())
    }

    /// Opens the selected row, or loads the rows that it stands for.
    pub(super) fn open(&mut self, heap: &Heap<'_>) -> Opened {
        let at = self.cursor.selected();
        let Some(row) = self.rows.get(at).copied() else { return Opened::Nothing };
        let (of, from) = match row.node {
            _ if row.is_open => return Opened::Yes,
            Node::Object(object) if heap.has_children(object) => (Members::of(object), None),
            Node::Object(_) => return Opened::Nothing,
            Node::Group { parent, class, .. } => (Members { parent, class: Some(class) }, None),
            Node::More { of, from, .. } => (of, Some(from)),
        };
        if self.rows.len() >= MAX_ROWS {
            return Opened::TooMany;
        }
        let children = of.load(heap, from);
        if from.is_some() {
            self.rows.splice(at..=at, rows(children, row.depth));
        } else {
            let below = at.saturating_add(1);
            self.rows.splice(below..below, rows(children, row.depth.saturating_add(1)));
            self.rows.get_mut(at).into_iter().for_each(|row| row.is_open = true);
        }
        Opened::Yes
    }

    /// Goes to the first row below the selected one, if that is open.
    pub(super) fn go_down(&mut self) {
        if self.selected().is_some_and(|row| row.is_open) {
            self.cursor.select(self.cursor.selected().saturating_add(1));
        }
    }

    /// Closes the selected row. `false`: it is not open.
    pub(super) fn close(&mut self) -> bool {
        let at = self.cursor.selected();
        let Some(row) = self.rows.get_mut(at).filter(|row| row.is_open) else { return false };
        row.is_open = false;
        let (depth, below) = (row.depth, at.saturating_add(1));
        let inner = self.rows.iter().skip(below).take_while(|row| row.depth > depth).count();
        self.rows.drain(below..below.saturating_add(inner));
        true
    }

    /// Goes to the row that the selected one is below of.
    pub(super) fn go_up(&mut self) {
        let at = self.cursor.selected();
        let Some(depth) = self.selected().map(|row| row.depth) else { return };
        let above = self.rows.iter().take(at).rposition(|row| row.depth < depth);
        above.into_iter().for_each(|row| self.cursor.select(row));
    }
}

fn rows(children: Vec<Child>, depth: u32) -> impl Iterator<Item = Row> {
    let row = move |child: Child| Row { node: child.node, retained: child.retained, depth, is_open: false };
    children.into_iter().map(row)
}
