//! The calling thread's own stack, read in place.
//!
//! A stack is mapped from the current frame up to its end. A callback cannot ask where that end is, because the C
//! library would read files, allocate and lock for the answer. So each page after the first is checked before it is
//! read, with a system call that every C library makes when it starts a thread: a seccomp filter that forbids it would
//! break every program. `process_vm_readv` would do the same in one call, but filters of real programs kill the process
//! for it.

#[cfg(all(windows, target_arch = "x86_64"))]
pub(crate) use super::unwound_stack::OwnStack;
#[cfg(target_os = "linux")]
pub(crate) use linked::OwnStack;
#[cfg(not(any(target_os = "linux", all(windows, target_arch = "x86_64"))))]
pub(crate) use unknown::OwnStack;

/// Whether a function's stack pointer lies just above its caller's frame pointer and return address. Windows links no
/// frames, and on arm64 the stack pointer may be anywhere below the frame pointer.
pub(crate) const STACK_FOLLOWS_FRAME: bool = cfg!(all(target_arch = "x86_64", not(windows)));

/// For systems on which frames are linked by frame pointers: each points to the outer frame's pointer, and the return
/// address lies above that.
#[cfg(target_os = "linux")]
mod linked {
    use core::arch::asm;
    use core::ptr;

    use crate::sys::unix::thread_id;

    const PAGE: usize = 4096;
    const WORD: usize = size_of::<usize>();

    /// A part of the calling thread's stack, from a frame of the caller upwards.
    #[derive(Debug)]
    pub(crate) struct OwnStack {
        start: usize,
        end: usize,
        /// Everything from `start` up to here is readable.
        checked: usize,
    }

    impl OwnStack {
        /// At most `reach` bytes of stack above the calling function, and that function's frame pointer.
        #[inline(always)]
        pub(crate) fn here(reach: usize) -> Option<(Self, usize)> {
            let frame: usize;
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this only reads a register.
            unsafe {
                asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack, preserves_flags));
            }
            #[cfg(target_arch = "aarch64")]
            // SAFETY: this only reads a register.
            unsafe {
                asm!("mov {}, x29", out(reg) frame, options(nomem, nostack, preserves_flags));
            }
            let local = 0_usize;
            Some((Self::above(ptr::from_ref(&local).expose_provenance(), reach)?, frame))
        }

        /// `start` is the address of a value on the stack.
        fn above(start: usize, reach: usize) -> Option<Self> {
            let end = start.checked_add(reach)?;
            // The thread's id is the address of the C library's thread record. It lies above the stack in the same
            // mapping, except for the main thread, whose stack is above everything.
            let record = thread_id();
            let end = if record > start { end.min(record) } else { end };
            Some(Self { start, end, checked: page_after(start)? })
        }

        /// The outer frame's pointer and the return address of a frame.
        pub(crate) fn link(&mut self, frame: usize) -> Option<(usize, usize)> {
            let outer = self.word(frame)?;
            Some((outer, unsigned(self.word(frame.checked_add(WORD)?)?)))
        }

        /// The word at an address; `None`: it is not on this part of the stack.
        fn word(&mut self, at: usize) -> Option<usize> {
            let end = at.checked_add(WORD)?;
            if at < self.start || end > self.end || !at.is_multiple_of(WORD) {
                return None;
            }
            while self.checked < end {
                if !is_readable(self.checked) {
                    return None;
                }
                self.checked = page_after(self.checked)?;
            }
            // SAFETY: an aligned word on a readable page. It stays readable: between `start` and the thread record, or
            // the end of the mapping, is only this thread's stack, which exists while the thread runs.
            Some(unsafe { ptr::with_exposed_provenance::<usize>(at).read_volatile() })
        }
    }

    fn page_after(address: usize) -> Option<usize> {
        (address | PAGE.wrapping_sub(1)).checked_add(1)
    }

    /// A return address as it is on the stack, without the signature that arm64 code may have put into its upper bits.
    fn unsigned(address: usize) -> usize {
        #[cfg(target_arch = "aarch64")]
        {
            let plain: usize;
            // SAFETY: `xpaclri`, which changes only x30, and does nothing on processors that do not sign addresses.
            unsafe {
                asm!("hint #7", inout("x30") address => plain, options(nomem, nostack, preserves_flags));
            }
            plain
        }
        #[cfg(not(target_arch = "aarch64"))]
        address
    }

    /// Whether the word at an address is readable. Asks the kernel to change the thread's signal mask in an invalid
    /// way, with a mask at that address: the kernel reads the mask before it checks the way.
    fn is_readable(address: usize) -> bool {
        const EINVAL: isize = 22;
        const INVALID: isize = -1;
        let answer: isize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `rt_sigprocmask`. The kernel reads the mask or fails, and changes nothing in either case. The C
        // library is bypassed, because it would change the program's `errno`.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") 14_isize => answer,
                in("rdi") INVALID,
                in("rsi") address,
                in("rdx") 0_usize,
                in("r10") WORD,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack, readonly),
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            asm!(
                "svc #0",
                in("x8") 135_isize,
                inlateout("x0") INVALID => answer,
                in("x1") address,
                in("x2") 0_usize,
                in("x3") WORD,
                options(nostack, readonly),
            );
        }
        answer == EINVAL.wrapping_neg()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_what_is_mapped_can_be_read() {
            let words = [7_usize; 3];
            assert!(is_readable(ptr::from_ref(&words).addr()));
            for address in [0, 8, PAGE, 1 << 47, usize::MAX - 7] {
                assert!(!is_readable(address), "{address:x}");
            }
        }

        #[test]
        fn the_stack_is_read_from_its_start_to_its_end_and_not_beyond() {
            let words: [usize; 2000] = std::array::from_fn(|index| index * 3);
            let start = words.as_ptr().expose_provenance();
            let mut stack = OwnStack::above(start, 1500 * WORD).unwrap();
            for index in [0, 1, 700, 1499, 3] {
                assert_eq!(stack.word(start + index * WORD), Some(index * 3));
            }
            assert_eq!(stack.word(start + 1500 * WORD), None, "out of reach");
            assert_eq!(stack.word(start - WORD), None, "below");
            assert_eq!(stack.word(start + 1), None, "between words");
            assert_eq!(stack.word(usize::MAX), None);
        }

        /// Each function on the way has a frame of its own, and the addresses are those of their code. On x86-64 only
        /// the library is compiled with frame pointers, not the tests.
        #[cfg(target_arch = "aarch64")]
        #[test]
        fn frames_are_linked_from_the_inside_to_the_outside() {
            type Links = Vec<(usize, usize)>;
            #[inline(never)]
            fn inner() -> Links {
                let (mut stack, mut frame) = OwnStack::here(1 << 16).unwrap();
                let links = (0..3).map(|_| {
                    let link = stack.link(frame).unwrap();
                    frame = link.0;
                    link
                });
                std::hint::black_box(links.collect())
            }
            #[inline(never)]
            fn outer() -> Links {
                std::hint::black_box(inner())
            }
            let links = outer();
            assert!(links.windows(2).all(|pair| pair[0].0 < pair[1].0), "{links:x?}");
            // Code is small, so a function's code follows its start closely.
            let starts = [outer as *const ()];
            for (start, (_, address)) in starts.iter().zip(&links) {
                assert!((1..1000).contains(&(address - start.addr())), "{links:x?} {start:p}");
            }
        }

        #[cfg(target_arch = "aarch64")]
        #[test]
        fn signatures_are_removed_from_return_addresses() {
            let plain = is_readable as *const () as usize;
            let signed: usize;
            // SAFETY: `pacia1716` only changes x17, and does nothing on processors that do not sign addresses.
            unsafe {
                asm!("hint #8", inout("x17") plain => signed, in("x16") 0x1234_5678_usize, options(nomem, nostack));
            }
            println!("{plain:x} signed is {signed:x}");
            assert_eq!(unsigned(signed), plain);
            assert_eq!(unsigned(plain), plain);
        }

        /// Reads the whole stack of a thread, up to where it is not readable.
        #[test]
        fn a_reach_beyond_the_end_is_no_fault() {
            let all = || {
                let local = 1_usize;
                let start = ptr::from_ref(&local).expose_provenance();
                let mut stack = OwnStack::above(start, 1 << 40).unwrap();
                (0..).map_while(|index: usize| stack.word(start + index * WORD)).count()
            };
            let count = std::thread::Builder::new().stack_size(1 << 20).spawn(all).unwrap().join().unwrap();
            assert!(count > 10 && count < (1 << 20) / WORD, "{count}");
        }

        #[test]
        fn reading_changes_neither_the_signal_mask_nor_errno() {
            let status = || {
                let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
                text.lines().find(|line| line.starts_with("SigBlk")).unwrap().to_owned()
            };
            let before = status();
            assert!(std::fs::metadata("/nonexistent").is_err());
            let error = std::io::Error::last_os_error().raw_os_error();
            let mask = [usize::MAX; 4];
            assert!(is_readable(ptr::from_ref(&mask).addr()) && !is_readable(0));
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), error);
            assert_eq!(status(), before);
        }
    }
}

/// For all other systems.
#[cfg(not(any(target_os = "linux", all(windows, target_arch = "x86_64"))))]
mod unknown {
    /// Cannot be made.
    #[derive(Debug)]
    pub(crate) enum OwnStack {}

    impl OwnStack {
        pub(crate) fn here(_reach: usize) -> Option<(Self, usize)> {
            None
        }

        pub(crate) fn link(&mut self, _frame: usize) -> Option<(usize, usize)> {
            None
        }
    }
}
