//! Who asked for a collection, and who allocated: the call stacks of the runtime's events, with names.
//!
//! A stack is a list of addresses. Their names come at the end of the session: the runtime then lists all methods that
//! are there (the rundown). This is the way that disturbs the target least. It costs nothing until the session ends, and
//! it works for a program that ends by itself, whose runtime ends the session in the same way. Measured with the C#
//! compiler (16,000 methods) as the target: 6 MB more in the stream, and no difference in its run time that is larger than
//! the noise between runs (n = 5). What was considered instead:
//!
//! - A second session that only takes the rundown when there is something to name. Its events would not be in the
//!   recording, and a program that has ended cannot be asked.
//! - MethodLoad events with names. The code of the framework is compiled ahead and has none, and at the level that has
//!   names each compilation of a method has three events: 11 MB for the C# compiler.
//! - The profiler, which knows functions by address. It switches background GC off.
//!
//! The list does not say since when a method is at its address, and code that is freed makes room for other code. So the
//! session also has the few events of methods that are freed and of assemblies that are unloaded: the stacks from before
//! never meet the code that comes later. Where ticks are asked for (.NET 8 and 9), the events of freed methods would come
//! with three for each compilation; without them, a dynamic method may be taken for another one, which has the same name.

mod addresses;
mod code_events;
mod frame;

use addresses::{AddressNumber, Addresses};
use code_events::{CodeEvent, NamedCode};
use frame::{Method, Owner, STUB};

use super::map::HashMap;
use super::names::framework;

pub(crate) use frame::{Caller, UNKNOWN};

/// Different stacks that are kept.
const MAX_STACKS: usize = 1 << 14;
/// The innermost frames of a stack that are kept.
const MAX_FRAMES: usize = 64;
/// Modules that are kept. Programs have some 100.
const MAX_MODULES: usize = 1 << 14;

/// The namespace of event tracing.
const TRACING: &str = "System.Diagnostics.Tracing.";

/// The number of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StackNumber(u32);

/// The stacks of a watch.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    addresses: Addresses,
    numbers: HashMap<Box<[AddressNumber]>, StackNumber>,
    stacks: Vec<Box<[AddressNumber]>>,
    /// Whether a module is of the shared framework.
    modules: HashMap<u64, bool>,
    /// The runtime has listed methods.
    listed: bool,
}

impl Callers {
    /// Keeps the stack of an event; `None`: it has none, or there are too many.
    pub(crate) fn stack(&mut self, stack: &[u8], pointer_size: u32) -> Option<StackNumber> {
        let size = if pointer_size == 4 { 4 } else { 8 };
        let mut frames = Vec::with_capacity((stack.len() / size).min(MAX_FRAMES));
        for bytes in stack.chunks_exact(size).take(MAX_FRAMES) {
            let mut address = [0; 8];
            address[..size].copy_from_slice(bytes);
            frames.push(self.addresses.number(u64::from_le_bytes(address))?);
        }
        if frames.is_empty() {
            return None;
        }
        if let Some(number) = self.numbers.get(&*frames) {
            return Some(*number);
        }
        if self.stacks.len() >= MAX_STACKS {
            return None;
        }
        let number = StackNumber(self.stacks.len() as u32);
        let frames: Box<[AddressNumber]> = frames.into();
        self.stacks.push(frames.clone());
        self.numbers.insert(frames, number);
        Some(number)
    }

    /// Takes in an event of the runtime's provider.
    pub(crate) fn runtime_event(&mut self, id: u32, payload: &[u8], at_ns: u64) {
        if let Some(event) = code_events::of_runtime(id, payload) {
            self.code(event, at_ns);
        }
    }

    /// Takes in an event of the rundown.
    pub(crate) fn rundown_event(&mut self, id: u32, payload: &[u8], at_ns: u64) {
        if let Some(event) = code_events::of_rundown(id, payload) {
            self.code(event, at_ns);
        }
    }

    fn code(&mut self, event: CodeEvent, at_ns: u64) {
        match event {
            CodeEvent::Unloaded(range, named) => {
                if let Some(named) = named {
                    self.name(&named);
                }
                self.addresses.replaced(range);
            }
            CodeEvent::AssemblyUnloaded => self.addresses.unloaded(at_ns),
            CodeEvent::There(named) => {
                if !self.listed {
                    self.addresses.listed(at_ns);
                }
                self.listed = true;
                self.name(&named);
            }
            CodeEvent::Module { id, path } => {
                if self.modules.len() < MAX_MODULES {
                    self.modules.insert(id, framework(&path));
                }
            }
        }
    }

    fn name(&mut self, named: &NamedCode) {
        if !self.addresses.wanted(named.range) {
            return;
        }
        let known = self.modules.get(&named.module).copied();
        let method = named.method(known.unwrap_or_else(|| named.of.starts_with("System.")));
        let method = match known {
            _ if method.is_stub() => Method { name: STUB.into(), owner: Owner::Framework },
            Some(true) => Method { name: method.text(), owner: Owner::Framework },
            Some(false) => Method { name: method.text(), owner: Owner::Program },
            None => Method { name: method.text(), owner: Owner::Module(named.module) },
        };
        self.addresses.name(named.range, &method);
    }

    /// No more events come. Modules may have been told after their methods.
    pub(crate) fn end(&mut self) {
        for method in self.addresses.methods_mut() {
            if let Owner::Module(id) = method.owner
                && let Some(framework) = self.modules.get(&id)
            {
                method.owner = if *framework { Owner::Framework } else { Owner::Program };
            }
        }
    }

    /// Whether the runtime has listed its methods. Where it did not, no stack has names.
    pub(crate) fn listed(&self) -> bool {
        self.listed
    }

    /// It is the runtime's event tracing, which gcwatch's session uses: no frame is the program's.
    pub(crate) fn is_event_tracing(&self, stack: StackNumber) -> bool {
        self.own(stack) == Caller::Framework
            && self.frames(stack).flatten().any(|method| method.name.starts_with(TRACING))
    }

    /// The method of the program that is named for what happened at this stack.
    pub(crate) fn own(&self, stack: StackNumber) -> Caller {
        frame::own(self.frames(stack))
    }

    /// The method that called the class `GC`.
    pub(crate) fn outside_gc(&self, stack: StackNumber) -> Caller {
        frame::outside_gc(self.frames(stack))
    }

    /// The innermost frame.
    pub(crate) fn innermost(&self, stack: StackNumber) -> Caller {
        match self.frames(stack).next() {
            Some(Some(method)) => Caller::Method(method.name.clone()),
            Some(None) => Caller::Unknown,
            None => Caller::Framework,
        }
    }

    fn frames(&self, stack: StackNumber) -> impl Iterator<Item = Option<&Method>> {
        let frames = self.stacks.get(stack.0 as usize).map_or(&[][..], |frames| frames);
        frames.iter().map(|number| self.addresses.method(*number))
    }
}

#[cfg(test)]
mod tests;
