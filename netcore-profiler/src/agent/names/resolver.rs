//! Our thread `gcwatch-names`: reads the names of definitions, and sends them.

use core::sync::atomic::Ordering::SeqCst;

use super::queue::Request;
use crate::agent::profiler::{Phase, Profiler};
use crate::agent::text::utf16;
use crate::hresult::{HResult, S_OK, succeeded};
use crate::info::Info;
use crate::metadata::Metadata;
use crate::sys;
use crate::wire::{DefStatus, MAX_TEXT_UNITS, MethodDef, Module, NamesDone, Text, Texts, TypeDef};

/// How long the thread waits if nobody wakes it.
const WAIT_MS: u32 = 1000;
/// Kinds of tokens (`CorTokenType`).
const TYPE: u32 = 0x02;
const METHOD: u32 = 0x06;
/// One more than is sent, so that a longer name is noticed, and the runtime's terminating zero.
const NAME_UNITS: usize = MAX_TEXT_UNITS + 2;
/// How many generic parameters are named, and the longest name of one.
const PARAMS: usize = 32;
const PARAM_UNITS: usize = 64;
/// How many levels of nested types are named.
const NESTED: usize = 16;
/// Token of a request for the whole module.
const MODULE: u32 = 0;
/// Room for the largest definition.
pub(in crate::agent) const BYTES: usize = 64 + 2 * NAME_UNITS + PARAMS * (2 + 2 * PARAM_UNITS);

/// Names of generic parameters.
struct Params {
    names: [[u16; PARAM_UNITS]; PARAMS],
    lengths: [usize; PARAMS],
    count: usize,
}

impl Params {
    const fn new() -> Self {
        Self { names: [[0; PARAM_UNITS]; PARAMS], lengths: [0; PARAMS], count: 0 }
    }

    fn read(&mut self, metadata: &Metadata, token: u32) {
        let mut tokens = [0; PARAMS];
        let tokens = metadata.generic_params(token, &mut tokens);
        for ((token, name), length) in tokens.iter().zip(&mut self.names).zip(&mut self.lengths) {
            *length = metadata.param_name(*token, name).unwrap_or(0);
        }
        self.count = tokens.len();
    }

    fn texts(&self) -> [Text<'_>; PARAMS] {
        let mut texts = [Text::new(&[]); PARAMS];
        for ((text, name), length) in texts.iter_mut().zip(&self.names).zip(self.lengths) {
            *text = Text::new(name.get(..length).unwrap_or_default());
        }
        texts
    }
}

/// Writes a type's name with those of its enclosing types; returns the length.
fn full_name(metadata: &Metadata, token: u32, name: &mut [u16]) -> Option<usize> {
    let mut chain = [token; NESTED];
    let mut depth = 1_usize;
    while let (Some(inner), Some(free)) = (chain.get(depth.wrapping_sub(1)).copied(), chain.get_mut(depth)) {
        let Some(outer) = metadata.enclosing_type(inner) else { break };
        *free = outer;
        depth = depth.saturating_add(1);
    }
    let mut length = 0_usize;
    for (index, token) in chain.get(..depth)?.iter().rev().enumerate() {
        if index > 0 {
            let Some(plus) = name.get_mut(length) else { break };
            *plus = u16::from(b'+');
            length = length.saturating_add(1);
        }
        let part = metadata.type_name(*token, name.get_mut(length..)?).ok()?;
        length = length.saturating_add(part);
    }
    Some(length)
}

impl Profiler {
    /// Serves requests until the profiler leaves.
    pub(super) fn resolve_names(&self) {
        let names = &self.names;
        if let Some(info) = self.info_to_name() {
            self.find_helpers_in_loaded_modules(info);
        }
        loop {
            let wakeups = names.wakeups.load(SeqCst);
            let Some(info) = self.answer_requests() else { return };
            self.stop_handle_storm();
            self.search_statics(info);
            sys::wait_while(&names.wakeups, wakeups, WAIT_MS);
        }
    }

    /// Serves all requests, and sends `NamesDone` if asked to. `None`: the profiler is leaving.
    pub(super) fn answer_requests(&self) -> Option<Info> {
        let names = &self.names;
        let requested = names.done_requested.load(SeqCst);
        while let Some(request) = names.queue.take() {
            let info = self.info_to_name()?;
            if names.resend.swap(false, SeqCst) {
                names.definitions.forget();
            }
            self.resolve(info, request);
            names.served.fetch_add(1, SeqCst);
            self.stop_handle_storm();
        }
        let info = self.info_to_name()?;
        if requested > names.done_sent.fetch_max(requested, SeqCst) {
            self.events.send::<8>(info, &NamesDone { gc_seq: requested });
        }
        Some(info)
    }

    fn resolve(&self, info: Info, request: Request) {
        match request.token >> 24 {
            TYPE => self.resolve_type(info, request),
            METHOD => self.resolve_method(info, request),
            _ => self.find_helpers_in(info, request),
        }
    }

    /// Reads a definition behind the gate. Nothing is sent there. `None`: it was sent before, and is wanted once.
    fn read(
        &self,
        info: Info,
        request: Request,
        once: bool,
        read: impl FnOnce(&Metadata) -> Option<()>,
    ) -> Option<DefStatus> {
        let status = self.with_module(request, |unloaded_at| {
            if once && !self.names.definitions.add(request.module, request.token, unloaded_at) {
                return None;
            }
            // SAFETY: the module was loaded when it was seen and has not been unloaded since; the gate keeps it loaded
            // until this returns.
            let metadata = unsafe { Metadata::of(info, request.module) };
            let found = metadata.ok().and_then(|metadata| read(&metadata));
            Some(if found.is_some() { DefStatus::OK } else { DefStatus::UNREADABLE })
        });
        status.unwrap_or(Some(DefStatus::UNLOADED))
    }

    /// Sends a module before the first of its definitions.
    fn resolve_module(&self, info: Info, request: Request) {
        self.describe_module(info, request, true, |module| self.events.send::<BYTES>(info, module));
    }

    /// Passes a module on.
    pub(in crate::agent) fn describe_module(
        &self,
        info: Info,
        request: Request,
        once: bool,
        send: impl FnOnce(&Module<'_>),
    ) {
        let mut path = [0; NAME_UNITS];
        let found = self.with_module(request, |unloaded_at| {
            let wanted = !once || self.names.definitions.add(request.module, 0, unloaded_at);
            // SAFETY: as in `read`.
            wanted.then(|| unsafe { info.module_info(request.module, &mut path) })
        });
        if let Some(Some(Ok(found))) = found {
            let path = Text::new(path.get(..found.length).unwrap_or_default());
            send(&Module { module_id: request.module as u64, flags: found.flags, path });
        }
    }

    pub(super) fn resolve_type(&self, info: Info, request: Request) {
        self.resolve_module(info, request);
        self.describe_type(info, request, true, |def| self.events.send::<BYTES>(info, def));
    }

    /// Passes a type on.
    pub(in crate::agent) fn describe_type(
        &self,
        info: Info,
        request: Request,
        once: bool,
        send: impl FnOnce(&TypeDef<'_>),
    ) {
        let (mut name, mut length, mut params) = ([0; NAME_UNITS], 0, Params::new());
        let status = self.read(info, request, once, |metadata| {
            length = full_name(metadata, request.token, &mut name)?;
            params.read(metadata, request.token);
            Some(())
        });
        let Some(status) = status else { return };
        let texts = params.texts();
        let def = TypeDef {
            module_id: request.module as u64,
            token: request.token,
            status,
            name: Text::new(name.get(..length).unwrap_or_default()),
            params: Texts::new(texts.get(..params.count).unwrap_or_default()),
        };
        send(&def);
    }

    fn resolve_method(&self, info: Info, request: Request) {
        let of_type = |token| self.resolve_type(info, Request { token, ..request });
        self.describe_method(info, request, true, of_type, |def| self.events.send::<BYTES>(info, def));
    }

    /// Passes a method on; before it, the token of its type.
    pub(in crate::agent) fn describe_method(
        &self,
        info: Info,
        request: Request,
        once: bool,
        of_type: impl FnOnce(u32),
        send: impl FnOnce(&MethodDef<'_>),
    ) {
        const MOVE_NEXT: [u16; 9] = utf16("MoveNext");
        const SET_STATE_MACHINE: [u16; 16] = utf16("SetStateMachine");
        let (mut name, mut length, mut params) = ([0; NAME_UNITS], 0, Params::new());
        let (mut type_token, mut is_async) = (0, false);
        let status = self.read(info, request, once, |metadata| {
            let method = metadata.method(request.token, &mut name).ok()?;
            (type_token, length) = (method.type_token, method.length);
            params.read(metadata, request.token);
            is_async = name.get(..MOVE_NEXT.len()) == Some(&MOVE_NEXT)
                && metadata.has_method(type_token, &SET_STATE_MACHINE);
            Some(())
        });
        let Some(status) = status else { return };
        if type_token != 0 {
            of_type(type_token);
        }
        let texts = params.texts();
        let def = MethodDef {
            module_id: request.module as u64,
            token: request.token,
            status,
            type_token,
            name: Text::new(name.get(..length).unwrap_or_default()),
            is_async,
            params: Texts::new(texts.get(..params.count).unwrap_or_default()),
        };
        send(&def);
    }

    /// `ModuleLoadFinished`.
    pub(crate) fn module_load_finished(&self, module: usize, result: HResult) -> HResult {
        if succeeded(result) && self.info().is_some() && self.names.are_on() {
            self.names.schedule.hasten();
            if !self.names.allocating_methods.knows_helpers() {
                self.request_name(Request { module, token: MODULE, seen: self.names.modules.now() });
                self.names.wake();
            }
        }
        S_OK
    }

    /// Searches the modules that were loaded before the profiler.
    fn find_helpers_in_loaded_modules(&self, info: Info) {
        let seen = self.names.modules.now();
        let Ok(modules) = info.modules() else { return };
        while let Some(module) = modules.next() {
            if self.info_to_name().is_none() {
                return;
            }
            self.find_helpers_in(info, Request { module, token: MODULE, seen });
        }
    }

    /// Searches a module for helpers, while they are not known.
    fn find_helpers_in(&self, info: Info, request: Request) {
        if !self.names.allocating_methods.knows_helpers() {
            self.with_module(request, |_| {
                // SAFETY: as in `read`.
                if let Ok(metadata) = unsafe { Metadata::of(info, request.module) } {
                    self.find_helpers(request.module, &metadata);
                }
            });
        }
    }

    /// Does something behind the gate, unless the module was unloaded. `action` gets the stamp of the last unload at
    /// the module's address.
    pub(in crate::agent) fn with_module<T>(
        &self,
        request: Request,
        action: impl FnOnce(u64) -> T,
    ) -> Option<T> {
        let _inside = self.names.gate.enter();
        let unloaded_at = self.names.modules.unloaded_at(request.module);
        (request.seen >= unloaded_at && self.phase() == Phase::ACTIVE).then(|| action(unloaded_at))
    }
}
