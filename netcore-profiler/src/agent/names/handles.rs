//! Handles that were made while we watched: what sort they are, and who made them, as far as there was time to look.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};

use super::creators::Place;
use super::known::Added;
use super::pace::{Pace, Verdict};
use super::queue::Request;
use crate::agent::{Profiler, delivered, profiler};
use crate::hresult::S_OK;
use crate::info::Info;
use crate::sys;
use crate::wire::{HandleKind, Ids, Method, MethodShape, NoteCode};

/// Handles that are known at once; a power of two.
const CAPACITY: usize = 65_536;
/// How far a search goes. Places that were once used do not end it, so that in time every search for what is not there
/// goes as far, for each of thousands of roots.
const STEPS: usize = 16;
/// Handles that lie side by side here as they do in the runtime's tables.
const PAGE: usize = 512;
/// Was used, and is free.
const FREED: u64 = 1;

#[derive(Debug)]
struct Handle {
    address: AtomicU64,
    /// [`Maker::packed`]; 0 unknown.
    maker: AtomicU64,
}

/// What is known of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Maker {
    pub(super) kind: u8,
    pub(super) creator: Option<Place>,
}

impl Maker {
    /// From the low end: kind plus one, the creator's number or 0, its life.
    fn packed(self) -> u64 {
        let (number, life) = self.creator.map_or((0, 0), |place| (place.number, place.life));
        u64::from(life) << 32 | u64::from(number) << 16 | u64::from(self.kind).wrapping_add(1)
    }

    fn unpacked(packed: u64) -> Option<Self> {
        let kind = u8::try_from((packed & 0xffff).checked_sub(1)?).ok()?;
        let place = Place { number: (packed >> 16) as u16, life: (packed >> 32) as u32 };
        Some(Self { kind, creator: (place.number != 0).then_some(place) })
    }
}

#[derive(Debug)]
pub(super) struct Handles {
    memory: AtomicPtr<Handle>,
    /// The in-process session that tells of them, 0 where there is none.
    session: AtomicU64,
    /// A thread is ending the session.
    is_ending: AtomicBool,
    pace: Pace,
}

impl Handles {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            session: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            pace: Pace::new(),
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
        self.session.store(0, SeqCst);
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

    fn add(&self, address: u64, maker: Maker) {
        let maker = maker.packed();
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
            if found <= FREED && handle.address.compare_exchange(found, address, SeqCst, SeqCst).is_ok() {
                handle.maker.store(maker, SeqCst);
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

    /// Who made a handle, where that was seen.
    pub(super) fn maker(&self, address: u64) -> Option<Maker> {
        // In a storm it is not told what handles come and go.
        if self.pace.is_storm() {
            return None;
        }
        Maker::unpacked(self.find(address)?.maker.load(SeqCst))
    }
}

fn u64_at(payload: &[u8], at: usize) -> Option<u64> {
    payload.get(at..)?.split_first_chunk().map(|(bytes, _)| u64::from_le_bytes(*bytes))
}

impl Profiler {
    /// Begins to watch handles, unless there were too many in an earlier stay. Where the runtime refuses, it is done
    /// without.
    pub(in crate::agent) fn watch_handles(&self, info: Info) {
        if self.names.are_on() && !self.names.handles.pace.is_storm() {
            let session = delivered::start_handle_session(info).unwrap_or(0);
            self.names.handles.session.store(session, SeqCst);
        }
    }

    /// Says that handles are not watched, where there were too many.
    pub(in crate::agent) fn tell_handle_watch(&self, info: Info) {
        if self.names.are_on() && self.names.handles.pace.is_storm() {
            self.write_note(info, NoteCode::HANDLE_WATCH_OFF, S_OK);
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
        if handles.pace.is_storm() {
            return;
        }
        let (Some(address), Some(kind)) = (u64_at(payload, 0), payload.get(16)) else { return };
        match handles.pace.judge(sys::tick_ns()) {
            Verdict::Look => {
                handles.add(address, Maker { kind: *kind, creator: self.names.creators.of_stack(info) });
            }
            // What was known of one at this address whose end was not told is not true of this one.
            Verdict::Count => handles.remove(address),
            Verdict::Storm => self.names.ring(),
        }
    }

    /// The runtime's `DestroyGCHandle`: HandleID, then more.
    pub(in crate::agent) fn handle_freed(&self, payload: &[u8]) {
        if !self.names.handles.pace.is_storm()
            && let Some(address) = u64_at(payload, 0)
        {
            self.names.handles.remove(address);
        }
    }

    /// Who made a handle and what sort it is, as far as that was seen. The method is told.
    pub(super) fn tell_maker(&self, info: Info, Maker { kind, creator }: Maker) -> (HandleKind, u64) {
        // Before the facts are read: a module that goes after this is one that was seen before it went.
        let seen = self.names.modules.now();
        let Some(facts) = creator.and_then(|place| self.names.creators.facts(place)) else {
            return (HandleKind(kind), 0);
        };
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
            self.ask(Request { module: facts.module, token: facts.token, seen });
        }
        (HandleKind(kind), facts.function as u64)
    }

    /// Ends the watching of handles for good where they are too many.
    ///
    /// A thread that ends a session becomes one that the runtime knows, and may not ask it for
    /// metadata from then on. So it is done by a thread of its own.
    pub(super) fn guard_handles(&self) {
        let handles = &self.names.handles;
        if handles.pace.is_storm()
            && handles.session.load(SeqCst) != 0
            && !handles.is_ending.swap(true, SeqCst)
            && !sys::spawn(end_session)
        {
            handles.is_ending.store(false, SeqCst);
        }
    }

    fn end_handle_watch(&self) {
        if let Some(info) = self.info_to_name() {
            self.leave_handles(info);
            delivered::settle_events(info);
            if self.info_to_name().is_some() {
                self.tell_handle_watch(info);
            }
        }
        self.names.handles.is_ending.store(false, SeqCst);
    }
}

extern "C" fn end_session() {
    sys::name_thread(c"gcwatch-handles");
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

    fn maker(kind: u8, number: u16) -> Maker {
        let place = Place { number, life: u32::from(number) << 16 | 5 };
        Maker { kind, creator: (number != 0).then_some(place) }
    }

    #[test]
    fn a_handle_is_known_from_its_making_to_its_end() {
        let handles = handles();
        for round in 0..5_u16 {
            for address in (0x7f00_0000..0x7f00_0000 + 8 * 20_000).step_by(8) {
                handles.add(address, maker(3, round));
                assert_eq!(handles.maker(address), Some(maker(3, round)));
            }
            for address in (0x7f00_0000..0x7f00_0000 + 8 * 20_000).step_by(8) {
                handles.remove(address);
                assert_eq!(handles.maker(address), None);
            }
        }
        handles.add(0x1000, maker(0, 7));
        handles.add(0x1000, maker(2, 8));
        assert_eq!(handles.maker(0x1000), Some(maker(2, 8)), "its end was not told");
        handles.remove(0x1000);
        assert_eq!(handles.maker(0x1000), None);
    }

    #[test]
    fn more_than_there_is_room_for_are_unknown() {
        let handles = handles();
        let all = (0x10..).step_by(8).take(2 * CAPACITY);
        all.clone().for_each(|address| handles.add(address, maker(2, 1)));
        let known = all.clone().filter(|address| handles.maker(*address).is_some()).count();
        assert!(known > CAPACITY / 10 * 8 && known <= CAPACITY, "{known}");
        all.for_each(|address| handles.remove(address));
        handles.add(0x40, maker(1, 2));
        assert_eq!(handles.maker(0x40), Some(maker(1, 2)));
    }

    /// Handles come and go at ever new addresses.
    #[test]
    fn places_do_not_wear_out() {
        let handles = handles();
        for address in (0x7f00_0000_u64..).step_by(8).take(20 * CAPACITY) {
            handles.add(address, maker(2, 1));
            assert_eq!(handles.maker(address), Some(maker(2, 1)));
            handles.remove(address);
        }
    }
}
