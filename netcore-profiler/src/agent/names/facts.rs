//! What classes and methods are. Only while something that needs them is there: an object in the
//! pause, a frame on the thread's own stack.

use core::sync::atomic::Ordering::SeqCst;

use super::known::Added;
use super::queue::Request;
use crate::agent::Profiler;
use crate::info::Info;
use crate::wire::{Class, ClassShape, Ids, Method, MethodShape, event_id};

/// How deep types made of types are followed.
const DEPTH: u32 = 6;
/// How many classes one class or method may need at once.
const MOST: u32 = 64;
/// Generic arguments that are told.
const ARGS: usize = 32;
/// Room for the facts of one.
const BYTES: usize = 64 + 8 * ARGS;

fn ids(args: &[usize]) -> [u64; ARGS] {
    let mut ids = [0; ARGS];
    for (to, from) in ids.iter_mut().zip(args) {
        *to = *from as u64;
    }
    ids
}

/// Module 0 and a token without a row stand for nothing.
pub(super) fn is_definition(module: usize, token: u32) -> bool {
    module != 0 && token & 0x00ff_ffff != 0
}

impl Profiler {
    /// Tells a class that has not been told yet, and what it is made of.
    ///
    /// # Safety
    /// `class` is a `ClassID` that cannot be unloaded meanwhile.
    pub(super) unsafe fn tell_class(&self, info: Info, class: usize) {
        // SAFETY: by the contract.
        unsafe { self.tell_classes(info, &[class], DEPTH, &mut { MOST }) };
    }

    /// # Safety
    /// As [`Profiler::tell_class`], for each that is not 0.
    unsafe fn tell_classes(&self, info: Info, classes: &[usize], depth: u32, left: &mut u32) {
        let Some(deeper) = depth.checked_sub(1) else { return };
        for class in classes.iter().copied().filter(|class| *class != 0) {
            let Some(fewer) = left.checked_sub(1) else { return };
            if self.names.known.add(class) != Added::New {
                continue;
            }
            *left = fewer;
            // SAFETY: by the contract; a class keeps those it is made of.
            unsafe { self.tell_new_class(info, class, deeper, left) };
        }
    }

    /// # Safety
    /// As [`Profiler::tell_class`].
    unsafe fn tell_new_class(&self, info: Info, class: usize, depth: u32, left: &mut u32) {
        let unknown = Class {
            class_id: class as u64,
            shape: ClassShape::UNKNOWN,
            module_id: 0,
            token: 0,
            rank: 0,
            element_class: 0,
            element_type: 0,
            args: Ids::new(&[]),
        };
        // SAFETY: by the contract.
        if let Some(array) = unsafe { info.array_class(class) } {
            self.write_class(
                &Class {
                    shape: ClassShape::ARRAY,
                    rank: u8::try_from(array.rank).unwrap_or(u8::MAX),
                    element_class: array.element_class as u64,
                    element_type: array.element_type as u8,
                    ..unknown
                },
                info,
            );
            // SAFETY: as above.
            unsafe { self.tell_classes(info, &[array.element_class], depth, left) };
            return;
        }
        let (mut args, seen) = ([0_usize; ARGS], self.names.modules.now());
        // SAFETY: as above.
        match unsafe { info.class_info(class, &mut args) } {
            Ok(found) if is_definition(found.module, found.token) => {
                let args = args.get(..(found.args as usize).min(ARGS)).unwrap_or_default();
                let ids = ids(args);
                self.write_class(
                    &Class {
                        shape: ClassShape::PLAIN,
                        module_id: found.module as u64,
                        token: found.token,
                        args: Ids::new(ids.get(..args.len()).unwrap_or_default()),
                        ..unknown
                    },
                    info,
                );
                self.ask(Request { module: found.module, token: found.token, seen });
                // SAFETY: as above.
                unsafe { self.tell_classes(info, args, depth, left) };
            }
            _ => self.write_class(&unknown, info),
        }
    }

    fn write_class(&self, class: &Class<'_>, info: Info) {
        let mut buffer = [0; BYTES];
        if let Ok(length) = class.encode(&mut buffer) {
            self.events.write_payload(info, event_id::CLASS, buffer.get(..length).unwrap_or_default());
        }
    }

    /// Tells a method that has not been told yet.
    ///
    /// # Safety
    /// `function` is 0 or a `FunctionID` that cannot be unloaded meanwhile.
    pub(super) unsafe fn tell_method(&self, info: Info, function: usize) {
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
        let (mut args, seen) = ([0_usize; ARGS], self.names.modules.now());
        // SAFETY: by the contract.
        if unsafe { info.is_dynamic(function) } == Ok(true) {
            self.write_method(&Method { shape: MethodShape::DYNAMIC, ..unnamed }, info);
            return;
        }
        // SAFETY: as above.
        match unsafe { info.function_info(function, &mut args) } {
            Ok(found) if is_definition(found.module, found.token) => {
                let args = args.get(..(found.args as usize).min(ARGS)).unwrap_or_default();
                let ids = ids(args);
                self.write_method(
                    &Method {
                        shape: MethodShape::NAMED,
                        class_id: found.class as u64,
                        module_id: found.module as u64,
                        token: found.token,
                        args: Ids::new(ids.get(..args.len()).unwrap_or_default()),
                        ..unnamed
                    },
                    info,
                );
                self.ask(Request { module: found.module, token: found.token, seen });
                // SAFETY: as above; a method keeps its class and what it is made of.
                unsafe {
                    self.tell_class(info, found.class);
                    self.tell_classes(info, args, DEPTH, &mut { MOST });
                }
            }
            _ => self.write_method(&unnamed, info),
        }
    }

    pub(super) fn write_method(&self, method: &Method<'_>, info: Info) {
        let mut buffer = [0; BYTES];
        if let Ok(length) = method.encode(&mut buffer) {
            self.events.write_payload(info, event_id::METHOD, buffer.get(..length).unwrap_or_default());
        }
    }

    /// Asks for a definition's name. Where the queue is full it stays without for now.
    pub(super) fn ask(&self, request: Request) {
        if !self.names.queue.put(request) {
            self.names.missed.store(true, SeqCst);
        }
    }
}
