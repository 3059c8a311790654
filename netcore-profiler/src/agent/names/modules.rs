//! Modules that were unloaded, and the gate that keeps one from being unloaded while it is read.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::sys;

const CAPACITY: usize = 4096;

/// When each address was last given up by a module. Written behind the gate only.
#[derive(Debug)]
pub(super) struct Modules {
    memory: AtomicPtr<Gone>,
    used: AtomicUsize,
    /// How many modules have been unloaded since the process began.
    unloads: AtomicU64,
    /// So many had been when the table was full last: of what was seen before, nothing is known.
    lost: AtomicU64,
}

#[derive(Debug)]
struct Gone {
    module: AtomicUsize,
    unloaded_at: AtomicU64,
}

impl Modules {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            used: AtomicUsize::new(0),
            unloads: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(Ordering::Acquire).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Gone>())) else { return false };
            self.memory.store(memory.cast().as_ptr(), Ordering::Release);
        }
        // Between two stays nobody told of unloads.
        let now = self.unloads.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        self.lost.store(now, Ordering::SeqCst);
        true
    }

    fn all(&self) -> &[Gone] {
        let memory = self.memory.load(Ordering::Acquire);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good.
        unsafe { core::slice::from_raw_parts(memory, CAPACITY) }
    }

    /// To be noted with everything that is seen of a module.
    pub(super) fn now(&self) -> u64 {
        self.unloads.load(Ordering::SeqCst)
    }

    fn used(&self) -> &[Gone] {
        self.all().get(..self.used.load(Ordering::Acquire)).unwrap_or_default()
    }

    fn find(&self, module: usize) -> Option<&Gone> {
        self.used().iter().find(|gone| gone.module.load(Ordering::Relaxed) == module)
    }

    /// When the address was last given up; 0 never.
    pub(super) fn unloaded_at(&self, module: usize) -> u64 {
        let gone = self.find(module).map_or(0, |gone| gone.unloaded_at.load(Ordering::SeqCst));
        gone.max(self.lost.load(Ordering::SeqCst))
    }

    /// The module at this address is about to go.
    pub(super) fn unloaded(&self, module: usize) {
        let now = self.unloads.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        if let Some(gone) = self.find(module) {
            gone.unloaded_at.store(now, Ordering::SeqCst);
            return;
        }
        let used = self.used.load(Ordering::Acquire);
        match self.all().get(used) {
            Some(gone) => {
                gone.module.store(module, Ordering::Relaxed);
                gone.unloaded_at.store(now, Ordering::SeqCst);
                self.used.store(used.saturating_add(1), Ordering::Release);
            }
            None => {
                self.used.store(0, Ordering::Release);
                self.lost.store(now, Ordering::SeqCst);
            }
        }
    }
}

/// Lets in either our thread, to read one definition, or the runtime's, to unload.
#[derive(Debug)]
pub(super) struct Gate {
    closed: AtomicBool,
    /// Threads of the runtime that wait. Ours lets them go first.
    waiting: AtomicU32,
}

/// Somebody is in.
#[derive(Debug)]
pub(super) struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.closed.store(false, Ordering::SeqCst);
    }
}

impl Gate {
    pub(super) const fn new() -> Self {
        Self { closed: AtomicBool::new(false), waiting: AtomicU32::new(0) }
    }

    fn try_enter(&self) -> Option<Inside<'_>> {
        // Not `then_some`: an `Inside` that was not earned would open the gate when dropped.
        (!self.closed.swap(true, Ordering::SeqCst)).then(|| Inside(self))
    }

    /// Enters, on our own thread.
    pub(super) fn enter(&self) -> Inside<'_> {
        loop {
            if self.waiting.load(Ordering::SeqCst) == 0
                && let Some(inside) = self.try_enter()
            {
                return inside;
            }
            sys::sleep_ms(1);
        }
    }

    /// Enters, on a thread of the runtime's, which is not kept for longer than `limit_ms`.
    pub(super) fn enter_within(&self, limit_ms: u32) -> Option<Inside<'_>> {
        const SPINS: u32 = 2000;
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut entered = None;
        for _ in 0..SPINS {
            entered = self.try_enter();
            if entered.is_some() {
                break;
            }
            core::hint::spin_loop();
        }
        let mut left_ms = limit_ms;
        while entered.is_none() && left_ms > 0 {
            sys::sleep_ms(1);
            left_ms = left_ms.saturating_sub(1);
            entered = self.try_enter();
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        entered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules() -> Modules {
        let modules = Modules::new();
        assert!(modules.prepare());
        modules
    }

    #[test]
    fn a_module_is_gone_for_those_who_saw_it_before() {
        let modules = modules();
        let before = modules.now();
        modules.unloaded(0x1000);
        let after = modules.now();
        assert!(before < modules.unloaded_at(0x1000) && after >= modules.unloaded_at(0x1000));
        assert!(before >= modules.unloaded_at(0x2000));
        modules.unloaded(0x1000);
        assert!(after < modules.unloaded_at(0x1000), "and again");
    }

    #[test]
    fn where_there_is_no_room_all_that_was_seen_counts_as_gone() {
        let modules = modules();
        for module in 0..=CAPACITY {
            assert_eq!(modules.lost.load(Ordering::SeqCst), 1);
            modules.unloaded(0x1000 + module);
        }
        let before = modules.now() - 1;
        assert!(before < modules.unloaded_at(0x9_0000));
        let now = modules.now();
        assert!(now >= modules.unloaded_at(0x9_0000));
        modules.unloaded(0x9_0000);
        assert!(now < modules.unloaded_at(0x9_0000));
    }

    #[test]
    fn one_is_in_and_a_waiting_one_gives_up_in_time() {
        let gate = Gate::new();
        let inside = gate.enter();
        let began = sys::tick_ns();
        assert!(gate.enter_within(20).is_none());
        assert!(sys::tick_ns() - began >= 15_000_000);
        drop(inside);
        let inside = gate.enter_within(20);
        assert!(inside.is_some() && gate.try_enter().is_none());
        drop(inside);
        drop(gate.enter());
    }

    #[test]
    fn those_who_unload_go_first() {
        use std::sync::atomic::AtomicU64;
        let (gate, entered) = (Gate::new(), AtomicU64::new(0));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let _inside = gate.enter();
                    entered.fetch_add(1, Ordering::SeqCst);
                }
            });
            for _ in 0..200 {
                assert!(gate.enter_within(10_000).is_some());
            }
            stop.store(true, Ordering::SeqCst);
        });
    }
}
