//! Methods that make handles. Their facts are kept, since a handle outlives the frame that made it.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use super::facts::is_definition;
use super::stack::innermost_managed;
use crate::agent::Profiler;
use crate::info::Info;
use crate::sys;

/// Methods that are told apart; a power of two.
const CAPACITY: usize = 4096;
/// How far a search goes.
const STEPS: usize = 64;
/// Frames that are looked at.
const FRAMES: usize = 8;
/// Types whose methods make handles for others.
const HELPERS: usize = 12;

/// States: 0 while somebody is at it.
///
/// It has a definition.
const KNOWN: u32 = 1;
/// It makes handles for the method that called it.
const HELPER: u32 = 1 << 1;
/// It is made of other types, which may belong to any module.
const GENERIC: u32 = 1 << 2;
/// It was unloaded: its identifier may be another's now.
const GONE: u32 = 1 << 3;
/// It has no definition.
const UNNAMED: u32 = 1 << 4;

#[derive(Debug)]
struct Creator {
    function: AtomicUsize,
    module: AtomicUsize,
    token: AtomicU32,
    state: AtomicU32,
}

/// The facts of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) function: usize,
    pub(super) module: usize,
    pub(super) token: u32,
}

#[derive(Debug)]
pub(super) struct Creators {
    memory: AtomicPtr<Creator>,
    /// Module of the helpers, 0 as long as it is not known.
    library: AtomicUsize,
    /// First and last token of each helper's methods.
    helpers: [AtomicU64; HELPERS],
}

impl Creators {
    pub(super) const fn new() -> Self {
        Self {
            memory: AtomicPtr::new(ptr::null_mut()),
            library: AtomicUsize::new(0),
            helpers: [const { AtomicU64::new(0) }; HELPERS],
        }
    }

    pub(super) fn prepare(&self) -> bool {
        if self.memory.load(SeqCst).is_null() {
            let Some(memory) = sys::map(CAPACITY.saturating_mul(size_of::<Creator>())) else { return false };
            self.memory.store(memory.cast().as_ptr(), SeqCst);
        }
        for creator in self.all() {
            creator.state.store(0, SeqCst);
            creator.function.store(0, SeqCst);
        }
        self.library.store(0, SeqCst);
        true
    }

    fn all(&self) -> &[Creator] {
        let memory = self.memory.load(SeqCst);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `prepare` mapped that many, zeroed, for good.
        unsafe { core::slice::from_raw_parts(memory, CAPACITY) }
    }

    /// Whether the helpers are known.
    pub(super) fn are_ready(&self) -> bool {
        self.library.load(SeqCst) != 0
    }

    /// Helpers are the methods of `module` in these ranges of tokens.
    pub(super) fn set_helpers(&self, module: usize, ranges: &[(u32, u32)]) {
        for (index, helper) in self.helpers.iter().enumerate() {
            let (first, last) = ranges.get(index).copied().unwrap_or((1, 0));
            helper.store(u64::from(first) << 32 | u64::from(last), SeqCst);
        }
        self.library.store(module, SeqCst);
    }

    fn is_helper(&self, module: usize, token: u32) -> bool {
        let within = |helper: &AtomicU64| {
            let range = helper.load(SeqCst);
            (range >> 32..=range & 0xffff_ffff).contains(&u64::from(token))
        };
        module == self.library.load(SeqCst) && self.helpers.iter().any(within)
    }

    /// The method's place, from 1, new or old; 0 where there is no room.
    ///
    /// # Safety
    /// `function` is a `FunctionID` that cannot be unloaded meanwhile.
    unsafe fn place(&self, info: Info, function: usize) -> u16 {
        let first = ((function as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize;
        for step in 0..STEPS {
            let index = first.wrapping_add(step) & CAPACITY.wrapping_sub(1);
            let Some(creator) = self.all().get(index) else { return 0 };
            let found = creator.function.load(SeqCst);
            let number = u16::try_from(index.wrapping_add(1)).unwrap_or(0);
            if found == function && creator.state.load(SeqCst) & GONE == 0 {
                return number;
            }
            // Where another thread puts in the same one just now, it is found twice then.
            if found != 0 || creator.function.compare_exchange(0, function, SeqCst, SeqCst).is_err() {
                continue;
            }
            // SAFETY: by the contract.
            let state = match unsafe { info.function_info(function, &mut []) } {
                Ok(facts) if is_definition(facts.module, facts.token) => {
                    creator.module.store(facts.module, SeqCst);
                    creator.token.store(facts.token, SeqCst);
                    let helper = if self.is_helper(facts.module, facts.token) { HELPER } else { 0 };
                    // SAFETY: a method keeps its class.
                    let class = unsafe { info.class_info(facts.class, &mut []) };
                    let plain =
                        facts.args == 0 && facts.class != 0 && class.is_ok_and(|class| class.args == 0);
                    KNOWN | helper | if plain { 0 } else { GENERIC }
                }
                _ => UNNAMED,
            };
            creator.state.store(state, SeqCst);
            return number;
        }
        0
    }

    /// The first of a thread's own frames that is no helper; 0 where none is known.
    pub(super) fn of_stack(&self, info: Info) -> u16 {
        if !self.are_ready() {
            return 0;
        }
        let Some(seed) = innermost_managed(info) else { return 0 };
        let mut frames = [0; FRAMES];
        // SAFETY: a frame of this thread.
        let frames = unsafe { info.own_stack(Some(seed), &mut frames) }.unwrap_or_default();
        for function in frames.iter().copied() {
            // SAFETY: its frame is on the calling thread's stack.
            let number = unsafe { self.place(info, function) };
            let state = self.get(number).map_or(0, |creator| creator.state.load(SeqCst));
            if state & HELPER == 0 {
                return if state & KNOWN == 0 { 0 } else { number };
            }
        }
        0
    }

    fn get(&self, number: u16) -> Option<&Creator> {
        self.all().get(usize::from(number).checked_sub(1)?)
    }

    /// What is known of the method at a place, unless it was unloaded.
    pub(super) fn facts(&self, number: u16) -> Option<Facts> {
        let creator = self.get(number)?;
        let facts = Facts {
            function: creator.function.load(SeqCst),
            module: creator.module.load(SeqCst),
            token: creator.token.load(SeqCst),
        };
        (creator.state.load(SeqCst) & (KNOWN | GONE) == KNOWN).then_some(facts)
    }

    /// A module goes: its methods, and those that may be made of its types, are not known any more.
    pub(super) fn unloaded(&self, module: usize) {
        for creator in self.all() {
            let generic = creator.state.load(SeqCst) & GENERIC != 0;
            if creator.function.load(SeqCst) != 0 && (generic || creator.module.load(SeqCst) == module) {
                creator.state.fetch_or(GONE, SeqCst);
            }
        }
    }
}

impl Profiler {
    /// Finds the types that make handles for others, if this is their module.
    pub(super) fn find_helpers(&self, module: usize, metadata: &crate::metadata::Metadata) {
        const NAMES: [&str; HELPERS] = [
            "System.Runtime.InteropServices.GCHandle",
            "System.Runtime.InteropServices.GCHandle`1",
            "System.Runtime.InteropServices.PinnedGCHandle`1",
            "System.Runtime.InteropServices.WeakGCHandle`1",
            "System.Runtime.InteropServices.GCHandleExtensions",
            "System.WeakReference",
            "System.WeakReference`1",
            "System.Runtime.DependentHandle",
            "System.Runtime.CompilerServices.ConditionalWeakTable`2",
            "System.Memory`1",
            "System.ReadOnlyMemory`1",
            "System.Buffers.MemoryHandle",
        ];
        let mut ranges = [(1, 0); HELPERS];
        for (name, range) in NAMES.iter().zip(&mut ranges) {
            let name: [u16; 72] = crate::agent::text::utf16(name);
            if let Some(token) = metadata.find_type(crate::agent::text::terminated(&name))
                && let Some(methods) = metadata.method_range(token)
            {
                *range = methods;
            }
        }
        let [handle, ..] = ranges;
        if handle != (1, 0) {
            self.names.creators.set_helpers(module, &ranges);
        }
    }
}
