//! What the agent needs of the operating system: a clock, memory, threads, one connection. All systems offer the same
//! functions.

mod lease_sign;
mod library_range;
mod own_stack;
mod prefetch;
mod received;
#[cfg(unix)]
mod unix;
#[cfg(all(windows, target_arch = "x86_64"))]
mod unwound_stack;
#[cfg(windows)]
mod windows;

pub(crate) use lease_sign::LeaseSign;
pub(crate) use library_range::library_range;
pub(crate) use own_stack::{OwnStack, STACK_FOLLOWS_FRAME};
pub(crate) use prefetch::prefetch;
pub(crate) use received::Received;
#[cfg(target_os = "linux")]
pub(crate) use unix::copy;
#[cfg(unix)]
pub(crate) use unix::lease::Lease;
#[cfg(not(target_os = "linux"))]
pub(crate) mod no_copy;
#[cfg(not(target_os = "linux"))]
pub(crate) use no_copy as copy;
#[cfg(unix)]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_monotonic() {
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
