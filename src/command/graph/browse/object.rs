//! An object: what keeps it alive, what it refers to, and what refers to it.

use dotnet_heap_graph::Result;
use dotnet_heap_graph::analysis::{Referrer, Step};

use super::cursor::Cursor;
use super::heap::{Heap, shown};
use crate::report::graph::{place_text, root_text};

/// So many references are on a page.
const FIELDS: usize = 100;
/// So many types that refer to the object are shown.
const REFERRERS: usize = 100;

/// A part of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Fields,
    Referrers,
}

/// A row of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    /// The first row of a part, with the number of its rows.
    Head {
        part: Part,
        all: u64,
    },
    Text(String),
    /// An object. `place`: where the object before it, or the shown one, refers to it. `count`: so many of its class follow
    /// each other.
    Object {
        place: String,
        object: u32,
        count: u64,
    },
    /// The object that alone keeps the shown one alive.
    Dominator(u32),
    /// A reference to an object that the file does not have.
    Missing {
        place: String,
    },
    Referrers(Referrer),
    /// The next page of references, which begins behind this many.
    MoreFields {
        skip: usize,
        left: u64,
    },
}

/// What is known of an object.
#[derive(Debug)]
pub(super) struct Details {
    pub(super) object: u32,
    /// How many references are before those on this page.
    pub(super) skip: usize,
    pub(super) rows: Vec<Row>,
    pub(super) cursor: Cursor,
}

impl Details {
    /// Finds all that is shown of an object; on a later page only its references from `skip` on.
    pub(super) fn new(heap: &Heap<'_>, object: u32, skip: usize) -> Details {
        let mut rows = Vec::new();
        if skip == 0 {
            path(heap, object, &mut rows);
        }
        fields(heap, object, skip, &mut rows);
        if skip == 0 {
            referrers(heap, object, &mut rows);
        }
        Details { object, skip, rows, cursor: Cursor::default() }
    }

    pub(super) fn selected(&self) -> Option<&Row> {
        self.rows.get(self.cursor.selected())
    }

    /// Goes to the first row of a part.
    pub(super) fn go_to(&mut self, part: Part) {
        let is_head = |row: &Row| matches!(row, Row::Head { part: found, .. } if *found == part);
        self.rows.iter().position(is_head).into_iter().for_each(|row| self.cursor.select(row));
    }
}

/// The rows of what reads the file, or why it cannot be read.
fn or_why(rows: &mut Vec<Row>, found: Result<Vec<Row>>) {
    match found {
        Ok(found) => rows.extend(found),
        Err(e) => rows.push(Row::Text(shown(&format!("the file cannot be read: {e}")))),
    }
}

fn path(heap: &Heap<'_>, object: u32, rows: &mut Vec<Row>) {
    rows.push(Row::Head { part: Part::Path, all: 0 });
    let found = heap.path(object).map(|path| match path {
        None => vec![Row::Text("garbage: nothing keeps it alive".to_owned())],
        Some(path) => {
            let mut rows = vec![Row::Text(shown(&root_text(heap.graph(), &path.root)))];
            path.steps.iter().for_each(|step| push_step(&mut rows, step));
            rows
        }
    });
    or_why(rows, found);
    if let Some(dominator) = heap.dominator(object) {
        rows.push(Row::Dominator(dominator));
    }
}

fn push_step(rows: &mut Vec<Row>, step: &Step) {
    if step.omitted_before > 0 {
        rows.push(Row::Text(format!("({} more)", step.omitted_before)));
    }
    let place = step.place.as_ref().map(place_text).unwrap_or_default();
    rows.push(Row::Object { place: shown(place.trim()), object: step.object, count: step.count });
}

fn fields(heap: &Heap<'_>, object: u32, skip: usize, rows: &mut Vec<Row>) {
    let all = heap.fields_in_all(object);
    rows.push(Row::Head { part: Part::Fields, all: all as u64 });
    let found = heap.fields(object, skip, FIELDS).map(|fields| {
        let next = skip.saturating_add(fields.len());
        let mut rows = Vec::new();
        for field in fields {
            let place =
                field.place.as_ref().map_or_else(String::new, |place| shown(place_text(place).trim()));
            rows.push(match field.target {
                Some(object) => Row::Object { place, object, count: 1 },
                None => Row::Missing { place },
            });
        }
        let left = all.saturating_sub(next);
        if left > 0 && !rows.is_empty() {
            rows.push(Row::MoreFields { skip: next, left: left as u64 });
        }
        rows
    });
    or_why(rows, found);
}

fn referrers(heap: &Heap<'_>, object: u32, rows: &mut Vec<Row>) {
    let found = heap.referrers(object);
    rows.push(Row::Head { part: Part::Referrers, all: found.len() as u64 });
    rows.extend(found.iter().take(REFERRERS).map(|referrer| Row::Referrers(*referrer)));
    let left = found.len().saturating_sub(REFERRERS);
    if left > 0 {
        rows.push(Row::Text(format!("and {left} more types")));
    }
}
