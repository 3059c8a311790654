//! The calling thread's own stack.
//!
//! The runtime's walk of it begins at the last place where managed code was left in an orderly way,
//! and passes over methods that called straight into the runtime, as those that make handles do. So
//! the innermost managed frame is looked for first, along the chain of frame pointers that the runtime
//! is built with, in a copy of the stack that is taken by the kernel: a chain that is broken leads
//! nowhere and does no harm. Where it cannot be found, nothing is claimed.

use crate::info::{Info, Seed};
use crate::sys;

/// How much of the stack is looked at for it: the runtime's own frames of one event.
const COPY_BYTES: usize = 6 * 1024;

/// The innermost managed frame below the runtime's frames that called us.
///
/// Not inlined, like the walk that needs room for all registers: what is copied begins at this frame,
/// and is not to be spent on our own.
#[inline(never)]
pub(super) fn innermost_managed(info: Info) -> Option<Seed> {
    let start = sys::frame_pointer()?;
    let mut copy = [0_u8; COPY_BYTES];
    let copy = sys::copy_own_memory(start, &mut copy);
    let word = |at: usize| -> Option<usize> {
        let bytes = copy.get(at.checked_sub(start)?..)?.first_chunk::<{ size_of::<usize>() }>()?;
        Some(usize::from_ne_bytes(*bytes))
    };
    let mut frame = start;
    loop {
        let outer = word(frame)?;
        let caller = word(frame.checked_add(size_of::<usize>())?)?;
        // The address is that of the instruction after the call.
        if info.function_at(caller.checked_sub(1)?).is_ok_and(|function| function != 0) {
            let stack = frame.checked_add(size_of::<[usize; 2]>())?;
            return Some(Seed { instruction: caller, stack, frame: outer });
        }
        if outer <= frame || !outer.is_multiple_of(size_of::<usize>()) {
            return None;
        }
        frame = outer;
    }
}
