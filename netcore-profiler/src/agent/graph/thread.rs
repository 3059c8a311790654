//! Our thread `gcwatch-graph`, in the program: it connects to gcwatch, waits for the copy to end, and answers questions
//! about names.

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::SeqCst;

use super::copy::Copy;
use super::output::{Output, Place};
use super::state::Stage;
use crate::agent::names::queue::Request as NameRequest;
use crate::agent::profiler::{Phase, Profiler, profiler};
use crate::agent::text::utf16;
use crate::info::Info;
use crate::metadata::Metadata;
use crate::sys::{self, Lease, Received, copy};
use crate::wire::graph::{HEAD_BYTES, Outcome, Request, kind, read, write};

/// How often the thread looks whether the copy has ended.
const POLL_MS: u32 = 5;
/// How long gcwatch may take to say what it wants.
const REQUEST_TIMEOUT_NS: u64 = 10_000_000_000;

/// The thread's main function.
pub(in crate::agent) extern "C" fn graph_thread() {
    sys::name_thread(c"gcwatch-graph");
    let profiler = profiler();
    if let Some(connection) = profiler.graph.connect() {
        profiler.take_graph(connection);
    }
    profiler.graph.close();
    profiler.graph.set_thread_ended();
}

impl Profiler {
    /// The runtime's interface, while the profiler stays.
    pub(super) fn info_for_graph(&self) -> Option<Info> {
        self.info().filter(|_| self.phase() == Phase::ACTIVE)
    }

    fn take_graph(&self, connection: Lease) {
        let Some(request) = self.request(connection) else { return };
        let outcome = self.try_to_take(connection, request);
        self.graph.kept.release();
        self.graph.enter(Stage::OFF);
        if let Some(walk) = NonNull::new(self.graph.copy.swap(ptr::null_mut(), SeqCst)) {
            // SAFETY: `prepare_walk` has mapped it. The walk has ended, or never began and cannot any more.
            unsafe { Copy::unmap(walk) };
        }
        if let Some(outcome) = outcome {
            let mut bytes = [0; Outcome::BYTES];
            let sent = write(&outcome, &mut bytes).is_ok() && self.reply(connection, kind::OUTCOME, &bytes);
            // A copy that was killed may have left a part of a message before the outcome. gcwatch then finds the
            // outcome by the end of the connection.
            if sent && outcome.code == Outcome::TAKEN && outcome.status == 0 {
                self.answer(connection);
            }
        }
    }

    fn request(&self, connection: Lease) -> Option<Request> {
        let mut bytes = [0; Request::BYTES];
        self.receive_all(connection, &mut bytes, Some(REQUEST_TIMEOUT_NS))?;
        read(&bytes).ok()
    }

    /// Receives exactly so many bytes. `None`: the connection or the profiler's time has ended.
    pub(super) fn receive_all(
        &self,
        connection: Lease,
        bytes: &mut [u8],
        timeout_ns: Option<u64>,
    ) -> Option<()> {
        const WAIT_MS: u32 = 100;
        let began_ns = sys::tick_ns();
        let mut used = 0_usize;
        while used < bytes.len() {
            self.info_for_graph()?;
            match connection.receive(bytes.get_mut(used..)?, WAIT_MS) {
                Received::Bytes(count) => used = used.saturating_add(count),
                Received::Closed => return None,
                Received::Nothing => {
                    let waited_ns = sys::tick_ns().saturating_sub(began_ns);
                    if timeout_ns.is_some_and(|limit_ns| waited_ns > limit_ns) {
                        return None;
                    }
                }
            }
        }
        Some(())
    }

    /// Sends a message. `false`: nobody reads it.
    pub(super) fn reply(&self, connection: Lease, message: u8, payload: &[u8]) -> bool {
        const WAIT_MS: u32 = 200;
        let [a, b, c, d] = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
        let head: [u8; HEAD_BYTES] = [message, a, b, c, d];
        [&head, payload].into_iter().all(|part| {
            let mut rest = part;
            while !rest.is_empty() {
                if self.info_for_graph().is_none() {
                    return false;
                }
                let Some(sent) = connection.send_some(rest, WAIT_MS) else { return false };
                rest = rest.get(sent..).unwrap_or_default();
            }
            true
        })
    }

    /// Takes a graph. `None`: gcwatch or the profiler is leaving.
    fn try_to_take(&self, connection: Lease, request: Request) -> Option<Outcome> {
        let graph = &self.graph;
        let failed = |code, status| Outcome { code, status, fork_ns: 0, roots_ns: 0, cpu_ns: 0 };
        let in_pause = request.flags & Request::IN_PAUSE != 0;
        if !copy::POSSIBLE && !in_pause {
            return Some(failed(Outcome::NOT_POSSIBLE, 0));
        }
        let info = self.info_for_graph()?;
        self.find_string(info);
        let kept = graph.kept.prepare() && graph.classes.prepare();
        if !kept || in_pause && !self.prepare_walk(connection, request) {
            return Some(failed(Outcome::NO_MEMORY, 0));
        }
        graph.prepare_whole();
        graph.flags.store(request.flags, SeqCst);
        graph.deadline_ms.store(request.deadline_ms, SeqCst);
        graph.enter(Stage::WANTED);
        if request.flags & Request::INDUCE != 0 {
            info.force_gc();
        }
        loop {
            match graph.stage() {
                Stage::TAKEN => break,
                Stage::WALKED => {
                    let fork_ns = graph.fork_ns.load(SeqCst);
                    let roots_ns = graph.roots_ns.load(SeqCst);
                    return Some(Outcome { code: Outcome::TAKEN, status: 0, fork_ns, roots_ns, cpu_ns: 0 });
                }
                // A message may have been cut off, so nothing can follow.
                Stage::GIVEN_UP => return None,
                Stage::FAILED => return Some(failed(Outcome::FORK_FAILED, graph.error.load(SeqCst))),
                _ => {}
            }
            // gcwatch sends nothing now: bytes mean that it has gone mad, and the end that it has left.
            let left = connection.receive(&mut [0; 8], POLL_MS) != Received::Nothing;
            if left || self.info_for_graph().is_none() {
                if self.give_up() {
                    return None;
                }
                sys::sleep_ms(1);
            }
        }
        let ended = self.wait_for_copy(connection);
        let is_unknown = ended.status < 0;
        Some(Outcome {
            code: Outcome::TAKEN,
            status: if is_unknown && graph.is_whole() { 0 } else { ended.status },
            fork_ns: graph.fork_ns.load(SeqCst),
            roots_ns: graph.roots_ns.load(SeqCst),
            cpu_ns: ended.cpu_ns,
        })
    }

    /// Maps what the walk in the pause needs.
    fn prepare_walk(&self, connection: Lease, request: Request) -> bool {
        let string = (self.graph.string_module.load(SeqCst), self.graph.string_token.load(SeqCst));
        let texts = request.flags & Request::TEXTS != 0;
        let output = Output::new(connection, Place::PauseUntil(0));
        let walk = Copy::map(output, string, texts);
        self.graph.copy.store(walk.map_or(ptr::null_mut(), NonNull::as_ptr), SeqCst);
        walk.is_some()
    }

    /// Takes the wish back; `false`: it is too late, the process is being forked.
    fn give_up(&self) -> bool {
        let given_up =
            self.graph.step(Stage::WANTED, Stage::OFF) || self.graph.step(Stage::READY, Stage::OFF);
        // A callback that saw the stage before may still be adding a root.
        while given_up && self.is_in_collection() && self.phase() < Phase::GONE {
            sys::sleep_ms(1);
        }
        given_up
    }

    /// Waits for the copy, which nobody else waits for, and ends it if gcwatch or the profiler leaves.
    fn wait_for_copy(&self, connection: Lease) -> copy::Ended {
        let pid = self.graph.copy_pid.load(SeqCst);
        let mut killed = false;
        loop {
            if let Some(ended) = copy::ended(pid) {
                return ended;
            }
            let left = connection.receive(&mut [0; 8], POLL_MS) != Received::Nothing;
            if (left || self.info_for_graph().is_none()) && !killed {
                copy::end(pid);
                killed = true;
            }
            if killed {
                sys::sleep_ms(1);
            }
        }
    }

    /// Finds the class of strings, whose objects have a length.
    fn find_string(&self, info: Info) {
        const NAME: [u16; 16] = utf16("System.String");
        const LIBRARY: &str = "System.Private.CoreLib.dll";
        if self.graph.string_token.load(SeqCst) != 0 {
            return;
        }
        let Ok(modules) = info.modules() else { return };
        let seen = self.names.seen_now();
        while let Some(module) = modules.next() {
            let request = NameRequest { module, token: 0, seen };
            let token = self.with_module(request, |_| {
                let mut path = [0; 512];
                // SAFETY: behind the gate, and not unloaded since it was listed.
                let found = unsafe { info.module_info(module, &mut path) }.ok()?;
                let path = path.get(..found.length.min(path.len()))?;
                let end = path.get(path.len().checked_sub(LIBRARY.len())?..)?;
                let is_it = end.iter().copied().eq(LIBRARY.bytes().map(u16::from));
                // SAFETY: as above.
                is_it.then(|| unsafe { Metadata::of(info, module) }.ok()?.find_type(&NAME)).flatten()
            });
            if let Some(Some(token)) = token {
                self.graph.string_module.store(module, SeqCst);
                self.graph.string_token.store(token, SeqCst);
                return;
            }
        }
    }
}
