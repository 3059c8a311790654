//! Handles that were made while we watched: what sort they are, and who made them.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::known::Added;
use crate::agent::{Profiler, delivered, profiler};
use crate::hresult::S_OK;
use crate::info::Info;
use crate::sys;
use crate::wire::{HandleKind, Ids, Method, MethodShape, NoteCode};

/// Handles that are known at once; a power of two.
const CAPACITY: usize = 65_536;
/// No more places than that are ever taken: in a full table, a search for what is not there would go as far as it may,
/// for each of thousands of roots.
const MOST: usize = CAPACITY / 4 * 3;
/// How far a search goes.
const STEPS: usize = 64;
/// Handles that lie side by side here as they do in the runtime's tables.
const PAGE: usize = 512;
/// Was used, and is free.
const FREED: u64 = 1;
/// So many handles a second, for so many seconds in a row, are too many.
const MOST_A_SECOND: u64 = 5000;
const SECONDS: u64 = 2;

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug)]
struct Handle {
    address: AtomicU64,
    /// Kind plus one, above it the creator's place; 0 unknown.
    maker: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Handles {
    memory: AtomicPtr<Handle>,
    /// Places that were ever taken.
    used: AtomicUsize,
    /// The in-process session that tells of them, 0 where there is none.
    session: AtomicU64,
    /// A thread is ending the session.
    is_ending: AtomicBool,
    made: AtomicU64,
    /// The guard's last look: when, how many had been made, and how many times in a row too many.
    looked_ns: AtomicU64,
    seen: AtomicU64,
    in_a_row: AtomicU64,
}

impl Handles {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            used: AtomicUsize::new(0),
            session: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            made: AtomicU64::new(0),
            looked_ns: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            in_a_row: AtomicU64::new(0),
        }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(SeqCst).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Handle>())) else { return false };
            self.memory.store(memory.cast().as_ptr(), SeqCst);
        }
        for handle in self.all().iter().filter(|handle| handle.address.load(SeqCst) != 0) {
            handle.address.store(0, SeqCst);
        }
        self.used.store(0, SeqCst);
        for counter in [&self.session, &self.made, &self.seen, &self.in_a_row] {
            counter.store(0, SeqCst);
        }
        self.looked_ns.store(sys::tick_ns(), SeqCst);
        true
    }

    pub(super) fn are_ending(&self) -> bool {
        self.is_ending.load(SeqCst)
    }

    fn all(&self) -> &[Handle] {
        let memory = self.memory.load(SeqCst);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good.
        unsafe { core::slice::from_raw_parts(memory, CAPACITY) }
    }

    /// The places where a handle may be. Handles that lie side by side have places side by side: the runtime tells
    /// roots in the order of their handles, and thousands of places far apart would each be waited for.
    fn places(&self, address: u64) -> impl Iterator<Item = &Handle> {
        let handle = address >> 3;
        let page = (handle >> PAGE.trailing_zeros()).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let first = (page as usize).wrapping_mul(PAGE) | handle as usize & PAGE.wrapping_sub(1);
        let all = self.all();
        (0..STEPS).filter_map(move |step| {
            all.get(first.wrapping_add(step.wrapping_mul(PAGE)) & CAPACITY.wrapping_sub(1))
        })
    }

    fn find(&self, address: u64) -> Option<&Handle> {
        for handle in self.places(address) {
            match handle.address.load(SeqCst) {
                0 => return None,
                found if found == address => return Some(handle),
                _ => {}
            }
        }
        None
    }

    fn add(&self, address: u64, kind: u8, creator: u16) {
        let maker = u64::from(creator) << 16 | u64::from(kind).wrapping_add(1);
        if address <= FREED {
            return;
        }
        // One whose end was not told: the address is another's now.
        if let Some(handle) = self.find(address) {
            handle.maker.store(maker, SeqCst);
            return;
        }
        for handle in self.places(address) {
            let found = handle.address.load(SeqCst);
            if found == 0 && self.used.load(SeqCst) >= MOST {
                return;
            }
            if found <= FREED && handle.address.compare_exchange(found, address, SeqCst, SeqCst).is_ok() {
                handle.maker.store(maker, SeqCst);
                if found == 0 {
                    self.used.fetch_add(1, SeqCst);
                }
                return;
            }
        }
    }

    fn remove(&self, address: u64) {
        if let Some(handle) = self.find(address).filter(|_| address > FREED) {
            handle.maker.store(0, SeqCst);
            handle.address.store(FREED, SeqCst);
        }
    }

    /// Kind and creator's place of a handle.
    pub(super) fn maker(&self, address: u64) -> Option<(u8, u16)> {
        let maker = self.find(address)?.maker.load(SeqCst);
        let kind = u8::try_from((maker & 0xffff).checked_sub(1)?).ok()?;
        Some((kind, (maker >> 16) as u16))
    }

    /// Whether too many were made of late. Looks once a second.
    fn are_too_many(&self, now_ns: u64) -> bool {
        let since_ns = now_ns.saturating_sub(self.looked_ns.load(SeqCst));
        if since_ns < SECOND_NS {
            return false;
        }
        let made = self.made.load(SeqCst);
        let new = made.saturating_sub(self.seen.swap(made, SeqCst));
        self.looked_ns.store(now_ns, SeqCst);
        let most = u128::from(since_ns).saturating_mul(u128::from(MOST_A_SECOND));
        if u128::from(new).saturating_mul(u128::from(SECOND_NS)) <= most {
            self.in_a_row.store(0, SeqCst);
            return false;
        }
        self.in_a_row.fetch_add(1, SeqCst).wrapping_add(1) >= SECONDS
    }
}

fn u64_at(payload: &[u8], at: usize) -> Option<u64> {
    payload.get(at..)?.split_first_chunk().map(|(bytes, _)| u64::from_le_bytes(*bytes))
}

impl Profiler {
    /// Begins to watch handles. Where the runtime refuses, it is done without.
    pub(in crate::agent) fn watch_handles(&self, info: Info) {
        if self.names.are_on() {
            let session = delivered::start_handle_session(info).unwrap_or(0);
            self.names.handles.session.store(session, SeqCst);
        }
    }

    /// Ends the session. Not inside a callback.
    pub(in crate::agent) fn leave_handles(&self, info: Info) {
        let session = self.names.handles.session.swap(0, SeqCst);
        if session != 0 {
            info.stop_session(session);
        }
    }

    /// The runtime's `SetGCHandle`: HandleID, ObjectID, Kind, Generation, then more.
    pub(in crate::agent) fn handle_made(&self, info: Info, payload: &[u8]) {
        let handles = &self.names.handles;
        handles.made.fetch_add(1, SeqCst);
        let (Some(address), Some(kind)) = (u64_at(payload, 0), payload.get(16)) else { return };
        handles.add(address, *kind, self.names.creators.of_stack(info));
    }

    /// The runtime's `DestroyGCHandle`: HandleID, then more.
    pub(in crate::agent) fn handle_freed(&self, payload: &[u8]) {
        if let Some(address) = u64_at(payload, 0) {
            self.names.handles.remove(address);
        }
    }

    /// Who made a handle and what sort it is, as far as that was seen. The method is told.
    pub(super) fn tell_maker(&self, info: Info, (kind, creator): (u8, u16)) -> (HandleKind, u64) {
        let Some(facts) = self.names.creators.facts(creator) else { return (HandleKind(kind), 0) };
        if self.names.known.add(facts.function) == Added::New {
            // It may have returned long ago: the runtime is not asked.
            self.write_method(
                &Method {
                    function_id: facts.function as u64,
                    shape: MethodShape::NAMED,
                    class_id: 0,
                    module_id: facts.module as u64,
                    token: facts.token,
                    args: Ids::new(&[]),
                },
                info,
            );
            self.ask(facts.module, facts.token);
        }
        (HandleKind(kind), facts.function as u64)
    }

    /// Ends the watching of handles for good where they are too many.
    ///
    /// A thread that ends a session becomes one that the runtime knows, and may not ask it for
    /// metadata from then on. So it is done by a thread of its own.
    pub(super) fn guard_handles(&self) {
        let handles = &self.names.handles;
        if handles.session.load(SeqCst) != 0
            && !handles.is_ending.load(SeqCst)
            && handles.are_too_many(sys::tick_ns())
        {
            handles.is_ending.store(true, SeqCst);
            if !sys::spawn(end_session) {
                handles.is_ending.store(false, SeqCst);
            }
        }
    }

    fn end_handle_watch(&self) {
        let handles = &self.names.handles;
        if let Some(info) = self.info_to_name() {
            self.leave_handles(info);
            handles.all().iter().for_each(|handle| handle.maker.store(0, SeqCst));
            if self.info_to_name().is_some() {
                self.write_note(info, NoteCode::HANDLE_WATCH_OFF, S_OK);
            }
        }
        handles.is_ending.store(false, SeqCst);
    }
}

extern "C" fn end_session() {
    profiler().end_handle_watch();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handles() -> Handles {
        let handles = Handles::new();
        assert!(handles.prepare());
        handles
    }

    #[test]
    fn a_handle_is_known_from_its_making_to_its_end() {
        let handles = handles();
        for round in 0..5_u16 {
            for address in (0x7f00_0000..0x7f00_0000 + 8 * 20_000).step_by(8) {
                handles.add(address, 3, round);
                assert_eq!(handles.maker(address), Some((3, round)));
            }
            for address in (0x7f00_0000..0x7f00_0000 + 8 * 20_000).step_by(8) {
                handles.remove(address);
                assert_eq!(handles.maker(address), None);
            }
        }
        handles.add(0x1000, 0, 7);
        handles.add(0x1000, 2, 8);
        assert_eq!(handles.maker(0x1000), Some((2, 8)), "its end was not told");
        handles.remove(0x1000);
        assert_eq!(handles.maker(0x1000), None);
    }

    #[test]
    fn more_than_there_is_room_for_are_unknown() {
        let handles = handles();
        let all = (0x10..).step_by(8).take(2 * CAPACITY);
        all.clone().for_each(|address| handles.add(address, 2, 1));
        let known = all.clone().filter(|address| handles.maker(*address).is_some()).count();
        assert!(known > MOST / 10 * 9 && known <= MOST, "{known}");
        all.for_each(|address| handles.remove(address));
        handles.add(0x40, 1, 2);
        assert_eq!(handles.maker(0x40), Some((1, 2)));
    }

    #[test]
    fn too_many_are_too_many_for_two_seconds() {
        let handles = handles();
        let start_ns = handles.looked_ns.load(SeqCst);
        let at = |second: u64, made: u64| {
            handles.made.fetch_add(made, SeqCst);
            handles.are_too_many(start_ns + second * SECOND_NS)
        };
        assert!(!at(1, 50_000));
        assert!(!at(2, 4999), "a burst is over");
        assert!(!at(3, 5001));
        assert!(!at(3, 90_000), "not before a second is over");
        assert!(at(4, 5001));
    }
}
