//! One line per collection, in columns of fixed width.

use super::marks::Mark;
use crate::gc::generation::Generation;
use crate::gc::record::{BlockCount, Gc, Incomplete, Level};
use crate::gc::root_kind::{RootFlags, RootKind};
use crate::gc::summary::survived;
use crate::report::root_lines::fits;
use crate::report::style::{Line, Role, Style, WIDE_COLUMNS};
use crate::report::units::{Scale, Units, clock, compact, generation_label, millis, percent};

/// What a column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Number,
    At,
    Generation,
    Reason,
    Pause,
    Suspension,
    Heap,
    /// Since the collection before.
    Allocated,
    Promoted,
    Fragmentation,
    Moved,
    Survived,
    /// All roots.
    Roots,
    /// Roots of one kind.
    RootKind(RootKind),
    Pinning,
    /// The method whose frames hold most.
    TopMethod,
}

/// A column, the blanks before it, and its width.
#[derive(Debug, Clone, Copy)]
struct Slot {
    column: Column,
    gap: usize,
    width: usize,
}

const fn slot(column: Column, gap: usize, width: usize) -> Slot {
    Slot { column, gap, width }
}

/// 79 columns, so that no terminal of 80 wraps a line. The mark stands before the first slot.
const NARROW: [Slot; 10] = [
    slot(Column::Number, 0, 5),
    slot(Column::At, 1, 6),
    slot(Column::Generation, 1, 3),
    slot(Column::Reason, 1, 7),
    slot(Column::Pause, 1, 8),
    slot(Column::Heap, 1, 10),
    slot(Column::Moved, 2, 10),
    slot(Column::Survived, 2, 10),
    slot(Column::Roots, 1, 5),
    slot(Column::Pinning, 1, 3),
];

/// 125 columns; in fewer, something is left out.
const WIDE: [Slot; 17] = [
    slot(Column::Number, 0, 5),
    slot(Column::At, 1, 7),
    slot(Column::Generation, 1, 3),
    slot(Column::Reason, 1, 7),
    slot(Column::Pause, 1, 8),
    slot(Column::Suspension, 1, 7),
    slot(Column::Heap, 1, 10),
    slot(Column::Allocated, 2, 5),
    slot(Column::Promoted, 1, 5),
    slot(Column::Fragmentation, 1, 4),
    slot(Column::Moved, 2, 10),
    slot(Column::Survived, 2, 10),
    slot(Column::RootKind(RootKind::STACK), 2, 5),
    slot(Column::RootKind(RootKind::HANDLE), 1, 6),
    slot(Column::RootKind(RootKind::FINALIZER), 1, 4),
    slot(Column::RootKind(RootKind::OTHER), 1, 5),
    slot(Column::Pinning, 1, 3),
];

/// From here on there is room for the method that holds most, and how much of a line it takes at most.
const HOLDER_COLUMNS: usize = 140;
const HOLDER_WIDTH: std::ops::RangeInclusive<usize> = 18..=44;

/// What is left out first where there is no room, last first.
const DISPENSABLE: [Column; 11] = [
    Column::Heap,
    Column::Roots,
    Column::Survived,
    Column::Moved,
    Column::Pinning,
    Column::At,
    Column::Fragmentation,
    Column::Suspension,
    Column::RootKind(RootKind::FINALIZER),
    Column::Allocated,
    Column::Promoted,
];

/// Behind the generation of a collection that was also stopped because of watching.
pub(super) const STOPPED_FOR_US: &str = "*";

/// Width of the number of blocks before their bytes.
const BLOCKS: usize = 4;

/// The columns, and the units they have come to.
#[derive(Debug)]
pub(super) struct Lines {
    style: Style,
    columns: usize,
    /// The highest level that has columns.
    level: Level,
    slots: Vec<Slot>,
    units: Units,
    heap: Scale,
    allocated: Scale,
    moved: Scale,
    survived: Scale,
    promoted: Scale,
}

impl Lines {
    /// Columns for a width, of what each level shows.
    pub(super) fn new(style: Style, columns: usize, units: Units) -> Lines {
        let scale = Scale::new(units);
        let mut lines = Lines {
            style,
            columns,
            level: Level::Basic,
            slots: Vec::new(),
            units,
            heap: scale.clone(),
            allocated: scale.clone(),
            moved: scale.clone(),
            survived: scale.clone(),
            promoted: scale,
        };
        lines.choose_columns();
        lines
    }

    /// A collection or the watch has this level. Returns whether that makes other columns.
    pub(super) fn needs(&mut self, level: Level) -> bool {
        if level <= self.level {
            return false;
        }
        self.level = level;
        self.choose_columns();
        true
    }

    /// Chooses what the level can show, and what there is room for.
    fn choose_columns(&mut self) {
        let (style, columns, level) = (self.style, self.columns, self.level);
        // What `basic` shows has room everywhere.
        let wide = columns >= WIDE_COLUMNS || level == Level::Basic;
        let mut slots: Vec<Slot> = if wide { WIDE.to_vec() } else { NARROW.to_vec() };
        slots.retain(|slot| needed_level(slot.column) <= level);
        if columns >= HOLDER_COLUMNS && level == Level::Roots {
            // Names come last: what is narrower leaves nothing behind it.
            let width: usize = slots.iter().map(|slot| slot.gap + slot.width).sum();
            let left = columns.saturating_sub(width + 4);
            slots.push(slot(Column::TopMethod, 2, left.clamp(*HOLDER_WIDTH.start(), *HOLDER_WIDTH.end())));
        }
        let size = Scale::width(self.units);
        let arrow = style.arrow().chars().count();
        for slot in &mut slots {
            slot.width = match slot.column {
                Column::Heap => 2 * size + arrow - 1,
                Column::Moved | Column::Survived => BLOCKS + 1 + size,
                Column::Allocated | Column::Promoted => size,
                _ => slot.width,
            };
        }
        // A longer arrow takes its room from the blanks behind its column.
        if let Some(heap) = slots.iter().position(|slot| slot.column == Column::Heap) {
            slots[heap + 1].gap -= arrow - 1;
        }
        self.slots = slots;
        let mut dispensable = DISPENSABLE.to_vec();
        while self.width() > columns {
            let Some(column) = dispensable.pop() else { break };
            self.slots.retain(|slot| slot.column != column);
        }
    }

    fn width(&self) -> usize {
        1 + self.slots.iter().map(|slot| slot.gap + slot.width).sum::<usize>()
    }

    /// The names of the columns.
    pub(super) fn header(&self) -> String {
        let mut line = Line::default();
        line.space(1);
        for slot in &self.slots {
            self.put(&mut line, *slot, name(slot.column), Role::Dim);
        }
        line.into_string()
    }

    /// One collection.
    pub(super) fn row(&mut self, gc: &Gc, mark: Mark) -> String {
        let style = self.style;
        let mut line = Line::of(style, mark.role(), mark.sign());
        let note = gc.incomplete.map(note);
        for slot in self.slots.clone() {
            // Where nothing more is known, the reason replaces a row of dashes.
            if let Some(note) = note
                && slot.column == Column::Moved
                && gc.moved.is_none()
                && gc.surviving.is_none()
                && gc.roots.is_none()
            {
                line.space(slot.gap);
                line.push(style, Role::Dim, note);
                break;
            }
            let (text, role) = self.cell(slot, gc, mark);
            self.put(&mut line, slot, &text, role);
        }
        if let Some(note) = note.filter(|_| self.level == Level::Basic)
            && line.width() + 2 + note.len() <= self.columns
        {
            line.space(2);
            line.push(style, Role::Dim, note);
        }
        line.into_string()
    }

    fn put(&self, line: &mut Line, slot: Slot, text: &str, role: Role) {
        line.space(slot.gap);
        if left(slot.column) {
            let end = line.width() + slot.width;
            line.push(self.style, role, text);
            line.pad_to(end);
        } else {
            line.push_right(self.style, role, text, slot.width);
        }
    }

    fn cell(&mut self, slot: Slot, gc: &Gc, mark: Mark) -> (String, Role) {
        let gen2 = gc.generation == Some(Generation::GEN2);
        let routine = if gen2 { Role::Strong } else { Role::Dim };
        let known = |text: Option<String>, role| text.map(|t| (t, role)).unwrap_or(unknown());
        let (roots, count) = (gc.roots.as_ref(), |n| compact(n, slot.width));
        match slot.column {
            Column::Number => {
                known(gc.number.map(|n| n.to_string()), if gen2 { Role::Strong } else { Role::Plain })
            }
            Column::At => known(gc.at_ns.map(|ns| clock(ns, slot.width)), Role::Dim),
            Column::Generation => {
                let star = if gc.caused_by_watching_ns > Some(0) { STOPPED_FOR_US } else { "" };
                let text = generation(gc).map(|text| text + star);
                known(text, if gen2 { Role::Strong } else { Role::Plain })
            }
            Column::Reason => {
                let role = if gc.reason.is_some_and(|r| r.0 == 0) { routine } else { Role::Plain };
                known(gc.reason.map(|r| r.names().1.to_owned()), role)
            }
            Column::Pause => {
                let role = if mark == Mark::None && gen2 { Role::Strong } else { mark.role() };
                known(gc.pause_ns.map(millis), role)
            }
            Column::Suspension => known(gc.suspend_ns.map(millis), Role::Dim),
            Column::Heap => (self.heap_cell(slot, gc), Role::Plain),
            Column::Allocated => {
                let bytes = gc.allocated.map(|allocated| allocated.bytes);
                shown(bytes, |bytes| self.allocated.one(bytes))
            }
            Column::Promoted => shown(gc.promoted_bytes, |bytes| self.promoted.one(bytes)),
            Column::Fragmentation => known(fragmentation(gc), Role::Plain),
            Column::Moved => blocks(gc.moved.as_ref().map(|m| m.count), &mut self.moved, slot.width),
            Column::Survived => blocks(survived(gc), &mut self.survived, slot.width),
            Column::Roots => shown(roots.map(|r| r.total()), count),
            Column::RootKind(kind) => shown(roots.and_then(|r| r.of_kind(kind)), count),
            Column::TopMethod => match top_method(gc) {
                Some((name, role)) => (fits(name, slot.width, self.style), role),
                None => unknown(),
            },
            Column::Pinning => shown(roots.and_then(|r| r.with_flag(RootFlags::PINNING)), count),
        }
    }

    /// `121→52.5M`; the arrow is always in the same column.
    fn heap_cell(&mut self, slot: Slot, gc: &Gc) -> String {
        let arrow = self.style.arrow();
        let (before, after) = match (gc.heap_before_bytes, gc.heap_after_bytes) {
            (Some(before), Some(after)) => self.heap.pair(before, after),
            (None, Some(after)) => ("-".to_owned(), self.heap.one(after)),
            (Some(before), None) => (self.heap.one(before), "-".to_owned()),
            (None, None) => return "-".to_owned(),
        };
        let side = (slot.width - (arrow.chars().count() - 1)).div_ceil(2);
        format!("{before}{arrow}{after:>side$}")
    }
}

fn name(column: Column) -> &'static str {
    match column {
        Column::Number => "#",
        Column::At => "at s",
        Column::Generation => "gen",
        Column::Reason => "why",
        Column::Pause => "pause",
        Column::Suspension => "suspend",
        Column::Heap => "heap",
        Column::Allocated => "alloc",
        Column::Promoted => "prom.",
        Column::Fragmentation => "frag",
        Column::Moved => "moved",
        Column::Survived => "survived",
        Column::Roots => "roots",
        Column::RootKind(RootKind::STACK) => "stack",
        Column::RootKind(RootKind::HANDLE) => "handle",
        Column::RootKind(RootKind::FINALIZER) => "fin.",
        Column::RootKind(_) => "other",
        Column::Pinning => "pin",
        Column::TopMethod => "held most by",
    }
}

/// The lowest level that has the figure.
fn needed_level(column: Column) -> Level {
    match column {
        Column::Moved | Column::Survived => Level::Moves,
        Column::Roots | Column::RootKind(_) | Column::Pinning | Column::TopMethod => Level::Roots,
        _ => Level::Basic,
    }
}

/// The method of the application whose frames have the most roots, else any method that has a name.
fn top_method(gc: &Gc) -> Option<(&str, Role)> {
    let methods = &gc.roots.as_ref()?.stats.as_ref()?.methods;
    let own = methods.iter().find(|m| m.own).map(|m| (&*m.name, Role::Plain));
    let named = || methods.iter().find(|m| !m.name.starts_with('('));
    own.or_else(|| named().map(|m| (&*m.name, Role::Dim)))
}

/// Words are aligned left, numbers right.
fn left(column: Column) -> bool {
    matches!(column, Column::Generation | Column::Reason | Column::TopMethod)
}

/// `2`, `2b` for background, `1f` for foreground.
pub(super) fn generation(gc: &Gc) -> Option<String> {
    gc.generation.map(|generation| generation_label(generation, gc.kind))
}

fn unknown() -> (String, Role) {
    ("-".to_owned(), Role::Dim)
}

fn shown(value: Option<u64>, text: impl FnOnce(u64) -> String) -> (String, Role) {
    match value {
        None => unknown(),
        Some(0) => ("0".to_owned(), Role::Dim),
        Some(n) => (text(n), Role::Plain),
    }
}

fn blocks(count: Option<BlockCount>, scale: &mut Scale, width: usize) -> (String, Role) {
    match count {
        None => unknown(),
        Some(BlockCount { blocks: 0, .. }) => ("0".to_owned(), Role::Dim),
        Some(BlockCount { blocks, bytes }) => {
            let size = scale.one(bytes);
            (format!("{} {size:>1$}", compact(blocks, BLOCKS), width - BLOCKS - 1), Role::Plain)
        }
    }
}

/// Free space inside the generations, as a share of the heap after the collection.
fn fragmentation(gc: &Gc) -> Option<String> {
    let parts: Vec<u64> = gc.generations.iter().filter_map(|g| g.fragmentation_bytes).collect();
    let after = gc.heap_after_bytes.filter(|&bytes| bytes > 0)?;
    if parts.is_empty() {
        return None;
    }
    let share = parts.iter().sum::<u64>() as f64 / after as f64 * 100.0;
    Some(percent(share.max(0.1)).replace(' ', ""))
}

fn note(why: Incomplete) -> &'static str {
    match why {
        Incomplete::BeganBefore => "began before the watch",
        Incomplete::EndedAfter => "ended after the watch",
        Incomplete::Lost => "events lost",
        Incomplete::HalfArmed => "armed too late",
    }
}
