//! Reports classes and methods by module, token and type arguments. Only while something keeps them loaded: an object
//! during the pause, or a frame on the calling thread's stack.

use core::sync::atomic::Ordering::SeqCst;

use super::known::Added;
use super::queue::Request;
use crate::agent::profiler::Profiler;
use crate::info::{Info, is_definition};
use crate::wire::{Class, ClassShape, Ids, Method, MethodShape};

/// How deep type arguments and element types are followed.
const MAX_DEPTH: u32 = 6;
/// How many classes one report may take along.
const MAX_CLASSES: u32 = 64;
/// How many type arguments are reported.
const MAX_ARGS: usize = 32;
/// Room for one event.
const BYTES: usize = 64 + 8 * MAX_ARGS;

fn ids(args: &[usize]) -> [u64; MAX_ARGS] {
    let mut ids = [0; MAX_ARGS];
    for (to, from) in ids.iter_mut().zip(args) {
        *to = *from as u64;
    }
    ids
}

impl Profiler {
    /// Sends a class that was not sent yet, with its type arguments and element type.
    ///
    /// # Safety
    /// `class` is a `ClassID` that cannot be unloaded meanwhile.
    pub(super) unsafe fn report_class(&self, info: Info, class: usize) {
        // SAFETY: by the contract.
        unsafe { self.report_classes(info, &[class], MAX_DEPTH, &mut { MAX_CLASSES }) };
    }

    /// # Safety
    /// As [`Profiler::report_class`], for each that is not 0.
    unsafe fn report_classes(&self, info: Info, classes: &[usize], depth: u32, left: &mut u32) {
        let Some(deeper) = depth.checked_sub(1) else { return };
        for class in classes.iter().copied().filter(|class| *class != 0) {
            let Some(fewer) = left.checked_sub(1) else { return };
            if self.names.known.add(class) != Added::New {
                continue;
            }
            *left = fewer;
            // SAFETY: by the contract; a class keeps its type arguments and element type loaded.
            unsafe { self.report_new_class(info, class, deeper, left) };
        }
    }

    /// # Safety
    /// As [`Profiler::report_class`].
    unsafe fn report_new_class(&self, info: Info, class: usize, depth: u32, left: &mut u32) {
        let unknown = Class::unknown(class as u64);
        // SAFETY: by the contract.
        if let Some(array) = unsafe { info.array_class(class) } {
            let class = Class {
                shape: ClassShape::ARRAY,
                rank: u8::try_from(array.rank).unwrap_or(u8::MAX),
                element_class: array.element_class as u64,
                element_type: array.element_type as u8,
                ..unknown
            };
            self.events.send::<BYTES>(info, &class);
            // SAFETY: as above.
            unsafe { self.report_classes(info, &[array.element_class], depth, left) };
            return;
        }
        let (mut args, seen) = ([0_usize; MAX_ARGS], self.names.modules.now());
        // SAFETY: as above.
        match unsafe { info.class_info(class, &mut args) } {
            Ok(found) if is_definition(found.module, found.token) => {
                let args = args.get(..(found.args as usize).min(MAX_ARGS)).unwrap_or_default();
                let ids = ids(args);
                let class = Class {
                    shape: ClassShape::PLAIN,
                    module_id: found.module as u64,
                    token: found.token,
                    args: Ids::new(ids.get(..args.len()).unwrap_or_default()),
                    ..unknown
                };
                self.events.send::<BYTES>(info, &class);
                self.request_name(Request { module: found.module, token: found.token, seen });
                // SAFETY: as above.
                unsafe { self.report_classes(info, args, depth, left) };
            }
            _ => self.events.send::<BYTES>(info, &unknown),
        }
    }

    /// Sends a method that was not sent yet.
    ///
    /// # Safety
    /// `function` is 0 or a `FunctionID` that cannot be unloaded meanwhile.
    pub(super) unsafe fn report_method(&self, info: Info, function: usize) {
        if function == 0 || self.names.known.add(function) != Added::New {
            return;
        }
        let unnamed = Method {
            function_id: function as u64,
            shape: MethodShape::UNNAMED,
            class_id: 0,
            module_id: 0,
            token: 0,
            args: Ids::new(&[]),
        };
        let (mut args, seen) = ([0_usize; MAX_ARGS], self.names.modules.now());
        // SAFETY: by the contract.
        if unsafe { info.is_dynamic(function) } == Ok(true) {
            self.events.send::<BYTES>(info, &Method { shape: MethodShape::DYNAMIC, ..unnamed });
            return;
        }
        // SAFETY: as above.
        match unsafe { info.function_info(function, &mut args) } {
            Ok(found) if is_definition(found.module, found.token) => {
                let args = args.get(..(found.args as usize).min(MAX_ARGS)).unwrap_or_default();
                let ids = ids(args);
                let method = Method {
                    shape: MethodShape::NAMED,
                    class_id: found.class as u64,
                    module_id: found.module as u64,
                    token: found.token,
                    args: Ids::new(ids.get(..args.len()).unwrap_or_default()),
                    ..unnamed
                };
                self.events.send::<BYTES>(info, &method);
                self.request_name(Request { module: found.module, token: found.token, seen });
                // SAFETY: as above; a method keeps its class and its type arguments loaded.
                unsafe {
                    self.report_class(info, found.class);
                    self.report_classes(info, args, MAX_DEPTH, &mut { MAX_CLASSES });
                }
            }
            _ => self.events.send::<BYTES>(info, &unnamed),
        }
    }

    /// Asks our thread for the name of a definition. If the queue is full, it is asked for again later.
    pub(super) fn request_name(&self, request: Request) {
        if !self.names.queue.put(request) {
            self.names.request_dropped.store(true, SeqCst);
        }
    }
}
