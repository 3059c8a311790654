//! The first object of a collection: here the process is forked, or the walk in the pause begins.

use core::sync::atomic::Ordering::SeqCst;

use super::copy::Copy;
use super::kept::Entry;
use super::output::{Output, Place};
use super::state::Stage;
use crate::agent::profiler::Profiler;
use crate::agent::references::array;
use crate::hresult::{E_FAIL, HResult, S_OK};
use crate::info::Info;
use crate::sys::{self, copy};
use crate::wire::graph::{Request, Taken, kind};

/// How the copy ends.
const WHOLE: i32 = 0;
const NO_MEMORY: i32 = 3;

impl Profiler {
    /// `ObjectReferences`: an object of the whole heap, at the end of a collection.
    ///
    /// # Safety
    /// `references` is null or has `count` entries.
    pub(crate) unsafe fn object_references(
        &self,
        object: usize,
        class: usize,
        count: u32,
        references: *const usize,
    ) -> HResult {
        match self.graph.stage() {
            Stage::COPY | Stage::WALKING => {
                // SAFETY: by the contract.
                let references = unsafe { array(references, count) };
                // SAFETY: the runtime's own object.
                unsafe { self.copy_object(object, class, references) }
            }
            // The process is forked at the first object, and the copy must not miss it.
            Stage::READY if self.begin_walk() || self.fork() => {
                // SAFETY: as above.
                let references = unsafe { array(references, count) };
                // SAFETY: as above.
                unsafe { self.copy_object(object, class, references) }
            }
            // A failure ends the walk of this heap.
            _ => E_FAIL,
        }
    }

    /// Keeps the roots of a collection that is to be used.
    pub(in crate::agent) fn keep_roots(&self, roots: crate::agent::accumulator::Roots<'_>) {
        if self.graph.stage() == Stage::READY {
            let began_ns = sys::tick_ns();
            self.graph.kept.add_roots(roots);
            self.graph.roots_ns.fetch_add(sys::tick_ns().saturating_sub(began_ns), SeqCst);
        }
    }

    /// Keeps dependent handles.
    ///
    /// # Safety
    /// The arrays are null or have `count` entries.
    pub(in crate::agent) unsafe fn keep_dependent(
        &self,
        count: u32,
        keys: *const usize,
        values: *const usize,
        handles: *const usize,
    ) {
        if ![Stage::READY, Stage::COPY, Stage::WALKING].contains(&self.graph.stage()) {
            return;
        }
        // SAFETY: by the contract.
        let (keys, values, handles) =
            unsafe { (array(keys, count), array(values, count), array(handles, count)) };
        let entries = keys.iter().zip(values).zip(handles).map(|((key, value), handle)| Entry {
            object: *key,
            id: *handle,
            dependent: *value,
            kind: 0,
            flags: 0,
        });
        self.graph.kept.add(entries.filter(|entry| entry.object != 0 && entry.dependent != 0));
    }

    /// `GarbageCollectionStarted`: from here on, a collection that is wanted keeps its roots.
    pub(in crate::agent) fn begin_graph(&self) {
        let graph = &self.graph;
        if graph.step(Stage::WANTED, Stage::READY) || graph.stage() == Stage::READY {
            graph.kept.clear();
            graph.roots_ns.store(0, SeqCst);
        }
    }

    /// `GarbageCollectionFinished`. The copy ends here.
    pub(in crate::agent) fn finish_graph(&self, info: Info) {
        let stage = self.graph.stage();
        if ![Stage::COPY, Stage::WALKING].contains(&stage) {
            return;
        }
        // SAFETY: the walk has one thread, and no callback is under way but this one.
        let state = unsafe { self.graph.copy.load(SeqCst).as_mut() };
        let ended = state.is_none_or(|state| {
            self.send_rest(info, state);
            state.output.ended
        });
        if stage == Stage::COPY {
            self.graph.set_whole(!ended);
            copy::exit(if ended { NO_MEMORY } else { WHOLE });
        }
        self.graph.end_walk(if ended { Stage::GIVEN_UP } else { Stage::WALKED });
    }

    /// Begins the walk in the pause, if that is how the graph is to be taken.
    fn begin_walk(&self) -> bool {
        let graph = &self.graph;
        if graph.flags.load(SeqCst) & Request::IN_PAUSE == 0 {
            return false;
        }
        let began_ns = sys::tick_ns();
        graph.walk_began_ns.store(began_ns, SeqCst);
        graph.seen.store(self.names.seen_now(), SeqCst);
        if !graph.step(Stage::READY, Stage::WALKING) {
            return false;
        }
        // SAFETY: the graph's thread has mapped it and does not use it until the walk has ended.
        if let Some(state) = unsafe { graph.copy.load(SeqCst).as_mut() } {
            let deadline_ns = u64::from(graph.deadline_ms.load(SeqCst)).saturating_mul(1_000_000);
            state.output.place = Place::PauseUntil(began_ns.saturating_add(deadline_ns));
            state.began_ns = began_ns;
            self.send_taken(state);
        }
        true
    }

    /// Says which process and which collection it is, before the first object.
    fn send_taken(&self, state: &mut Copy) {
        let collection = self.collection.now();
        let taken = Taken {
            pid: copy::own_id().unsigned_abs(),
            gc_number: collection.number,
            collected: collection.collected,
            reason: collection.reason,
        };
        let mut bytes = [0; 16];
        if crate::wire::graph::write(&taken, &mut bytes).is_ok() {
            state.output.send(kind::TAKEN, &bytes, &[]);
        }
        if let Some(info) = self.info() {
            self.read_frozen(info, state);
        }
    }

    /// Makes the copy. `true`: this is the copy.
    fn fork(&self) -> bool {
        let graph = &self.graph;
        if !graph.step(Stage::READY, Stage::FORKING) {
            return false;
        }
        let began_ns = sys::tick_ns();
        graph.seen.store(self.names.seen_now(), SeqCst);
        let parent = copy::own_id();
        // SAFETY: the copy uses calls of the runtime that take no lock, memory and system calls, and ends in
        // `finish_graph`, or by its deadline.
        let side = unsafe { copy::split() };
        match side {
            Ok(copy::Side::Copy) => {
                self.become_copy(parent);
                return true;
            }
            Ok(copy::Side::Program(pid)) => {
                graph.copy_pid.store(pid, SeqCst);
                copy::sacrifice(pid);
                let fork_ns = sys::tick_ns().saturating_sub(began_ns);
                graph.fork_ns.store(fork_ns, SeqCst);
                graph.pause_ns.store(fork_ns, SeqCst);
                graph.enter(Stage::TAKEN);
            }
            Err(error) => {
                graph.error.store(error, SeqCst);
                graph.enter(Stage::FAILED);
            }
        }
        false
    }

    /// The first steps of the copy.
    fn become_copy(&self, parent: i32) {
        let graph = &self.graph;
        let Some(connection) = graph.connection() else { copy::exit(NO_MEMORY) };
        copy::retire(connection.number(), graph.deadline_ms.load(SeqCst));
        let string = (graph.string_module.load(SeqCst), graph.string_token.load(SeqCst));
        let texts = graph.flags.load(SeqCst) & Request::TEXTS != 0;
        let output = Output::new(connection, Place::CopyOf(parent));
        let Some(mut state) = Copy::map(output, string, texts) else { copy::exit(NO_MEMORY) };
        // SAFETY: mapped just now, and nobody else has the pointer.
        self.send_taken(unsafe { state.as_mut() });
        graph.copy.store(state.as_ptr(), SeqCst);
        graph.enter(Stage::COPY);
    }

    /// Takes an object. The copy ends when nobody wants it any more, and the walk in the pause is given up.
    ///
    /// # Safety
    /// `object` is the address of an object of `class`.
    unsafe fn copy_object(&self, object: usize, class: usize, references: &[usize]) -> HResult {
        // SAFETY: the walk has one thread, which is not inside `Copy::object` while the runtime calls this.
        let state = unsafe { self.graph.copy.load(SeqCst).as_mut() };
        // SAFETY: by the contract.
        let goes_on = state
            .zip(self.info())
            .is_some_and(|(state, info)| unsafe { state.object(info, object, class, Some(references)) });
        if goes_on {
            return S_OK;
        }
        if self.graph.stage() == Stage::COPY {
            copy::exit(NO_MEMORY)
        }
        self.graph.end_walk(Stage::GIVEN_UP);
        E_FAIL
    }
}
