//! Modules that were unloaded, and the gate that keeps a module loaded while it is read.
//!
//! The order makes this safe. A reader takes a stamp ([`Modules::now`]) before it looks at a module, enters the gate,
//! and then checks that the module was not unloaded after the stamp. A thread that unloads a module first records that
//! ([`Modules::unloaded`]), and then waits for the one read that may have begun before ([`Gate::wait`]).

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use crate::agent::table::{Atomics, Table};
use crate::sys;

const CAPACITY: usize = 4096;

zeroed! {
    /// When a module at each address was last unloaded.
    #[derive(Debug)]
    pub(super) struct Modules {
        table: Table<Gone, CAPACITY>,
        used: AtomicUsize,
        /// Whether a thread is writing. Others that unload a module wait for it.
        writing: AtomicBool,
        /// How many unloads were recorded since the library was loaded.
        unloads: AtomicU64,
        /// That number when the table was last emptied: every stamp before it counts as too old.
        lost: AtomicU64,
    }
}

#[derive(Debug)]
struct Gone {
    module: AtomicUsize,
    unloaded_at: AtomicU64,
}

// SAFETY: atomics only.
unsafe impl Atomics for Gone {}

impl Modules {
    pub(super) fn prepare(&self) -> bool {
        if !self.table.map() {
            return false;
        }
        // While the profiler was not loaded, unloads were not recorded.
        let now = self.unloads.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        self.lost.store(now, Ordering::SeqCst);
        true
    }

    /// The stamp to take before looking at a module.
    pub(super) fn now(&self) -> u64 {
        self.unloads.load(Ordering::SeqCst)
    }

    fn used(&self) -> &[Gone] {
        self.table.all().get(..self.used.load(Ordering::Acquire)).unwrap_or_default()
    }

    fn find(&self, module: usize) -> Option<&Gone> {
        self.used().iter().find(|gone| gone.module.load(Ordering::Relaxed) == module)
    }

    /// The stamp of the last unload at this address; 0: none. What was seen with an older stamp is gone.
    pub(super) fn unloaded_at(&self, module: usize) -> u64 {
        let gone = self.find(module).map_or(0, |gone| gone.unloaded_at.load(Ordering::SeqCst));
        // Read after the table: when the table is emptied, this is written first.
        gone.max(self.lost.load(Ordering::SeqCst))
    }

    /// Records that the module at this address is being unloaded. The caller has marked what it keeps of the module.
    pub(super) fn unloaded(&self, module: usize) {
        while self.writing.swap(true, Ordering::SeqCst) {
            sys::sleep_ms(1);
        }
        let next = self.now().wrapping_add(1);
        self.note(module, next);
        // Last: whoever gets this stamp can see the record.
        self.unloads.store(next, Ordering::SeqCst);
        self.writing.store(false, Ordering::SeqCst);
    }

    fn note(&self, module: usize, now: u64) {
        if let Some(gone) = self.find(module) {
            gone.unloaded_at.store(now, Ordering::SeqCst);
            return;
        }
        let used = self.used.load(Ordering::Acquire);
        match self.table.all().get(used) {
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

zeroed! {
    /// Makes a thread that unloads a module wait until our thread has read the definition that it is reading.
    ///
    /// The wait has no limit, because the runtime frees the module afterwards. It is short: behind the gate our thread
    /// only looks up metadata. The locks for that are held by the runtime for one look-up at a time and never while it
    /// unloads, and collections can run while a thread waits here.
    #[derive(Debug)]
    pub(super) struct Gate {
        /// Odd while our thread is reading.
        turn: AtomicU32,
    }
}

/// Our thread is reading until this is dropped.
#[derive(Debug)]
pub(super) struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.turn.fetch_add(1, Ordering::SeqCst);
    }
}

impl Gate {
    /// Begins a read. Only our own thread may call this, and reads do not nest.
    pub(super) fn enter(&self) -> Inside<'_> {
        self.turn.fetch_add(1, Ordering::SeqCst);
        // Pairs with the fence in `wait`: either we see the record of the unload, or `wait` sees that we read.
        fence(Ordering::SeqCst);
        Inside(self)
    }

    /// Waits until the current read, if any, is over; at most `limit_ms`, if there is a limit.
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
    use crate::agent::zero::Zero;

    fn modules() -> Modules {
        let modules = Modules::ZERO;
        assert!(modules.prepare());
        modules
    }

    #[test]
    fn an_unload_voids_what_was_seen_before() {
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
    fn a_full_table_voids_everything_that_was_seen_before() {
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
    fn unloading_waits_for_the_current_read_only() {
        let gate = Gate::ZERO;
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
            // The next read does not delay it.
            let _next = gate.enter();
            unloads.join().unwrap();
        });
    }

    /// As in the profiler: what is kept of a module is marked, the unload is recorded, the gate is passed, and the
    /// module is freed. A reader that takes a stamp first finds the module loaded, or learns that it is gone.
    #[test]
    fn no_unloaded_module_is_read() {
        const MODULES: usize = 3;
        let (modules, gate) = (modules(), Gate::ZERO);
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
                        assert!(
                            there[module].load(Ordering::SeqCst),
                            "{module} was read after it was unloaded"
                        );
                        spin();
                        assert!(
                            there[module].load(Ordering::SeqCst),
                            "{module} was unloaded while it was read"
                        );
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
