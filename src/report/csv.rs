//! `--format csv`: a row per collection. An unknown value is an empty cell. No cell contains text of the target, so no
//! cell can be a command to a terminal or a formula in a spreadsheet.

use std::io::{self, Write};

use serde::Serialize;

use super::model::{End, Facts, Filter, Report};
use crate::gc::record::{Compacting, Gc, Roots};
use crate::gc::root_kind::{RootFlags, RootKind};

/// A row of the table. Its columns are named after the fields, whose names contain the units; a field without an
/// expression is that of the collection.
macro_rules! row {
    ($facts:ident, $gc:ident: $($column:ident: $cell:ty $(= $value:expr)?,)*) => {
        const COLUMNS: &[&str] = &[$(stringify!($column)),*];

        #[derive(Debug, Serialize)]
        struct Row {
            $($column: $cell,)*
        }

        impl Row {
            fn of($facts: &Facts, $gc: &Gc) -> Row {
                Row { $($column: row!(@ $gc.$column $(, $value)?),)* }
            }
        }
    };
    (@ $same:expr) => { $same };
    (@ $same:expr, $value:expr) => { $value };
}

row! {
    facts, gc:
    pid: Option<u32> = facts.target.pid,
    number: Option<u32>,
    level: &'static str = gc.level.name(),
    generation: Option<u8> = gc.generation.map(|g| g.0),
    kind: Option<&'static str> = gc.kind.map(|k| k.name()),
    reason: Option<&'static str> = gc.reason.map(|r| r.names().0),
    induced: Option<bool> = gc.reason.map(|r| r.induced()),
    compacting: Option<&'static str> = gc.compacting.map(compacting),
    incomplete: Option<&'static str> = gc.incomplete.map(|i| i.name()),
    at_ns: Option<u64>,
    pause_ns: Option<u64>,
    gc_ns: Option<u64>,
    suspend_ns: Option<u64>,
    heap_before_bytes: Option<u64>,
    heap_after_bytes: Option<u64>,
    promoted_bytes: Option<u64>,
    committed_bytes: Option<u64>,
    heap_count: Option<u32>,
    handles: Option<u32>,
    pinned_objects: Option<u32>,
    moved_blocks: Option<u64> = gc.moved.as_ref().map(|m| m.count.blocks),
    moved_bytes: Option<u64> = gc.moved.as_ref().map(|m| m.count.bytes),
    stayed_blocks: Option<u64> = gc.moved.as_ref().map(|m| m.stayed.blocks),
    stayed_bytes: Option<u64> = gc.moved.as_ref().map(|m| m.stayed.bytes),
    surviving_blocks: Option<u64> = gc.surviving.as_ref().map(|s| s.count.blocks),
    surviving_bytes: Option<u64> = gc.surviving.as_ref().map(|s| s.count.bytes),
    roots_total: Option<u64> = gc.roots.as_ref().map(Roots::total),
    roots_stack: Option<u64> = gc.roots.as_ref().and_then(|r| r.of_kind(RootKind::STACK)),
    roots_handle: Option<u64> = gc.roots.as_ref().and_then(|r| r.of_kind(RootKind::HANDLE)),
    roots_finalizer: Option<u64> = gc.roots.as_ref().and_then(|r| r.of_kind(RootKind::FINALIZER)),
    roots_other: Option<u64> = gc.roots.as_ref().and_then(|r| r.of_kind(RootKind::OTHER)),
    roots_pinning: Option<u64> = gc.roots.as_ref().and_then(|r| r.with_flag(RootFlags::PINNING)),
    roots_weak: Option<u64> = gc.roots.as_ref().and_then(|r| r.with_flag(RootFlags::WEAK)),
    roots_interior: Option<u64> = gc.roots.as_ref().and_then(|r| r.with_flag(RootFlags::INTERIOR)),
    roots_refcounted: Option<u64> = gc.roots.as_ref().and_then(|r| r.with_flag(RootFlags::REFCOUNTED)),
    callback_ns: Option<u64> = gc.cost.map(|c| c.callback_ns),
    walk_ns: Option<u64> = gc.cost.map(|c| c.walk_ns),
    caused_by_watching_ns: Option<u64>,
}

fn compacting(compacting: Compacting) -> &'static str {
    match compacting {
        Compacting::Yes => "true",
        Compacting::No => "false",
        Compacting::Mixed => "mixed",
    }
}

/// Writes and flushes row by row. The first line has the names of the columns, even if no row follows.
pub(crate) struct CsvReport<W: Write> {
    out: csv::Writer<W>,
    filter: Filter,
    /// `false` if another process has written it.
    pub(super) header: bool,
}

impl<W: Write> CsvReport<W> {
    /// Writes the collections that `filter` lets through.
    pub(crate) fn new(out: W, filter: Filter) -> CsvReport<W> {
        let out = csv::WriterBuilder::new().has_headers(false).from_writer(out);
        CsvReport { out, filter, header: true }
    }
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(e) => e,
        other => io::Error::other(format!("{other:?}")),
    }
}

impl<W: Write> Report for CsvReport<W> {
    fn start(&mut self, _facts: &Facts) -> io::Result<()> {
        if self.header {
            self.out.write_record(COLUMNS).map_err(io_error)?;
        }
        self.out.flush()
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        if !self.filter.shows(gc) {
            return Ok(());
        }
        self.out.serialize(Row::of(facts, gc)).map_err(io_error)?;
        self.out.flush()
    }

    fn end(&mut self, _facts: &Facts, _end: &End<'_>) -> io::Result<()> {
        self.out.flush()
    }
}
