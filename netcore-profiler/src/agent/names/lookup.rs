//! Looks up class, size and generation of objects at the end of a collection, when the heap is consistent and all
//! managed threads are suspended.

use core::sync::atomic::Ordering::SeqCst;

use crate::agent::bounds::Span;
use crate::agent::events::Sink;
use crate::agent::profiler::Profiler;
use crate::info::HeapRange;
use crate::wire::Generation;

/// Size of the cache of classes; a power of two.
const CLASSES: usize = 64;
/// How many ranges of frozen objects are considered.
const FROZEN_RANGES: usize = 64;

/// The frozen heap.
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

/// An object; class and size are 0 where they are unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    pub(super) class: usize,
    pub(super) bytes: u64,
    pub(super) generation: Generation,
}

/// The first word at an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    generation: Generation,
    /// The object's method table; 0: there is no object.
    table: usize,
}

impl Header {
    pub(super) const NONE: Self = Self { generation: Generation::UNKNOWN, table: 0 };
}

pub(super) struct Lookup<'a> {
    profiler: &'a Profiler,
    pub(super) sink: Sink<'a>,
    frozen: Frozen,
    /// The span of the last object.
    span: Span,
    /// Method tables and their classes, which have been reported. A method table has one class.
    classes: [(usize, usize); CLASSES],
}

impl<'a> Lookup<'a> {
    /// # Safety
    /// Only in `GarbageCollectionFinished`, with the bounds that were read there.
    pub(super) unsafe fn new(profiler: &'a Profiler, sink: Sink<'a>) -> Self {
        let mut ranges = [HeapRange { start: 0, length: 0, reserved: 0 }; FROZEN_RANGES];
        let count = if profiler.names.knows_frozen.load(SeqCst) {
            // SAFETY: the interface is an `ICorProfilerInfo14`.
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

    /// The object at an address, whose class is reported. Addresses outside the heap are not read.
    pub(super) fn object(&mut self, address: u64) -> Object {
        let header = self.header(address);
        self.object_of(address, header)
    }

    /// Reads the first word at an address in the heap.
    pub(super) fn header(&mut self, address: u64) -> Header {
        let Ok(at) = usize::try_from(address) else { return Header::NONE };
        if !self.span.holds(at) {
            self.span = self.profiler.bounds.span(at);
        }
        let generation = if self.span.is_in_a_generation() {
            Generation(self.span.generation as u8)
        } else if self.frozen.has(address) {
            Generation::FROZEN
        } else {
            return Header::NONE;
        };
        if !at.is_multiple_of(size_of::<usize>()) {
            return Header { generation, table: 0 };
        }
        // SAFETY: the address is aligned and within the heap's bounds.
        let table = unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() };
        Header { generation, table }
    }

    /// The object whose header was read before.
    pub(super) fn object_of(&mut self, address: u64, header: Header) -> Object {
        let Header { generation, table } = header;
        let unknown = Object { class: 0, bytes: 0, generation };
        // If the runtime sweeps full regions in the plan phase (`GCEnableSpecialRegions`, off by default), objects
        // still have mark bits in the low bits of their method table's address here. `GetClassFromObject` would follow
        // that address as it is.
        if table == 0 || !table.is_multiple_of(size_of::<usize>()) {
            return unknown;
        }
        let (info, at) = (self.sink.info, address as usize);
        let place = (table as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        let class = match self.classes.get(place as usize) {
            Some((known, class)) if *known == table => *class,
            _ => {
                // SAFETY: a root's object after the collection, aligned and in the heap. For an interior root the
                // runtime gives the address of the object itself.
                let Ok(class) = (unsafe { info.class_of(at) }) else { return unknown };
                // SAFETY: the object exists, and keeps its class loaded.
                unsafe { self.profiler.report_class(info, class) };
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
