//! Searches for static fields, on our own thread: at most once a second, less often while nothing new is found, and
//! only if there was a collection since.
//!
//! Asking the runtime for a class by its token would load the class, which a profiler must not cause. But a class whose
//! static fields refer to anything has run code. So we list the compiled methods of the process and take their classes.
//! Nothing that was listed may be unloaded meanwhile, so we search only where no module can be unloaded: none was so
//! far, and none that is loaded is collectible. A module whose unloading has begun is no longer listed among the loaded
//! ones, though its methods still are among the compiled ones: so each method is looked up behind the gate, and only
//! classes of modules that cannot be unloaded are followed.

use core::sync::atomic::Ordering::SeqCst;

use super::queue::Request;
use super::resolver::BYTES;
use super::statics::{Found, is_reference};
use crate::agent::profiler::Profiler;
use crate::info::{Info, is_definition};
use crate::metadata::Metadata;
use crate::sys;
use crate::wire::{FieldDef, MAX_TEXT_UNITS, Text};

/// `COR_PRF_MODULE_COLLECTIBLE`.
const COLLECTIBLE: u32 = 8;
/// How many fields of one class are looked at.
const MAX_FIELDS: usize = 64;
/// Room for a field's name or a module's path.
const UNITS: usize = MAX_TEXT_UNITS + 1;

/// Whether the path is that of a framework module.
fn is_framework(path: &[u16]) -> bool {
    const PART: &str = "Microsoft.NETCore.App";
    let mut windows = path.windows(PART.len());
    windows.any(|window| window.iter().copied().eq(PART.bytes().map(u16::from)))
}

impl Profiler {
    /// Searches for static fields that are not known yet, if a search is due.
    pub(super) fn search_statics(&self, info: Info) {
        let schedule = &self.names.schedule;
        let (now_ns, gc_seq) = (sys::tick_ns(), self.collection.seq());
        if !schedule.is_due(now_ns, gc_seq) || self.names.fields.is_full() {
            return;
        }
        let before = self.names.fields.count();
        let _ = self.search_methods(info);
        schedule.searched(sys::tick_ns(), gc_seq, self.names.fields.count() != before);
    }

    /// Whether no module can be unloaded: none was since loading, and none that is loaded is collectible.
    pub(in crate::agent) fn no_module_can_be_unloaded(&self, info: Info) -> bool {
        let seen = self.names.modules.now();
        if seen != self.names.schedule.unloads.load(SeqCst) {
            return false;
        }
        let Ok(modules) = info.modules() else { return false };
        while let Some(module) = modules.next() {
            let collectible = self.with_module(Request { module, token: 0, seen }, |_| {
                // SAFETY: behind the gate.
                let found = unsafe { info.module_info(module, &mut []) };
                found.is_ok_and(|found| found.flags & COLLECTIBLE != 0)
            });
            if collectible.unwrap_or(true) {
                return false;
            }
        }
        seen == self.names.modules.now()
    }

    fn search_methods(&self, info: Info) -> Option<()> {
        let methods = info.compiled_methods().ok()?;
        if !self.no_module_can_be_unloaded(info) {
            return None;
        }
        while let Some(function) = methods.next() {
            // Names that gcwatch waits for come first.
            self.answer_requests()?;
            if self.names.fields.is_full() {
                return None;
            }
            let wanted = {
                let _inside = self.names.gate.enter();
                if self.names.modules.now() != self.names.schedule.unloads.load(SeqCst) {
                    return None;
                }
                // SAFETY: no module is being unloaded, and the gate keeps it that way. The runtime reuses dynamic
                // methods, but does not free them.
                unsafe { self.class_to_search(info, function) }
            };
            if let Some((class, request)) = wanted {
                // SAFETY: a class without type arguments in a module that is not collectible.
                if unsafe { self.search_class(info, class, request) } {
                    self.names.searched_classes.add(class, 0, 0);
                }
            }
        }
        Some(())
    }

    /// The class of a method, unless it was searched before or need not be. The class can never be unloaded.
    ///
    /// # Safety
    /// `function` is a `FunctionID` that cannot be unloaded meanwhile.
    unsafe fn class_to_search(&self, info: Info, function: usize) -> Option<(usize, Request)> {
        let seen = self.names.modules.now();
        // SAFETY: by the contract; a method keeps its class and its module loaded.
        let method = unsafe { info.function_info(function, &mut []) }.ok()?;
        let is_new = method.class != 0
            && is_definition(method.module, method.token)
            && !self.names.searched_classes.has(method.class);
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
                self.names.searched_classes.add(method.class, 0, 0);
                None
            }
        }
    }

    /// Sends the static fields of a class. Returns whether all of them could be sent.
    ///
    /// # Safety
    /// The class and its module, which `request` names, cannot be unloaded.
    unsafe fn search_class(&self, info: Info, class: usize, request: Request) -> bool {
        let module = request.module;
        let mut fields = [0; MAX_FIELDS];
        let mut count = 0_usize;
        // SAFETY: by the contract.
        let Ok(metadata) = (unsafe { Metadata::of(info, module) }) else { return true };
        let mut all = [0; MAX_FIELDS];
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
                    self.send_field(info, request, &metadata, found);
                }
                // The class is not initialised yet.
                _ => done = false,
            }
        }
        done
    }

    /// Sends a field and adds it to the known ones.
    fn send_field(&self, info: Info, request: Request, metadata: &Metadata, found: Found) {
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
        self.events.send::<BYTES>(info, &def);
        self.names.fields.add(found);
    }
}

/// Whether it is a static field that refers to an object, and is not thread-static.
pub(in crate::agent) fn is_wanted(metadata: &Metadata, token: u32) -> bool {
    const STATIC: u32 = 0x10;
    const LITERAL: u32 = 0x40;
    const HAS_DATA: u32 = 0x100;
    metadata.field(token, &mut [0; 1]).is_ok_and(|field| {
        field.attributes & (STATIC | LITERAL | HAS_DATA) == STATIC
            && is_reference(field.signature)
            && !metadata.is_thread_static(token)
    })
}
