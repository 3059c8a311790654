//! Looking for static fields, on our own thread, and seldom: at most once a second, less often as
//! long as nothing new is found, and only while there are collections.
//!
//! Asking the runtime for a class by its token would load it, which is not for us to do. But a class
//! whose fields hold something has run code: that which was compiled in the process is listed, and
//! each method knows its class. What was listed must not go away meanwhile, so it is done only where
//! nothing can: no module has been unloaded, and none is loaded that may be. A module that is about to be unloaded is
//! no longer among the loaded ones, while its methods still are among the compiled ones: so each method is looked at
//! behind the gate, and only classes of modules that stay are followed.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::facts::is_definition;
use super::queue::Request;
use super::statics::{Found, is_reference};
use crate::agent::Profiler;
use crate::info::Info;
use crate::metadata::Metadata;
use crate::sys;
use crate::wire::{FieldDef, MAX_TEXT_UNITS, Text, event_id};

const SECOND_NS: u64 = 1_000_000_000;
/// The longest time between two looks.
const SELDOM_NS: u64 = 64 * SECOND_NS;
/// `COR_PRF_MODULE_COLLECTIBLE`.
const COLLECTIBLE: u32 = 8;
/// Fields of one class that are looked at.
const MOST: usize = 64;
/// Room for a field's name.
const UNITS: usize = MAX_TEXT_UNITS + 1;

/// When to look.
#[derive(Debug)]
pub(super) struct Schedule {
    next_ns: AtomicU64,
    wait_ns: AtomicU64,
    /// The last collection when it was looked.
    gc_seq: AtomicU64,
    /// Modules that had been unloaded when the stay began.
    unloads: AtomicU64,
}

impl Schedule {
    pub(super) const fn new() -> Self {
        Self {
            next_ns: AtomicU64::new(0),
            wait_ns: AtomicU64::new(0),
            gc_seq: AtomicU64::new(0),
            unloads: AtomicU64::new(0),
        }
    }

    pub(super) fn reset(&self, unloads: u64) {
        self.gc_seq.store(0, SeqCst);
        self.unloads.store(unloads, SeqCst);
        self.wait_ns.store(SECOND_NS, SeqCst);
        // What began to be unloaded before we came has gone by then.
        self.next_ns.store(sys::tick_ns().saturating_add(SECOND_NS), SeqCst);
    }

    /// A module was just loaded: look soon.
    pub(super) fn hasten(&self) {
        self.wait_ns.store(SECOND_NS, SeqCst);
        self.next_ns.fetch_min(sys::tick_ns().saturating_add(SECOND_NS), SeqCst);
    }

    fn is_due(&self, now_ns: u64, gc_seq: u64) -> bool {
        gc_seq != self.gc_seq.load(SeqCst) && now_ns >= self.next_ns.load(SeqCst)
    }

    fn looked(&self, now_ns: u64, gc_seq: u64, found: bool) {
        let wait_ns = self.wait_ns.load(SeqCst);
        let wait_ns = if found { SECOND_NS } else { wait_ns.saturating_mul(2).min(SELDOM_NS) };
        self.wait_ns.store(wait_ns, SeqCst);
        self.next_ns.store(now_ns.saturating_add(wait_ns), SeqCst);
        self.gc_seq.store(gc_seq, SeqCst);
    }
}

/// Whether a module belongs to the framework, by its path.
fn is_framework(path: &[u16]) -> bool {
    const PART: &str = "Microsoft.NETCore.App";
    let mut windows = path.windows(PART.len());
    windows.any(|window| window.iter().copied().eq(PART.bytes().map(u16::from)))
}

impl Profiler {
    /// Looks for static fields that are not watched yet, if it is time.
    pub(super) fn look_for_statics(&self, info: Info) {
        let schedule = &self.names.schedule;
        let (now_ns, gc_seq) = (sys::tick_ns(), self.collection.seq());
        if !schedule.is_due(now_ns, gc_seq) || self.names.fields.is_full() {
            return;
        }
        let before = self.names.fields.count();
        let _ = self.look_at_methods(info);
        schedule.looked(sys::tick_ns(), gc_seq, self.names.fields.count() != before);
    }

    /// Whether no module can go away: none has, and none is loaded that may.
    fn nothing_can_go(&self, info: Info) -> bool {
        let seen = self.names.modules.now();
        if seen != self.names.schedule.unloads.load(SeqCst) {
            return false;
        }
        let Ok(modules) = info.modules() else { return false };
        while let Some(module) = modules.next() {
            let mut collectible = true;
            self.with_module(Request { module, token: 0, seen }, || {
                // SAFETY: behind the gate.
                let found = unsafe { info.module_info(module, &mut []) };
                collectible = found.is_ok_and(|found| found.flags & COLLECTIBLE != 0);
            });
            if collectible {
                return false;
            }
        }
        seen == self.names.modules.now()
    }

    fn look_at_methods(&self, info: Info) -> Option<()> {
        let methods = info.compiled_methods().ok()?;
        if !self.nothing_can_go(info) {
            return None;
        }
        while let Some(function) = methods.next() {
            // Names that somebody waits for come first.
            self.answer_requests()?;
            if self.names.fields.is_full() {
                return None;
            }
            let wanted = {
                let _inside = self.names.gate.enter();
                if self.names.modules.now() != self.names.schedule.unloads.load(SeqCst) {
                    return None;
                }
                // SAFETY: no module has begun to go, and the gate keeps all as they are; methods made at run time are
                // used again, but not given back.
                unsafe { self.class_to_look_at(info, function) }
            };
            if let Some((class, request)) = wanted {
                // SAFETY: a class of its own in a module that stays.
                if unsafe { self.look_at_class(info, class, request) } {
                    self.names.looked.add(class, 0, 0);
                }
            }
        }
        Some(())
    }

    /// The class of a method, unless it has been looked at or need not be: a class that stays.
    ///
    /// # Safety
    /// `function` is a `FunctionID` that cannot be unloaded meanwhile.
    unsafe fn class_to_look_at(&self, info: Info, function: usize) -> Option<(usize, Request)> {
        let seen = self.names.modules.now();
        // SAFETY: by the contract; a method keeps its class and its module.
        let method = unsafe { info.function_info(function, &mut []) }.ok()?;
        let is_new = method.class != 0
            && is_definition(method.module, method.token)
            && !self.names.looked.has(method.class);
        if !is_new {
            return None;
        }
        // SAFETY: as above.
        let found = unsafe { info.class_info(method.class, &mut []) };
        let plain = found.ok().filter(|found| found.args == 0 && is_definition(found.module, found.token));
        let mut path = [0; UNITS];
        // SAFETY: as above.
        let module = plain.and_then(|found| unsafe { info.module_info(found.module, &mut path) }.ok());
        match (plain, module) {
            (Some(found), Some(module))
                if module.flags & COLLECTIBLE == 0
                    && !is_framework(path.get(..module.length).unwrap_or_default()) =>
            {
                Some((method.class, Request { module: found.module, token: found.token, seen }))
            }
            _ => {
                self.names.looked.add(method.class, 0, 0);
                None
            }
        }
    }

    /// Looks at the fields of a class, and says whether that was all.
    ///
    /// # Safety
    /// The class and its module, which `request` names, cannot be unloaded.
    unsafe fn look_at_class(&self, info: Info, class: usize, request: Request) -> bool {
        let module = request.module;
        let mut fields = [0; MOST];
        let mut count = 0_usize;
        // SAFETY: by the contract.
        let Ok(metadata) = (unsafe { Metadata::of(info, module) }) else { return true };
        let mut all = [0; MOST];
        for token in metadata.fields(request.token, &mut all).iter().copied() {
            if let Some(free) = fields.get_mut(count).filter(|_| is_wanted(&metadata, token)) {
                *free = token;
                count = count.saturating_add(1);
            }
        }
        // SAFETY: by the contract.
        let domain = unsafe { info.domain_of(module) }.unwrap_or(0);
        let mut done = true;
        for token in fields.get(..count).unwrap_or_default().iter().copied() {
            if self.names.fields.has(module, token) {
                continue;
            }
            // SAFETY: by the contract.
            match unsafe { info.static_address(class, token, domain) } {
                Ok(slot) if slot != 0 && slot.is_multiple_of(size_of::<usize>()) => {
                    let found = Found { module, type_token: request.token, token, slot };
                    self.tell_field(info, request, &metadata, found);
                }
                // The class has not been initialised.
                _ => done = false,
            }
        }
        done
    }

    /// Tells a field, and watches it from then on.
    fn tell_field(&self, info: Info, request: Request, metadata: &Metadata, found: Found) {
        if self.names.fields.is_full() {
            return;
        }
        let mut name = [0; UNITS];
        let length = metadata.field(found.token, &mut name).map_or(0, |field| field.length);
        self.resolve_type(info, request);
        let def = FieldDef {
            field: u32::try_from(self.names.fields.count()).unwrap_or(u32::MAX),
            module_id: found.module as u64,
            type_token: found.type_token,
            token: found.token,
            slot: found.slot as u64,
            thread_static: false,
            name: Text::new(name.get(..length).unwrap_or_default()),
        };
        self.write_definition(info, event_id::FIELD_DEF, |buffer| def.encode(buffer).ok());
        self.names.fields.add(found);
    }
}

/// A static field that holds a reference, one for all threads.
fn is_wanted(metadata: &Metadata, token: u32) -> bool {
    const STATIC: u32 = 0x10;
    const LITERAL: u32 = 0x40;
    const HAS_DATA: u32 = 0x100;
    metadata.field(token, &mut [0; 1]).is_ok_and(|field| {
        field.attributes & (STATIC | LITERAL | HAS_DATA) == STATIC
            && is_reference(field.signature)
            && !metadata.is_thread_static(token)
    })
}
