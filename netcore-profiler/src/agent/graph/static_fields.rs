//! Which static fields refer to objects, and where they are. Answered while the program runs.
//!
//! A class has static fields if it is initialised. It then has objects, which are in the graph, or compiled methods, or
//! both: gcwatch asks for the static fields of the classes of the graph, and for those of all compiled methods. To ask
//! the runtime for a class by its token would load the class, which a profiler must not cause.

use core::sync::atomic::Ordering::SeqCst;

use crate::agent::names::known::Added;
use crate::agent::names::queue::Request;
use crate::agent::names::resolver::BYTES;
use crate::agent::names::static_search::is_wanted;
use crate::agent::profiler::Profiler;
use crate::info::{Info, is_definition};
use crate::metadata::Metadata;
use crate::sys::Lease;
use crate::wire::graph::{Ask, kind};
use crate::wire::{FieldDef, MAX_TEXT_UNITS, Payload, Text};

/// How many static fields of one class are told.
const MAX_FIELDS: usize = 512;

impl Profiler {
    /// Sends the static fields of all classes with compiled methods; `false`: nobody reads them. A method that was
    /// listed may be unloaded before it is looked at, so nothing is sent where modules can be unloaded.
    pub(super) fn answer_statics(&self, info: Info, connection: Lease) -> bool {
        let seen = self.names.seen_now();
        let Ok(methods) = info.compiled_methods() else { return true };
        if !self.no_module_can_be_unloaded(info) {
            return true;
        }
        while let Some(function) = methods.next() {
            let found = self.with_module(Request { module: 0, token: 0, seen }, |_| {
                let stays = self.names.seen_now() == seen;
                // SAFETY: behind the gate, and no module has begun to be unloaded since the method was listed.
                stays.then(|| unsafe { info.function_info(function, &mut []) }.ok())
            });
            let Some(Some(found)) = found else { return true };
            let Some(method) = found.filter(|method| method.class != 0) else { continue };
            if !self.send_statics_of(
                info,
                connection,
                method.class,
                Request { module: method.module, token: 0, seen },
            ) {
                return false;
            }
        }
        true
    }

    /// Sends the static fields of a class of the graph; `false`: nobody reads them.
    pub(super) fn answer_statics_of(&self, info: Info, connection: Lease, ask: Ask) -> bool {
        let seen = self.graph.seen.load(SeqCst);
        let request = Request { module: ask.module_id as usize, token: ask.token, seen };
        self.send_statics_of(info, connection, ask.class_id as usize, request)
    }

    /// Sends the static fields of a class, unless they were sent before. `module`: the class's own, as it was seen.
    fn send_statics_of(&self, info: Info, connection: Lease, class: usize, module: Request) -> bool {
        if self.graph.classes.add(class) != Added::New {
            return true;
        }
        let (mut all, mut count, mut type_token) = ([0; MAX_FIELDS], 0, 0);
        self.with_module(module, |_| {
            // SAFETY: behind the gate, and the class's module was not unloaded since the class was seen.
            let Ok(found) = (unsafe { info.class_info(class, &mut []) }) else { return };
            // The runtime does not tell the static fields of generic classes.
            if found.args != 0 || found.module != module.module || !is_definition(found.module, found.token) {
                return;
            }
            type_token = found.token;
            // SAFETY: as above.
            if let Ok(metadata) = unsafe { Metadata::of(info, module.module) } {
                count = metadata.fields(type_token, &mut all).len();
            }
        });
        all.get(..count).unwrap_or_default().iter().all(|token| {
            let request = Request { token: *token, ..module };
            self.send_static(info, connection, class, type_token, request)
        })
    }

    /// Sends a field, if it is static, refers to an object, and has its place.
    fn send_static(
        &self,
        info: Info,
        connection: Lease,
        class: usize,
        type_token: u32,
        field: Request,
    ) -> bool {
        let (mut bytes, mut length) = ([0; BYTES], 0);
        self.with_module(field, |_| {
            // SAFETY: behind the gate, and the class's module was not unloaded since the class was seen.
            let Ok(metadata) = (unsafe { Metadata::of(info, field.module) }) else { return };
            if !is_wanted(&metadata, field.token) {
                return;
            }
            // SAFETY: as above.
            let domain = unsafe { info.domain_of(field.module) }.unwrap_or(0);
            // SAFETY: as above. The class is a definition. The runtime refuses it if it is not initialised.
            let slot = unsafe { info.static_address(class, field.token, domain) }.unwrap_or(0);
            if slot == 0 || !slot.is_multiple_of(size_of::<usize>()) {
                return;
            }
            let mut name = [0; MAX_TEXT_UNITS + 1];
            let units = metadata.field(field.token, &mut name).map_or(0, |found| found.length);
            let def = FieldDef {
                field: self.graph.statics.fetch_add(1, SeqCst),
                module_id: field.module as u64,
                type_token,
                token: field.token,
                slot: slot as u64,
                thread_static: false,
                name: Text::new(name.get(..units).unwrap_or_default()),
            };
            length = def.encode(&mut bytes).unwrap_or(0);
        });
        length == 0 || self.reply(connection, kind::STATIC, bytes.get(..length).unwrap_or_default())
    }
}
