//! What is needed of the operating system: a clock, memory, a thread, one connection. Both systems
//! offer the same functions.

mod library_range;
mod own_stack;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub(crate) use library_range::library_range;
pub(crate) use own_stack::OwnStack;
#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// What the lease connection had to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseSign {
    /// At least one byte: the other end is there.
    Alive,
    /// Nothing.
    Silent,
    /// The other end is gone.
    Closed,
    /// The program has closed the connection. Its number may mean something of the program's by now.
    Taken,
}

/// Has the memory at an address brought near, where there is any. Nothing is read, and nothing can fail.
pub(crate) fn fetch(address: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction, and it takes any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::without_provenance(address as usize)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_may_be_fetched() {
        for address in [0, 1, 0x1000, 1 << 47, 1 << 63, u64::MAX] {
            fetch(address);
        }
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let first = tick_ns();
        sleep_ms(2);
        let second = tick_ns();
        assert!(second >= first + 1_000_000, "{first} then {second}");
    }

    #[test]
    fn memory_is_mapped_zeroed_and_writable() {
        let memory = map(100_000).unwrap();
        // SAFETY: 100,000 bytes were mapped just now, and nobody else has the pointer.
        let bytes = unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), 100_000) };
        assert!(bytes.iter().all(|byte| *byte == 0));
        bytes.fill(1);
    }

    #[test]
    fn a_thread_runs() {
        use std::sync::atomic::{AtomicBool, Ordering};
        static RAN: AtomicBool = AtomicBool::new(false);
        extern "C" fn main() {
            RAN.store(true, Ordering::Release);
        }
        assert!(spawn(main));
        let deadline = tick_ns() + 60_000_000_000;
        while !RAN.load(Ordering::Acquire) {
            assert!(tick_ns() < deadline, "the thread did not run within 60 s");
            sleep_ms(1);
        }
    }

    #[test]
    fn a_waiting_thread_is_woken() {
        use std::sync::atomic::{AtomicU32, Ordering};
        static WORD: AtomicU32 = AtomicU32::new(0);
        let waiter = std::thread::spawn(|| {
            let began = tick_ns();
            while WORD.load(Ordering::SeqCst) == 0 {
                wait_while(&WORD, 0, 20_000);
            }
            tick_ns() - began
        });
        sleep_ms(30);
        WORD.store(1, Ordering::SeqCst);
        wake(&WORD);
        assert!(waiter.join().unwrap() < 10_000_000_000);
        let began = tick_ns();
        wait_while(&WORD, 1, 20);
        assert!(tick_ns() - began >= 15_000_000, "nobody woke it");
        wait_while(&WORD, 0, 20_000);
    }

    #[test]
    fn threads_have_their_own_number() {
        let mine = thread_id();
        assert_eq!(mine, thread_id());
        assert_ne!(mine, std::thread::spawn(thread_id).join().unwrap());
    }

    #[test]
    fn processors_are_counted() {
        assert!(processors() >= std::thread::available_parallelism().unwrap().get());
    }
}
