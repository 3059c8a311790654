//! `--format csv`: a row per collection. An unknown value is an empty cell. No cell contains text of the target, so no
//! cell can be a command to a terminal or a formula in a spreadsheet.

use std::io::{self, Write};

use serde::Serialize;

use super::model::{End, Facts, Filter, Report};
use crate::gc::record::{Compacting, Gc};
use crate::gc::root_kind::{RootFlags, RootKind};

/// The columns; their names contain the units.
#[derive(Debug, Default, Serialize)]
struct Row {
    pid: Option<u32>,
    number: Option<u32>,
    level: &'static str,
    generation: Option<u8>,
    kind: Option<&'static str>,
    reason: Option<&'static str>,
    induced: Option<bool>,
    compacting: Option<&'static str>,
    incomplete: Option<&'static str>,
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
    moved_blocks: Option<u64>,
    moved_bytes: Option<u64>,
    stayed_blocks: Option<u64>,
    stayed_bytes: Option<u64>,
    surviving_blocks: Option<u64>,
    surviving_bytes: Option<u64>,
    roots_total: Option<u64>,
    roots_stack: Option<u64>,
    roots_handle: Option<u64>,
    roots_finalizer: Option<u64>,
    roots_other: Option<u64>,
    roots_pinning: Option<u64>,
    roots_weak: Option<u64>,
    roots_interior: Option<u64>,
    roots_refcounted: Option<u64>,
    callback_ns: Option<u64>,
    walk_ns: Option<u64>,
    caused_by_watching_ns: Option<u64>,
}

impl Row {
    fn of(facts: &Facts, gc: &Gc) -> Row {
        let moved = gc.moved.as_ref();
        let surviving = gc.surviving.as_ref();
        let roots = gc.roots.as_ref();
        let kind = |kind| roots?.of_kind(kind);
        let flag = |flag| roots?.with_flag(flag);
        Row {
            pid: facts.target.pid,
            number: gc.number,
            level: gc.level.name(),
            generation: gc.generation.map(|g| g.0),
            kind: gc.kind.map(|k| k.name()),
            reason: gc.reason.map(|r| r.names().0),
            induced: gc.reason.map(|r| r.induced()),
            compacting: gc.compacting.map(|c| match c {
                Compacting::Yes => "true",
                Compacting::No => "false",
                Compacting::Mixed => "mixed",
            }),
            incomplete: gc.incomplete.map(|i| i.name()),
            at_ns: gc.at_ns,
            pause_ns: gc.pause_ns,
            gc_ns: gc.gc_ns,
            suspend_ns: gc.suspend_ns,
            heap_before_bytes: gc.heap_before_bytes,
            heap_after_bytes: gc.heap_after_bytes,
            promoted_bytes: gc.promoted_bytes,
            committed_bytes: gc.committed_bytes,
            heap_count: gc.heap_count,
            handles: gc.handles,
            pinned_objects: gc.pinned_objects,
            moved_blocks: moved.map(|m| m.count.blocks),
            moved_bytes: moved.map(|m| m.count.bytes),
            stayed_blocks: moved.map(|m| m.stayed.blocks),
            stayed_bytes: moved.map(|m| m.stayed.bytes),
            surviving_blocks: surviving.map(|s| s.count.blocks),
            surviving_bytes: surviving.map(|s| s.count.bytes),
            roots_total: roots.map(crate::gc::record::Roots::total),
            roots_stack: kind(RootKind::STACK),
            roots_handle: kind(RootKind::HANDLE),
            roots_finalizer: kind(RootKind::FINALIZER),
            roots_other: kind(RootKind::OTHER),
            roots_pinning: flag(RootFlags::PINNING),
            roots_weak: flag(RootFlags::WEAK),
            roots_interior: flag(RootFlags::INTERIOR),
            roots_refcounted: flag(RootFlags::REFCOUNTED),
            callback_ns: gc.cost.map(|c| c.callback_ns),
            walk_ns: gc.cost.map(|c| c.walk_ns),
            caused_by_watching_ns: gc.caused_by_watching_ns,
        }
    }
}

/// Writes and flushes row by row. The first line has the names of the columns, even if no row follows.
pub(crate) struct CsvReport<W: Write> {
    out: csv::Writer<W>,
    filter: Filter,
    header: bool,
}

impl<W: Write> CsvReport<W> {
    /// Writes the collections that `filter` lets through.
    pub(crate) fn new(out: W, filter: Filter) -> CsvReport<W> {
        let out = csv::WriterBuilder::new().has_headers(false).from_writer(out);
        CsvReport { out, filter, header: true }
    }

    /// Leaves the header out: another process has written it.
    pub(crate) fn without_header(self) -> CsvReport<W> {
        CsvReport { header: false, ..self }
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
        if !self.header {
            return Ok(());
        }
        let mut names = csv::Writer::from_writer(Vec::new());
        names.serialize(Row::default()).map_err(io_error)?;
        let both = names.into_inner().map_err(|e| io::Error::other(e.to_string()))?;
        let header = both.split(|b| *b == b'\n').next().unwrap_or_default();
        self.out.write_record(header.split(|b| *b == b',')).map_err(io_error)?;
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
