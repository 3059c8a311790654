//! Where the calling thread left managed code, and from where it came.
//!
//! The runtime's walk of it begins at the last place where managed code was left in an orderly way,
//! and passes over methods that called straight into the runtime, as those that make handles do. So
//! the innermost managed frame is looked for first, along the chain of frame pointers that the runtime
//! is built with. Where the chain is broken and leads away, or the frame is not found, nothing is claimed.
//!
//! The runtime's walk also leaves out methods that were made at run time, such as compiled expressions, and with them
//! whatever was compiled into them. Managed code has frame pointers, too, so the chain goes on through it, and shows
//! where such methods are. Otherwise their callers would be taken for what called. Where the runtime does not name
//! such code (.NET 8 and 9), all that is known is that there is some between two methods.

use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::hresult::UNSUPPORTED_CALL_SEQUENCE;
use crate::info::{Info, Seed};
use crate::sys::{self, OwnStack};
use crate::wire;

/// Stands for code between two methods that the runtime does not name. No `FunctionID`: nothing is asked about it.
pub(super) const CODE_WITHOUT_METHOD: usize = wire::CODE_WITHOUT_METHOD as usize;

/// How much of the stack is looked at for the innermost managed frame, and those that follow.
const REACH_BYTES: usize = 32 * 1024;
/// Links of the chain that are followed: frames of the runtime's own count, too.
const LINKS: usize = 256;
/// What the runtime calls its own methods that are made at run time, which pass calls on.
const STUB: &[u8; 7] = b"IL_STUB";

/// Where the runtime's own code begins and ends: the same in every stay. 0 where that is not known.
static RUNTIME: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Finds out what has to be known before stacks are looked at.
pub(super) fn prepare(info: Info) {
    if let Some((start, end)) = sys::library_range(info.runtime_code()) {
        let [first, behind] = &RUNTIME;
        first.store(start, SeqCst);
        behind.store(end, SeqCst);
    }
}

fn is_runtime_code(address: usize) -> bool {
    let [first, behind] = &RUNTIME;
    (first.load(SeqCst)..behind.load(SeqCst)).contains(&address)
}

/// Frames of the stack, one after the other, outwards.
struct Chain {
    stack: OwnStack,
    frame: usize,
    left: usize,
    /// The runtime names only code of methods with metadata.
    metadata_only: bool,
    /// The runtime's own frames were reached, which called us.
    in_runtime: bool,
}

/// A return address into managed code.
#[derive(Clone, Copy)]
struct Link {
    function: usize,
    seed: Seed,
    /// Code that the runtime does not name lies between this frame and the one before, further in.
    after_unnamed_code: bool,
}

impl Chain {
    /// The next frame of managed code.
    fn next(&mut self, info: Info) -> Option<Link> {
        let mut after_unnamed_code = false;
        loop {
            self.left = self.left.checked_sub(1)?;
            let frame = self.frame;
            let outer = self.stack.word(frame)?;
            let caller = self.stack.word(frame.checked_add(size_of::<usize>())?)?;
            // The address is that of the instruction after the call.
            let address = caller.checked_sub(1)?;
            let mut found = info.function_at(address);
            if found == Err(UNSUPPORTED_CALL_SEQUENCE) {
                self.metadata_only = true;
                found = info.method_at(address);
            }
            let function = found.unwrap_or(0);
            let is_last = outer <= frame;
            self.frame = outer;
            if is_last {
                self.left = 0;
            }
            if function != 0 {
                let stack = frame.checked_add(size_of::<[usize; 2]>())?;
                let seed = Seed { instruction: caller, stack, frame: outer };
                return Some(Link { function, seed, after_unnamed_code });
            }
            if is_runtime_code(address) {
                self.in_runtime = true;
            } else if self.in_runtime && self.metadata_only {
                after_unnamed_code = true;
            }
        }
    }
}

/// What kind of method a frame is of.
enum Kind {
    /// With metadata: the runtime's walk tells it.
    Told,
    /// Made at run time by the program or a library.
    Dynamic,
    /// Made at run time by the runtime, to pass a call on.
    Stub,
}

/// # Safety
/// `function` is a `FunctionID` that cannot be unloaded meanwhile.
unsafe fn kind(info: Info, function: usize) -> Kind {
    // SAFETY: by the contract.
    if unsafe { info.is_dynamic(function) } != Ok(true) {
        return Kind::Told;
    }
    let mut name = [0; 64];
    // SAFETY: by the contract.
    let length = unsafe { info.dynamic_name(function, &mut name) }.unwrap_or(0);
    let name = name.get(..length).unwrap_or_default();
    if name.iter().copied().take(STUB.len()).eq(STUB.map(u16::from)) { Kind::Stub } else { Kind::Dynamic }
}

/// The methods of the calling thread's frames, innermost first, as many as there is room for, and
/// [`CODE_WITHOUT_METHOD`]; `None` where the innermost is not found. `told` is room for as many.
///
/// Not inlined, like the walk that needs room for all registers: what is in reach begins at this frame,
/// and is not to be spent on our own.
#[inline(never)]
pub(super) fn own_methods<'a>(
    info: Info,
    methods: &'a mut [usize],
    told: &mut [usize],
) -> Option<&'a [usize]> {
    let (stack, frame) = OwnStack::here(REACH_BYTES)?;
    let mut chain = Chain { stack, frame, left: LINKS, metadata_only: false, in_runtime: false };
    let innermost = chain.next(info)?;
    // SAFETY: a frame of this thread.
    let told = unsafe { info.own_stack(Some(innermost.seed), told) }.unwrap_or_default();
    let mut told = told.iter().copied().peekable();
    let (mut link, mut count) = (Some(innermost), 0_usize);
    while let Some(free) = methods.get_mut(count) {
        // SAFETY: its frame is on the calling thread's stack.
        let kind = link.map(|link| unsafe { kind(info, link.function) });
        *free = match (kind, link) {
            (Some(Kind::Stub), _) => {
                link = chain.next(info);
                continue;
            }
            (Some(Kind::Dynamic), Some(Link { function, .. })) => function,
            (Some(Kind::Told), Some(found))
                if found.after_unnamed_code && told.peek() == Some(&found.function) =>
            {
                *free = CODE_WITHOUT_METHOD;
                count = count.saturating_add(1);
                link = Some(Link { after_unnamed_code: false, ..found });
                continue;
            }
            (Some(Kind::Told), Some(Link { function, .. })) if told.peek() == Some(&function) => {
                told.next();
                function
            }
            // The chain ends, or is not what the runtime finds: it has the word from here on.
            _ => {
                link = None;
                match told.next() {
                    Some(function) => {
                        *free = function;
                        count = count.saturating_add(1);
                        continue;
                    }
                    None => break,
                }
            }
        };
        count = count.saturating_add(1);
        link = chain.next(info);
    }
    methods.get(..count)
}
