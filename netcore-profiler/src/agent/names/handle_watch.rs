//! The in-process session for the runtime's handle events, and what is sent about the allocation of handles.

use core::sync::atomic::Ordering::SeqCst;

use super::handles::Allocation;
use super::known::Added;
use super::pace::Verdict;
use super::queue::Request;
use crate::agent::delivered;
use crate::agent::profiler::{Profiler, profiler};
use crate::hresult::S_OK;
use crate::info::Info;
use crate::sys;
use crate::wire::{HandleKind, Ids, Method, MethodShape, NoteCode};

fn u64_at(payload: &[u8], at: usize) -> Option<u64> {
    payload.get(at..)?.split_first_chunk().map(|(bytes, _)| u64::from_le_bytes(*bytes))
}

impl Profiler {
    /// Starts the session for handle events, unless this process has allocated handles too fast before. If the runtime
    /// refuses, handles stay without an allocating method.
    pub(in crate::agent) fn start_handle_session(&self, info: Info) {
        if self.names.are_on() && !self.names.handles.pace.is_storm() {
            let session = delivered::start_handle_session(info).unwrap_or(0);
            self.names.handles.session.store(session, SeqCst);
        }
    }

    /// Sends a note if handles are no longer watched.
    pub(in crate::agent) fn note_handle_storm(&self, info: Info) {
        if self.names.are_on() && self.names.handles.pace.is_storm() {
            self.write_note(info, NoteCode::HANDLE_WATCH_OFF, S_OK);
        }
    }

    /// Stops the session. Not inside a callback.
    pub(in crate::agent) fn stop_handle_session(&self, info: Info) {
        let session = self.names.handles.session.swap(0, SeqCst);
        if session != 0 {
            info.stop_session(session);
        }
    }

    /// The runtime's `SetGCHandle` event: HandleID, ObjectID, Kind, Generation, and later fields.
    pub(in crate::agent) fn handle_created(&self, info: Info, payload: &[u8]) {
        let handles = &self.names.handles;
        if handles.pace.is_storm() {
            return;
        }
        let (Some(address), Some(kind)) = (u64_at(payload, 0), payload.get(16)) else { return };
        match handles.pace.judge(sys::tick_ns()) {
            Verdict::Look => {
                let allocated_by = self.names.allocating_methods.of_stack(info);
                handles.add(address, Allocation { kind: *kind, allocated_by });
            }
            // An older handle at this address may be known, if the event of its end was lost.
            Verdict::Count => handles.remove(address),
            Verdict::Storm => self.names.wake(),
        }
    }

    /// The runtime's `DestroyGCHandle` event: HandleID, and later fields.
    pub(in crate::agent) fn handle_destroyed(&self, payload: &[u8]) {
        if !self.names.handles.pace.is_storm()
            && let Some(address) = u64_at(payload, 0)
        {
            self.names.handles.remove(address);
        }
    }

    /// Reports the method that allocated a handle; returns the handle's kind, and the `FunctionID` or 0.
    pub(super) fn report_allocation(&self, info: Info, allocation: Allocation) -> (HandleKind, u64) {
        let kind = HandleKind(allocation.kind);
        // Read before the facts: if a module is unloaded from here on, `seen` is older than its unloading.
        let seen = self.names.modules.now();
        let methods = &self.names.allocating_methods;
        let Some(facts) = allocation.allocated_by.and_then(|place| methods.facts(place)) else {
            return (kind, 0);
        };
        if self.names.known.add(facts.function) == Added::New {
            // The method may have returned long ago, so the runtime must not be asked about it.
            let method = Method {
                function_id: facts.function as u64,
                shape: MethodShape::NAMED,
                class_id: 0,
                module_id: facts.module as u64,
                token: facts.token,
                args: Ids::new(&[]),
            };
            self.events.send::<64>(info, &method);
            self.request_name(Request { module: facts.module, token: facts.token, seen });
        }
        (kind, facts.function as u64)
    }

    /// Stops watching handles for good once they are allocated too fast.
    ///
    /// A thread that stops a session becomes known to the runtime, and may not ask for metadata any more. So a thread
    /// of its own does it.
    pub(super) fn stop_handle_storm(&self) {
        let handles = &self.names.handles;
        if handles.pace.is_storm()
            && handles.session.load(SeqCst) != 0
            && !handles.is_stopping.swap(true, SeqCst)
            && !sys::spawn(handles_thread)
        {
            handles.is_stopping.store(false, SeqCst);
        }
    }
}

extern "C" fn handles_thread() {
    sys::name_thread(c"gcwatch-handles");
    let profiler = profiler();
    if let Some(info) = profiler.info_to_name() {
        profiler.stop_handle_session(info);
        delivered::refresh_enabled_events(info);
        if profiler.info_to_name().is_some() {
            profiler.note_handle_storm(info);
        }
    }
    profiler.names.handles.is_stopping.store(false, SeqCst);
}
