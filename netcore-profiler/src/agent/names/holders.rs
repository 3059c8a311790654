//! Roots and what they hold: kept as the runtime tells them, looked up when the collection is over.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::agent::Profiler;
use crate::agent::accumulator::{ROWS_BYTES, Roots as Batch, Sink};
use crate::agent::bounds::Span;
use crate::info::HeapRange;
use crate::sys;
use crate::wire::{
    Generation, HandleKind, HolderRow, Holders, Naming, PACKED_ROW_BYTES, Packer, RootFlags, RootKind,
    event_id,
};

/// Roots whose types are looked up in one collection.
const CAPACITY: usize = 10_000;
/// Roots that are looked at together.
const TOGETHER: usize = 16;
/// Roots whose objects are fetched from memory before their turn comes.
const AHEAD: usize = 32;
/// Classes that are remembered while a collection ends; a power of two.
const CLASSES: usize = 64;
/// Ranges of frozen objects that are looked at.
const FROZEN_RANGES: usize = 64;

/// A root, and how often it came again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
struct Kept {
    object: u64,
    root_id: u64,
    kind: u8,
    flags: u8,
    repeats: u16,
}

/// Roots of the collection under way that are not null.
#[derive(Debug)]
pub(in crate::agent) struct Roots {
    memory: AtomicPtr<Kept>,
    count: AtomicUsize,
    /// Roots there was no room for.
    untyped: AtomicU64,
    /// A thread is at it.
    busy: AtomicBool,
}

/// The table, which the thread that has it has for itself.
struct Table<'a> {
    roots: &'a Roots,
    all: &'a mut [Kept],
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        self.roots.busy.store(false, SeqCst);
    }
}

impl Table<'_> {
    /// Keeps a batch, or as much of it as there is room for.
    fn add(&mut self, batch: Batch<'_>) {
        // Plain numbers while it lasts: there may be very many.
        let mut count = self.roots.count.load(SeqCst);
        if count >= CAPACITY {
            self.roots.pass(batch);
            return;
        }
        let mut untyped = 0_u64;
        for root in batch.rows().filter(|root| root.object != 0) {
            if count >= CAPACITY {
                untyped = untyped.saturating_add(1);
                continue;
            }
            let new = Kept {
                object: root.object,
                root_id: root.root_id,
                kind: root.kind.0,
                flags: root.flags.0,
                repeats: 0,
            };
            let last = count.checked_sub(1).and_then(|last| self.all.get_mut(last));
            if let Some(last) = last
                && last.repeats < u16::MAX
                && (Kept { repeats: 0, ..*last }) == new
            {
                last.repeats = last.repeats.saturating_add(1);
            } else if let Some(free) = self.all.get_mut(count) {
                *free = new;
                count = count.saturating_add(1);
            }
        }
        self.roots.count.store(count, SeqCst);
        self.roots.untyped.fetch_add(untyped, SeqCst);
    }
}

impl Roots {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            count: AtomicUsize::new(0),
            untyped: AtomicU64::new(0),
            busy: AtomicBool::new(false),
        }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(SeqCst).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Kept>())) else { return false };
            self.memory.store(memory.cast().as_ptr(), SeqCst);
        }
        self.busy.store(false, SeqCst);
        self.clear();
        true
    }

    fn clear(&self) {
        self.count.store(0, SeqCst);
        self.untyped.store(0, SeqCst);
    }

    fn table(&self) -> Option<Table<'_>> {
        let memory = self.memory.load(SeqCst);
        if memory.is_null() || self.busy.swap(true, SeqCst) {
            return None;
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good; `busy` was free and is ours until the
        // table is dropped.
        let all = unsafe { core::slice::from_raw_parts_mut(memory, CAPACITY) };
        Some(Table { roots: self, all })
    }

    /// Keeps a batch, or as much of it as there is room for.
    pub(in crate::agent) fn add(&self, batch: Batch<'_>) {
        match self.table() {
            Some(mut table) => table.add(batch),
            None => self.pass(batch),
        }
    }

    /// Counts a batch that there is no room for.
    fn pass(&self, batch: Batch<'_>) {
        let some = batch.objects.iter().filter(|object| **object != 0);
        self.untyped.fetch_add(some.count() as u64, SeqCst);
    }
}

/// The frozen heap, while a collection ends.
struct Frozen {
    ranges: [HeapRange; FROZEN_RANGES],
    count: usize,
}

impl Frozen {
    fn has(&self, object: u64) -> bool {
        let used = self.ranges.get(..self.count.min(FROZEN_RANGES)).unwrap_or_default();
        used.iter().any(|range| object.wrapping_sub(range.start as u64) < range.length as u64)
    }
}

/// What is known of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    pub(super) class: usize,
    pub(super) bytes: u64,
    pub(super) generation: Generation,
}

/// What was seen at an address.
#[derive(Debug, Clone, Copy)]
struct Seen {
    generation: Generation,
    /// The object's method table, 0 where there is no object.
    table: usize,
}

impl Seen {
    const NOTHING: Self = Self { generation: Generation::UNKNOWN, table: 0 };
}

/// Looks objects up at the end of a collection, when the heap is in order and the world stands still.
pub(super) struct Lookup<'a> {
    profiler: &'a Profiler,
    pub(super) sink: Sink<'a>,
    frozen: Frozen,
    /// Where the last object was.
    span: Span,
    /// Method tables and the classes they stand for, which are told; a class is one of its table alone.
    classes: [(usize, usize); CLASSES],
}

impl<'a> Lookup<'a> {
    /// # Safety
    /// Only in `GarbageCollectionFinished`, with the bounds read there.
    pub(super) unsafe fn new(profiler: &'a Profiler, sink: Sink<'a>) -> Self {
        let mut ranges = [HeapRange { start: 0, length: 0, reserved: 0 }; FROZEN_RANGES];
        let count = if profiler.names.knows_frozen.load(SeqCst) {
            // SAFETY: it answered to `ICorProfilerInfo14`.
            unsafe { sink.info.frozen_bounds(&mut ranges) }.unwrap_or(0)
        } else {
            0
        };
        Self {
            profiler,
            sink,
            frozen: Frozen { ranges, count },
            span: Span::NOWHERE,
            classes: [(0, 0); CLASSES],
        }
    }

    /// What lies at an address; an address that is nowhere in the heap is not looked at. The class is
    /// told.
    pub(super) fn object(&mut self, address: u64) -> Object {
        let seen = self.see(address);
        self.known(address, seen)
    }

    /// Where an address lies, and the first word there.
    fn see(&mut self, address: u64) -> Seen {
        let Ok(at) = usize::try_from(address) else { return Seen::NOTHING };
        if !self.span.holds(at) {
            self.span = self.profiler.bounds.span(at);
        }
        let generation = if self.span.is_in_a_generation() {
            Generation(self.span.generation as u8)
        } else if self.frozen.has(address) {
            Generation::FROZEN
        } else {
            return Seen::NOTHING;
        };
        if !at.is_multiple_of(size_of::<usize>()) {
            return Seen { generation, table: 0 };
        }
        // SAFETY: within the heap's bounds, and aligned.
        let table = unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        Seen { generation, table }
    }

    fn known(&mut self, address: u64, seen: Seen) -> Object {
        let Seen { generation, table } = seen;
        let nothing = Object { class: 0, bytes: 0, generation };
        // With full regions swept in the plan phase (`GCEnableSpecialRegions`, off by default) objects are
        // still marked here, in the low bits of their method table's address: the runtime's own look at
        // such an object would follow that address.
        if table == 0 || !table.is_multiple_of(size_of::<usize>()) {
            return nothing;
        }
        let (info, at) = (self.sink.info, address as usize);
        let place = (table as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        let class = match self.classes.get(place as usize) {
            Some((known, class)) if *known == table => *class,
            _ => {
                // SAFETY: a root's object after the collection, in the heap and aligned; roots into the
                // middle of an object are told with the object's own address.
                let Ok(class) = (unsafe { info.class_of(at) }) else { return nothing };
                // SAFETY: the object is there, and its class with it.
                unsafe { self.profiler.tell_class(info, class) };
                if let Some(place) = self.classes.get_mut(place as usize) {
                    *place = (table, class);
                }
                class
            }
        };
        // SAFETY: as above.
        let bytes = unsafe { info.object_size(at) }.unwrap_or(0) as u64;
        Object { class, bytes, generation }
    }
}

impl Profiler {
    /// Tells what the roots of the collection hold. `None` where names are off.
    ///
    /// # Safety
    /// Only in `GarbageCollectionFinished`, on the one thread that is in it.
    pub(in crate::agent) unsafe fn tell_holders(&self, sink: Sink<'_>, entered_ns: u64) -> Option<Naming> {
        if !self.names.are_on() {
            return None;
        }
        self.make_room_for_names();
        self.settle_names(sink.info);
        let mut naming = Naming::default();
        let Some(table) = self.names.roots.table() else { return Some(naming) };
        let count = self.names.roots.count.load(SeqCst);
        naming.untyped_roots = self.names.roots.untyped.load(SeqCst);
        let all = table.all.get(..count).unwrap_or_default();
        if !self.names.budget.allows(entered_ns) {
            let slots = all.iter().map(|root| u64::from(root.repeats).saturating_add(1));
            naming.untyped_roots = slots.fold(naming.untyped_roots, u64::saturating_add);
        } else if self.bounds.are_known() {
            // SAFETY: by the contract, and the caller has read the bounds.
            let mut lookup = unsafe { Lookup::new(self, sink) };
            naming.typed_roots = self.tell_rows(all, &mut lookup);
            // SAFETY: by the contract.
            unsafe { self.tell_statics(&mut lookup) };
        }
        self.names.roots.clear();
        drop(table);
        naming.holders_parts = self.events.take_part(event_id::HOLDERS);
        naming.statics_parts = self.events.take_part(event_id::STATICS);
        naming.naming_ns = sys::tick_ns().saturating_sub(entered_ns);
        self.names.budget.spend(naming.naming_ns);
        Some(naming)
    }

    /// Sends a row for each root, and gives the number of roots they stand for.
    fn tell_rows(&self, roots: &[Kept], lookup: &mut Lookup<'_>) -> u64 {
        // SAFETY: this thread alone is finishing, and neither the bounds' turn nor the totals' is now.
        let buffer = unsafe { self.events.scratch() };
        let buffer = buffer.get_mut(..ROWS_BYTES).unwrap_or_default();
        let (mut told, mut last, mut last_function) = (0_u64, None, 0);
        let (mut packer, mut length, mut rows) = (Packer::new(), 0_usize, 0_u32);
        let (mut last_maker, mut made) = (None, (HandleKind::UNKNOWN, 0));
        let mut coming = roots.iter();
        coming.by_ref().take(AHEAD).for_each(|root| sys::fetch(root.object));
        for roots in roots.chunks(TOGETHER) {
            coming.by_ref().take(roots.len()).for_each(|root| sys::fetch(root.object));
            // Handles and objects lie all over the memory: what is fetched at once is waited for once.
            let mut ahead = [(None, Seen::NOTHING); TOGETHER];
            for (root, (maker, seen)) in roots.iter().zip(&mut ahead) {
                if root.kind == RootKind::HANDLE.0 {
                    *maker = self.names.handles.maker(root.root_id);
                }
                *seen = lookup.see(root.object);
            }
            for (root, (maker, seen)) in roots.iter().zip(&ahead) {
                let object = match last {
                    Some((address, object)) if address == root.object => object,
                    _ => lookup.known(root.object, *seen),
                };
                last = Some((root.object, object));
                if root.kind == RootKind::STACK.0 && root.root_id != last_function {
                    last_function = root.root_id;
                    // SAFETY: the frame is on a stack that stands still.
                    unsafe { self.tell_method(lookup.sink.info, root.root_id as usize) };
                }
                if *maker != last_maker {
                    last_maker = *maker;
                    made = maker.map_or((HandleKind::UNKNOWN, 0), |m| self.tell_maker(lookup.sink.info, m));
                }
                let (handle_kind, creator) = made;
                let row = HolderRow {
                    object: root.object,
                    root_id: root.root_id,
                    class_id: object.class as u64,
                    bytes: object.bytes,
                    creator,
                    kind: RootKind(root.kind),
                    flags: RootFlags(root.flags),
                    generation: object.generation,
                    handle_kind,
                    repeats: root.repeats,
                };
                if buffer.len().saturating_sub(length) < PACKED_ROW_BYTES {
                    let bytes = buffer.get(..length).unwrap_or_default();
                    self.events.write_rows(lookup.sink, event_id::HOLDERS, Holders::PACKED, rows, bytes);
                    (packer, length, rows) = (Packer::new(), 0, 0);
                }
                if let Ok(bytes) = packer.encode(&row, buffer.get_mut(length..).unwrap_or_default()) {
                    length = length.saturating_add(bytes);
                    rows = rows.saturating_add(1);
                    told = told.saturating_add(1).saturating_add(u64::from(root.repeats));
                }
            }
        }
        if rows > 0 {
            let bytes = buffer.get(..length).unwrap_or_default();
            self.events.write_rows(lookup.sink, event_id::HOLDERS, Holders::PACKED, rows, bytes);
        }
        told
    }

    /// Whether something that was told has no name yet.
    pub(in crate::agent) fn names_are_pending(&self) -> bool {
        self.names.are_on() && self.names.are_pending()
    }

    /// Has our thread say when all names of this collection are sent, which it then does at once.
    pub(in crate::agent) fn ask_for_names(&self, gc_seq: u64) {
        self.names.wanted.store(gc_seq, SeqCst);
        self.names.ring();
    }
}
