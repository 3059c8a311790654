//! The managed methods on the calling thread's stack.
//!
//! `DoStackSnapshot` begins at the last place where managed code left with a transition frame, and skips methods that
//! call into the runtime without one, as those that allocate handles do. So we first find the innermost managed frame
//! along the chain of frame pointers, which the runtime is compiled with, and start the snapshot there. If the chain is
//! broken or the frame is not found, nothing is reported.
//!
//! `DoStackSnapshot` also leaves out dynamic methods, such as compiled expressions, and whatever was inlined into them.
//! JIT compiled code has frame pointers, too, so the chain shows where dynamic methods are; without it their callers
//! would be taken for the innermost methods. .NET 8 and 9 do not name such code: there we only know that some lies
//! between two methods.
//!
//! On arm64 the chain is all there is: the frame that calls has its stack pointer anywhere below its frame pointer, and
//! `DoStackSnapshot` would unwind from a wrong one. On Windows the system unwinds the frames instead, of dynamic methods
//! too. So methods beyond the reach are not reported there.

use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::hresult::UNSUPPORTED_CALL_SEQUENCE;
use crate::info::{Info, Seed};
use crate::sys::{self, OwnStack};
use crate::wire;

/// Stands for code between two methods that the runtime does not name. It is no `FunctionID`.
pub(super) const CODE_WITHOUT_METHOD: usize = wire::CODE_WITHOUT_METHOD as usize;

/// How far up the stack the chain is followed.
const REACH_BYTES: usize = 32 * 1024;
/// How many links of the chain are followed, frames of native code included.
const MAX_LINKS: usize = 256;
/// The names of the runtime's own dynamic methods begin with this. They pass calls on.
const STUB: &[u8; 7] = b"IL_STUB";

/// Address range of the runtime's library; 0: not known.
static RUNTIME: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Finds the runtime's address range.
pub(super) fn prepare(info: Info) {
    if let Some((start, end)) = sys::library_range(info.runtime_code()) {
        let [first, last] = &RUNTIME;
        first.store(start, SeqCst);
        last.store(end, SeqCst);
    }
}

fn is_runtime_code(address: usize) -> bool {
    let [first, last] = &RUNTIME;
    (first.load(SeqCst)..last.load(SeqCst)).contains(&address)
}

/// Walks the chain of frame pointers outwards.
struct Chain {
    stack: OwnStack,
    frame: usize,
    left: usize,
    /// The runtime names only methods with metadata.
    metadata_only: bool,
    /// A frame of the runtime was passed.
    in_runtime: bool,
}

/// A return address into managed code.
#[derive(Clone, Copy)]
struct Link {
    function: usize,
    /// The frame that called, where its registers are known.
    seed: Option<Seed>,
    /// Code that the runtime does not name lies between this frame and the next inner one.
    after_unnamed_code: bool,
}

impl Chain {
    /// The next frame of managed code.
    fn next(&mut self, info: Info) -> Option<Link> {
        let mut after_unnamed_code = false;
        loop {
            self.left = self.left.checked_sub(1)?;
            let frame = self.frame;
            let (outer, caller) = self.stack.link(frame)?;
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
                let seed = Seed::of_caller(frame, outer, caller);
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
    /// It has metadata, so the snapshot has it.
    Static,
    /// A dynamic method of the program or a library.
    Dynamic,
    /// A dynamic method of the runtime that passes a call on.
    Stub,
}

/// # Safety
/// `function` is a `FunctionID` that cannot be unloaded meanwhile.
unsafe fn kind(info: Info, function: usize) -> Kind {
    // SAFETY: by the contract.
    if unsafe { info.is_dynamic(function) } != Ok(true) {
        return Kind::Static;
    }
    let mut name = [0; 64];
    // SAFETY: by the contract.
    let length = unsafe { info.dynamic_name(function, &mut name) }.unwrap_or(0);
    let name = name.get(..length).unwrap_or_default();
    if name.iter().copied().take(STUB.len()).eq(STUB.map(u16::from)) { Kind::Stub } else { Kind::Dynamic }
}

/// The methods on the calling thread's stack, innermost first, as many as fit, with [`CODE_WITHOUT_METHOD`] between
/// them where that applies. `None`: the innermost frame was not found. `snapshot` is scratch space of the same size.
///
/// Not inlined, and neither is `own_stack`, whose frame is large: the reach begins at this frame and should not be used
/// up by our own.
#[inline(never)]
pub(super) fn own_methods<'a>(
    info: Info,
    methods: &'a mut [usize],
    snapshot: &mut [usize],
) -> Option<&'a [usize]> {
    let (stack, frame) = OwnStack::here(REACH_BYTES)?;
    let mut chain = Chain { stack, frame, left: MAX_LINKS, metadata_only: false, in_runtime: false };
    let innermost = chain.next(info)?;
    let snapshot = innermost.seed.map(|seed| {
        // SAFETY: a frame of this thread.
        unsafe { info.own_stack(Some(seed), snapshot) }.unwrap_or_default()
    });
    let is_alone = snapshot.is_none();
    let mut snapshot = snapshot.unwrap_or_default().iter().copied().peekable();
    let (mut link, mut count) = (Some(innermost), 0_usize);
    while let Some(free) = methods.get_mut(count) {
        // SAFETY: the method's frame is on the calling thread's stack.
        let kind = link.map(|link| unsafe { kind(info, link.function) });
        *free = match (kind, link) {
            (Some(Kind::Stub), _) => {
                link = chain.next(info);
                continue;
            }
            (Some(Kind::Dynamic), Some(Link { function, .. })) => function,
            (Some(Kind::Static), Some(found))
                if found.after_unnamed_code && (is_alone || snapshot.peek() == Some(&found.function)) =>
            {
                *free = CODE_WITHOUT_METHOD;
                count = count.saturating_add(1);
                link = Some(Link { after_unnamed_code: false, ..found });
                continue;
            }
            (Some(Kind::Static), Some(Link { function, .. }))
                if is_alone || snapshot.next_if_eq(&function).is_some() =>
            {
                function
            }
            // The chain ends, or differs from the snapshot: from here on the snapshot counts.
            _ => {
                link = None;
                match snapshot.next() {
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
