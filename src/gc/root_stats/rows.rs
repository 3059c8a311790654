//! The rows of one collection as they come, and the state that later collections need.

use netcore_profiler::wire;

use crate::gc::generation::Generation;
use crate::gc::map::HashMap;
use crate::gc::root_kind::{RootFlags, RootKind};

/// A root whose type was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) object: u64,
    /// FunctionID of a stack root, handle of a handle root.
    pub(crate) id: u64,
    pub(crate) class: u64,
    pub(crate) bytes: u64,
    /// FunctionID of the method that allocated the handle; 0: unknown.
    pub(crate) allocated_by: u64,
    pub(crate) kind: RootKind,
    pub(crate) flags: RootFlags,
    pub(crate) generation: Option<Generation>,
    /// SetGCHandle's kind.
    pub(crate) handle_kind: Option<u8>,
    /// How many roots are the same.
    pub(crate) count: u64,
}

impl Row {
    pub(crate) fn pinning(&self) -> bool {
        self.flags.has(RootFlags::PINNING)
    }
}

/// The object that a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) field: u32,
    pub(crate) class: u64,
    pub(crate) bytes: u64,
    pub(crate) generation: Option<Generation>,
}

/// The rows of one collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RootRows {
    pub(crate) rows: Vec<Row>,
    /// Pinned objects, and in how many collections in a row each has been pinned.
    pub(crate) pinned_for: HashMap<u64, u64>,
    /// `None`: not known.
    pub(super) statics: Option<Vec<Value>>,
    pub(crate) untyped: u64,
}

impl RootRows {
    /// Rows of all lists.
    pub(in crate::gc) fn len(&self) -> usize {
        self.rows.len() + self.statics.as_ref().map_or(0, Vec::len)
    }
}

/// Roots that are kept of one collection. The profiler sends 10,000 at most.
const MAX_ROWS: usize = 1 << 16;
/// Static fields that are kept. The profiler watches 4,096 at most.
const MAX_STATICS: usize = 1 << 13;

/// The rows that come before a collection's totals, and the state of the collections before.
#[derive(Debug, Default)]
pub(in crate::gc) struct IncomingRootRows {
    gc_seq: u64,
    rows: Vec<Row>,
    roots_parts: u32,
    statics_parts: u32,
    statics: HashMap<u32, Value>,
    /// The complete list has come, and every change since.
    statics_known: bool,
    /// Parts of this collection of which rows were left out, because there are more than the profiler ever sends.
    left_out: u64,
    pinned_seq: u64,
    pinned_for: HashMap<u64, u64>,
}

fn generation(g: wire::Generation) -> Option<Generation> {
    Some(Generation(g.0)).filter(|g| *g <= Generation::FROZEN)
}

impl IncomingRootRows {
    fn part_of(&mut self, gc_seq: u64) {
        if self.gc_seq != gc_seq {
            self.gc_seq = gc_seq;
            self.rows.clear();
            (self.roots_parts, self.statics_parts, self.left_out) = (0, 0, 0);
        }
    }

    pub(in crate::gc) fn roots(&mut self, part: &wire::TypedRoots<'_>) {
        self.part_of(part.gc_seq);
        self.roots_parts = self.roots_parts.saturating_add(1);
        let room = MAX_ROWS - self.rows.len();
        let mut rows = part.rows;
        self.rows.extend(rows.by_ref().take(room).map(|r| Row {
            object: r.object,
            id: r.root_id,
            class: r.class_id,
            bytes: r.bytes,
            allocated_by: r.allocated_by,
            kind: r.kind.into(),
            flags: RootFlags::from(r.flags).known(),
            generation: generation(r.generation),
            handle_kind: Some(r.handle_kind.0).filter(|k| *k != wire::HandleKind::UNKNOWN.0),
            count: u64::from(r.repeats) + 1,
        }));
        self.left_out += u64::from(rows.next().is_some());
    }

    pub(in crate::gc) fn statics(&mut self, part: &wire::Batch<'_, wire::StaticRow>) {
        self.part_of(part.gc_seq);
        if part.phase == wire::StaticsPhase::FULL && self.statics_parts == 0 {
            self.statics.clear();
            self.statics_known = true;
        }
        self.statics_parts = self.statics_parts.saturating_add(1);
        let mut left_out = false;
        for r in part.rows {
            if r.object == 0 {
                self.statics.remove(&r.field);
            } else {
                let value = Value {
                    field: r.field,
                    class: r.class_id,
                    bytes: r.bytes,
                    generation: generation(r.generation),
                };
                if self.statics.len() < MAX_STATICS || self.statics.contains_key(&r.field) {
                    self.statics.insert(r.field, value);
                } else {
                    left_out = true;
                }
            }
        }
        self.left_out += u64::from(left_out);
    }

    /// The totals have come. Returns their rows, and how many parts are missing.
    pub(in crate::gc) fn take(&mut self, gc_seq: u64, naming: &wire::Naming) -> (RootRows, u64) {
        self.part_of(gc_seq);
        let roots_missing = naming.typed_root_parts.saturating_sub(self.roots_parts);
        let statics_missing = naming.statics_parts.saturating_sub(self.statics_parts);
        let left_out = std::mem::take(&mut self.left_out);
        if statics_missing > 0 {
            self.statics_known = false;
        }
        let rows = std::mem::take(&mut self.rows);
        // A pinned object keeps its address. So the same address in the next collection is the same object, if no
        // collection is missing in between.
        let in_a_row = gc_seq == self.pinned_seq.wrapping_add(1) && roots_missing == 0;
        let before = std::mem::take(&mut self.pinned_for);
        for row in rows.iter().filter(|r| r.pinning()) {
            let times = if in_a_row { before.get(&row.object).copied().unwrap_or(0) } else { 0 };
            self.pinned_for.insert(row.object, times + 1);
        }
        self.pinned_seq = gc_seq;
        let statics = self.statics_known.then(|| {
            let mut values: Vec<Value> = self.statics.values().copied().collect();
            values.sort_unstable_by_key(|v| v.field);
            values
        });
        let seen =
            RootRows { rows, pinned_for: self.pinned_for.clone(), statics, untyped: naming.untyped_roots };
        (seen, u64::from(roots_missing) + u64::from(statics_missing) + left_out)
    }
}
