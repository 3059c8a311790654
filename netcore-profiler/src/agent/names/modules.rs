//! Modules that were unloaded, and the gate that keeps one from being unloaded while it is read.
//!
//! The order makes it safe. Who reads stamps what it saw of a module ([`Modules::now`]) before it looked, enters the
//! gate, and then asks whether the module has gone since. Who unloads first notes that ([`Modules::unloaded`]), and then
//! waits for the one reading that may have begun before ([`Gate::wait`]).

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use crate::sys;

const CAPACITY: usize = 4096;

/// When each address was last given up by a module.
#[derive(Debug)]
pub(super) struct Modules {
    memory: AtomicPtr<Gone>,
    used: AtomicUsize,
    /// A thread that unloads is writing. Another one waits for it.
    writing: AtomicBool,
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
            writing: AtomicBool::new(false),
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

    /// The stamp of what is seen of a module: taken before it is looked at.
    pub(super) fn now(&self) -> u64 {
        self.unloads.load(Ordering::SeqCst)
    }

    fn used(&self) -> &[Gone] {
        self.all().get(..self.used.load(Ordering::Acquire)).unwrap_or_default()
    }

    fn find(&self, module: usize) -> Option<&Gone> {
        self.used().iter().find(|gone| gone.module.load(Ordering::Relaxed) == module)
    }

    /// When the address was last given up; 0 never. What was stamped earlier is of a module that has gone.
    pub(super) fn unloaded_at(&self, module: usize) -> u64 {
        let gone = self.find(module).map_or(0, |gone| gone.unloaded_at.load(Ordering::SeqCst));
        // Read after the table: where that begins anew, this is written first.
        gone.max(self.lost.load(Ordering::SeqCst))
    }

    /// The module at this address is about to go. Facts of it that are kept elsewhere are marked before.
    pub(super) fn unloaded(&self, module: usize) {
        while self.writing.swap(true, Ordering::SeqCst) {
            sys::sleep_ms(1);
        }
        let next = self.now().wrapping_add(1);
        self.note(module, next);
        // Last: a stamp that is as new was taken when this could be seen.
        self.unloads.store(next, Ordering::SeqCst);
        self.writing.store(false, Ordering::SeqCst);
    }

    fn note(&self, module: usize, now: u64) {
        if let Some(gone) = self.find(module) {
            gone.unloaded_at.store(now, Ordering::SeqCst);
            return;
        }
        let used = self.used.load(Ordering::Acquire);
        match self.all().get(used) {
            Some(gone) => {
                gone.module.store(module, Ordering::SeqCst);
                gone.unloaded_at.store(now, Ordering::SeqCst);
                self.used.store(used.saturating_add(1), Ordering::SeqCst);
            }
            None => {
                self.lost.store(now, Ordering::SeqCst);
                self.used.store(0, Ordering::SeqCst);
            }
        }
    }
}

/// Lets a thread that unloads a module wait for our thread to be done with the definition that it is reading.
///
/// There is no limit to that wait, since what comes after it frees what is being read. Nor is one needed: our thread
/// calls nothing behind the gate but look-ups in metadata. These take locks that the runtime holds for one such look-up
/// at a time and never while it unloads; the thread that unloads lets collections go on meanwhile.
#[derive(Debug)]
pub(super) struct Gate {
    /// Odd while our thread reads.
    turn: AtomicU32,
}

/// Our thread is reading.
#[derive(Debug)]
pub(super) struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.turn.fetch_add(1, Ordering::SeqCst);
    }
}

impl Gate {
    pub(super) const fn new() -> Self {
        Self { turn: AtomicU32::new(0) }
    }

    /// Enters. Only our own thread does, and not twice.
    pub(super) fn enter(&self) -> Inside<'_> {
        self.turn.fetch_add(1, Ordering::SeqCst);
        // With the one in `wait`: either we see what that thread noted, or it sees us.
        fence(Ordering::SeqCst);
        Inside(self)
    }

    /// Waits until the reading that is under way, if any, is over; at most so long where there is a limit.
    pub(super) fn wait(&self, limit_ms: Option<u32>) {
        const SPINS: u32 = 2000;
        fence(Ordering::SeqCst);
        let turn = self.turn.load(Ordering::SeqCst);
        let is_over = || turn & 1 == 0 || self.turn.load(Ordering::SeqCst) != turn;
        for _ in 0..SPINS {
            if is_over() {
                return;
            }
            core::hint::spin_loop();
        }
        let mut waited_ms = 0_u32;
        while !is_over() && limit_ms.is_none_or(|limit_ms| waited_ms < limit_ms) {
            sys::sleep_ms(1);
            waited_ms = waited_ms.saturating_add(1);
        }
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
    fn who_unloads_waits_for_the_reading_that_is_under_way_and_no_other() {
        let gate = Gate::new();
        gate.wait(None);
        let inside = gate.enter();
        let began = sys::tick_ns();
        gate.wait(Some(20));
        assert!(sys::tick_ns() - began >= 15_000_000);
        std::thread::scope(|scope| {
            let unloads = scope.spawn(|| gate.wait(None));
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!unloads.is_finished());
            drop(inside);
            // The next reading does not keep it.
            let _next = gate.enter();
            unloads.join().unwrap();
        });
    }

    /// As the profiler does it: facts that are kept are marked, the unloading is noted, the gate is passed, and then the
    /// module is freed. Who stamps before reading such facts finds their module there, or is told that it has gone.
    #[test]
    fn nothing_is_read_that_is_gone() {
        const MODULES: usize = 3;
        let (modules, gate) = (modules(), Gate::new());
        let flags = || -> [AtomicBool; MODULES] { std::array::from_fn(|_| AtomicBool::new(true)) };
        let (kept, there, stop) = (flags(), flags(), AtomicBool::new(false));
        let spin = || (0..200).for_each(|_| std::hint::spin_loop());
        std::thread::scope(|scope| {
            for (module, (kept, there)) in kept.iter().zip(&there).enumerate() {
                let (modules, gate, stop) = (&modules, &gate, &stop);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        kept.store(false, Ordering::SeqCst);
                        modules.unloaded(module);
                        gate.wait(None);
                        there.store(false, Ordering::SeqCst);
                        spin();
                        there.store(true, Ordering::SeqCst);
                        kept.store(true, Ordering::SeqCst);
                        spin();
                    }
                });
            }
            let (began, mut read) = (std::time::Instant::now(), 0);
            for module in (0..MODULES).cycle().take(3_000_000) {
                let seen = modules.now();
                if kept[module].load(Ordering::SeqCst) {
                    let _inside = gate.enter();
                    if seen >= modules.unloaded_at(module) {
                        read += 1;
                        assert!(there[module].load(Ordering::SeqCst), "{module} was read when it had gone");
                        spin();
                        assert!(there[module].load(Ordering::SeqCst), "{module} went while it was read");
                    }
                }
                if read >= 100_000 || began.elapsed().as_secs() >= 2 {
                    break;
                }
            }
            stop.store(true, Ordering::SeqCst);
            assert!(read > 0);
        });
    }
}
