//! What the copy sends behind the objects.

use core::sync::atomic::Ordering::SeqCst;

use super::copy::{Copy, FROZEN_RANGES};
use super::kept::Entry;
use super::objects::Head;
use super::output::Place;
use crate::agent::profiler::Profiler;
use crate::info::{HeapRange, Info, is_definition};
use crate::sys;
use crate::wire::graph::{CopyCost, kind};
use crate::wire::{Ids, Method, MethodShape, Payload, RootKind};

const FROZEN: u8 = 5;
/// Rows that are sent at once.
const MANY: usize = 8192;

impl Profiler {
    /// Sends everything but the objects of the collected heap, and the end.
    pub(super) fn send_rest(&self, info: Info, copy: &mut Copy) {
        // Which runtimes tell frozen objects with the others is no part of their interface.
        let frozen = copy.frozen;
        let frozen = frozen.get(..copy.frozen_count).unwrap_or_default();
        for (range, _) in frozen.iter().filter(|(_, seen)| !seen) {
            // SAFETY: the runtime's own range.
            unsafe { copy.frozen(info, *range) };
        }
        copy.objects.flush(&mut copy.output);
        copy.send_texts();
        self.send_ranges(info, copy, frozen);
        let kept = self.graph.kept.all();
        copy.send_roots(kept);
        for entry in kept.iter().filter(|entry| entry.dependent != 0) {
            const DEPENDENT: u8 = 1;
            copy.add_edge(entry.object, entry.dependent, DEPENDENT, entry.id);
        }
        copy.send_edges();
        copy.send_methods(info, kept);
        copy.send_end(self.graph.kept.missing());
    }

    /// Reads where the frozen objects are, before the walk.
    pub(super) fn read_frozen(&self, info: Info, copy: &mut Copy) {
        let mut ranges = [HeapRange { start: 0, length: 0, reserved: 0 }; FROZEN_RANGES];
        if self.names.knows_frozen.load(SeqCst) {
            // SAFETY: the interface is an `ICorProfilerInfo14`.
            let count = unsafe { info.frozen_bounds(&mut ranges) }.unwrap_or(0);
            copy.frozen_count = count.min(FROZEN_RANGES);
            for (place, range) in copy.frozen.iter_mut().zip(ranges) {
                *place = (range, false);
            }
        }
    }

    fn send_ranges(&self, info: Info, copy: &mut Copy, frozen: &[(HeapRange, bool)]) {
        self.bounds.read(info);
        let generations = self.bounds.ranges().iter().map(|range| {
            (u8::try_from(range.generation).unwrap_or(u8::MAX), [range.start, range.length, range.reserved])
        });
        let frozen = frozen.iter().map(|(range, _)| (FROZEN, [range.start, range.length, range.reserved]));
        let mut count = 0_u64;
        copy.rows.clear();
        for (generation, numbers) in generations.chain(frozen) {
            copy.rows.u8(generation);
            numbers.iter().for_each(|number| copy.rows.varint(*number as u64));
            count = count.saturating_add(1);
            if count >= MANY as u64 {
                copy.send_rows(kind::RANGES, &mut count);
            }
        }
        copy.send_rows(kind::RANGES, &mut count);
    }
}

impl Copy {
    /// Takes the objects of a range that the collector never touches. They lie one behind the other.
    ///
    /// # Safety
    /// The runtime has such a range.
    unsafe fn frozen(&mut self, info: Info, range: HeapRange) {
        const WORD: usize = size_of::<usize>();
        let end = range.start.saturating_add(range.length);
        let mut at = range.start;
        while at.saturating_add(3 * WORD) <= end {
            // SAFETY: within the range, and aligned.
            if unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() } == 0 {
                return;
            }
            // SAFETY: an object begins at the first address of the range and at the end of each object before it.
            let (Ok(class), Ok(bytes)) = (unsafe { info.class_of(at) }, unsafe { info.object_size(at) })
            else {
                return;
            };
            // SAFETY: as above.
            if bytes == 0 || class == 0 || !unsafe { self.object(info, at, class, None) } {
                return;
            }
            at = at.saturating_add(bytes.div_ceil(WORD).saturating_mul(WORD));
        }
    }

    fn send_rows(&mut self, message: u8, count: &mut u64) {
        if *count > 0 {
            let mut head = Head::default();
            head.varint(*count);
            self.output.send(message, head.bytes(), self.rows.bytes());
        }
        self.rows.clear();
        *count = 0;
    }

    pub(super) fn send_texts(&mut self) {
        let Some(texts) = &mut self.texts else { return };
        if self.text_count > 0 {
            let mut head = Head::default();
            head.varint(self.text_count);
            self.output.send(kind::TEXTS, head.bytes(), texts.bytes());
        }
        texts.clear();
        self.text_count = 0;
    }

    pub(super) fn send_edges(&mut self) {
        if self.edge_count > 0 {
            let mut head = Head::default();
            head.varint(self.edge_count);
            self.output.send(kind::EDGES, head.bytes(), self.edges.bytes());
        }
        self.edges.clear();
        self.edge_count = 0;
    }

    fn send_roots(&mut self, kept: &[Entry]) {
        let mut count = 0_u64;
        self.rows.clear();
        for root in kept.iter().filter(|entry| entry.dependent == 0) {
            self.rows.varint(root.object as u64);
            self.rows.u8(root.kind);
            self.rows.u8(root.flags);
            self.rows.varint(root.id as u64);
            self.roots = self.roots.saturating_add(1);
            count = count.saturating_add(1);
            if count >= MANY as u64 {
                self.send_rows(kind::ROOTS, &mut count);
            }
        }
        self.send_rows(kind::ROOTS, &mut count);
    }

    /// Sends what the methods of stack roots are. Many roots in a row have the same one.
    fn send_methods(&mut self, info: Info, kept: &[Entry]) {
        let mut last = 0;
        let stack = |entry: &&Entry| entry.dependent == 0 && entry.kind == RootKind::STACK.0 && entry.id != 0;
        for root in kept.iter().filter(stack) {
            if root.id == last {
                continue;
            }
            last = root.id;
            let unnamed = Method {
                function_id: root.id as u64,
                shape: MethodShape::UNNAMED,
                class_id: 0,
                module_id: 0,
                token: 0,
                args: Ids::new(&[]),
            };
            // SAFETY: the runtime's own identifier of a method on a stack.
            let method = match unsafe { info.is_dynamic(root.id) } {
                Ok(true) => Method { shape: MethodShape::DYNAMIC, ..unnamed },
                // SAFETY: as above.
                _ => match unsafe { info.function_info(root.id, &mut []) } {
                    Ok(found) if is_definition(found.module, found.token) => Method {
                        shape: MethodShape::NAMED,
                        class_id: found.class as u64,
                        module_id: found.module as u64,
                        token: found.token,
                        ..unnamed
                    },
                    _ => unnamed,
                },
            };
            let mut bytes = [0; 64];
            if let Ok(length) = method.encode(&mut bytes) {
                self.output.send(kind::METHOD_FACTS, bytes.get(..length).unwrap_or_default(), &[]);
            }
        }
    }

    fn send_end(&mut self, missing_roots: u64) {
        // In the pause nothing was copied, and asking would take long.
        let unshared_bytes = match self.output.place {
            Place::CopyOf(_) => sys::copy::unshared_bytes(),
            Place::PauseUntil(_) => 0,
        };
        let cost = CopyCost { lived_ns: sys::tick_ns().saturating_sub(self.began_ns), unshared_bytes };
        let mut bytes = [0; 16];
        if crate::wire::graph::write(&cost, &mut bytes).is_ok() {
            self.output.send(kind::COPY_COST, &bytes, &[]);
        }
        let lost = u64::from(self.objects.overflowed() || self.rows.overflowed || self.edges.overflowed);
        let numbers = [
            self.objects.all_objects,
            self.objects.all_words.saturating_mul(8),
            self.objects.all_references,
            u64::from(self.classes.count),
            self.roots,
            self.all_edges,
            self.strings,
            self.different.saturating_add(lost),
            self.odd_sizes,
            missing_roots,
        ];
        self.rows.clear();
        numbers.iter().for_each(|number| self.rows.u64(*number));
        self.output.send(kind::END, self.rows.bytes(), &[]);
    }
}
