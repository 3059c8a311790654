//! The calling thread's own stack on 64-bit Windows, where frames are not linked: the system unwinds one after the other
//! by the tables that compilers, and the runtime for its compiled code, have registered.

use core::arch::asm;
use core::ffi::c_void;
use core::ptr;

/// `CONTEXT`, of which the system needs all.
#[repr(C, align(16))]
struct Context([u8; 1232]);

/// Offsets of `Rsp` and `Rip`.
const STACK: usize = 0x98;
const INSTRUCTION: usize = 0xf8;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn RtlCaptureContext(context: *mut Context);
    fn RtlLookupFunctionEntry(address: u64, base: *mut u64, history: *mut c_void) -> *mut c_void;
    fn RtlVirtualUnwind(
        handlers: u32,
        base: u64,
        address: u64,
        function: *mut c_void,
        context: *mut Context,
        handler_data: *mut *mut c_void,
        frame: *mut u64,
        pointers: *mut c_void,
    ) -> *mut c_void;
}

/// The registers of a frame of the calling thread, from a frame of the caller outwards.
pub(crate) struct OwnStack {
    context: Context,
    /// No frame beyond this address is read.
    end: usize,
}

impl OwnStack {
    /// At most `reach` bytes of stack above the calling function, and that function's stack pointer.
    #[inline(always)]
    pub(crate) fn here(reach: usize) -> Option<(Self, usize)> {
        let mut stack = Self { context: Context([0; 1232]), end: 0 };
        // SAFETY: the context can be written, and has its size and alignment.
        unsafe { RtlCaptureContext(&raw mut stack.context) };
        let base: usize;
        // SAFETY: reads the end of the stack from the thread's own information block.
        unsafe { asm!("mov {}, gs:[8]", out(reg) base, options(nostack, preserves_flags, readonly)) };
        let frame = stack.register(STACK)?;
        stack.end = frame.checked_add(reach)?.min(base);
        Some((stack, frame))
    }

    fn register(&self, at: usize) -> Option<usize> {
        let bytes = self.context.0.get(at..)?.first_chunk()?;
        usize::try_from(u64::from_ne_bytes(*bytes)).ok()
    }

    fn set_register(&mut self, at: usize, value: usize) -> Option<()> {
        let value = (value as u64).to_ne_bytes();
        self.context.0.get_mut(at..)?.first_chunk_mut::<8>()?.copy_from_slice(&value);
        Some(())
    }

    /// The stack pointer of the outer frame, and the return address into it.
    pub(crate) fn link(&mut self, _frame: usize) -> Option<(usize, usize)> {
        const WORD: usize = size_of::<usize>();
        let (stack, address) = (self.register(STACK)?, self.register(INSTRUCTION)?);
        if stack.checked_add(WORD)? > self.end || !stack.is_multiple_of(WORD) {
            return None;
        }
        let (mut base, mut frame, mut data) = (0, 0, ptr::null_mut());
        // SAFETY: `base` can be written, and there is no history.
        let function = unsafe { RtlLookupFunctionEntry(address as u64, &raw mut base, ptr::null_mut()) };
        if function.is_null() {
            // A function without an entry has no frame: the return address is on top of the stack.
            // SAFETY: an aligned word between this frame and the end of the thread's stack.
            let caller = unsafe { ptr::with_exposed_provenance::<usize>(stack).read_volatile() };
            self.set_register(INSTRUCTION, caller)?;
            self.set_register(STACK, stack.checked_add(WORD)?)?;
        } else {
            // SAFETY: the entry is that of the address, and the context that of a frame of this thread. No handler runs.
            unsafe {
                RtlVirtualUnwind(
                    0,
                    base,
                    address as u64,
                    function,
                    &raw mut self.context,
                    &raw mut data,
                    &raw mut frame,
                    ptr::null_mut(),
                );
            }
        }
        let (outer, caller) = (self.register(STACK)?, self.register(INSTRUCTION)?);
        (caller != 0 && outer <= self.end).then_some((outer, caller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each address is one of the code of the function that called.
    #[test]
    fn frames_are_unwound_from_the_inside_to_the_outside() {
        type Links = Vec<(usize, usize)>;
        #[inline(never)]
        fn inner() -> Links {
            let (mut stack, frame) = OwnStack::here(1 << 16).unwrap();
            std::hint::black_box((0..3).map(|_| stack.link(frame).unwrap()).collect())
        }
        #[inline(never)]
        fn outer() -> Links {
            std::hint::black_box(inner())
        }
        let links = outer();
        assert!(links.windows(2).all(|pair| pair[0].0 < pair[1].0), "{links:x?}");
        let start = (outer as *const ()).addr();
        assert!((1..1000).contains(&links[0].1.wrapping_sub(start)), "{links:x?} {start:x}");
    }

    /// Unwinds the whole stack of a thread.
    #[test]
    fn the_end_of_the_stack_is_the_end_of_its_frames() {
        let all = || {
            let (mut stack, frame) = OwnStack::here(1 << 40).unwrap();
            (0..1000).map_while(|_| stack.link(frame)).count()
        };
        let count = std::thread::spawn(all).join().unwrap();
        assert!((3..1000).contains(&count), "{count}");
    }
}
