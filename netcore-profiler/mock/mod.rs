//! A mock CLR for tests: it loads the built library like the runtime, answers
//! `ICorProfilerInfo`, runs collections, and records all calls.
//!
//! It behaves like the runtime in what matters to a profiler: ranges and roots are reported only while
//! `COR_PRF_MONITOR_GC` is on, in batches of 512; the first versions of callbacks get a batch only
//! if the second returned success; every heap reports on a thread of its own.

#![allow(unreachable_pub, reason = "a module of every test program that includes it")]

use std::ffi::c_void;

/// The functions of an interface, with their slots.
pub type Functions = Vec<(usize, *const c_void)>;

/// Makes `fn $list`, which returns the functions of an interface by slot. Each has `$object`, made of the interface
/// pointer by `$of`, and returns `S_OK` at its end.
macro_rules! functions {
    ($(#[$doc:meta])* $vis:vis fn $list:ident, $object:ident = $of:path;
        $($(#[$note:meta])* $slot:literal $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*
    ) => {
        $(#[$doc])*
        $vis fn $list() -> $crate::mock::Functions {
            $(
                $(#[$note])*
                unsafe extern "system" fn $name(this: *mut c_void, $($argument: $type),*) -> HResult {
                    // SAFETY: the profiler passes the pointer that it got, and pointers that are valid for the call.
                    unsafe {
                        let $object = $of(this);
                        let _ = $object;
                        $body
                    }
                    S_OK
                }
            )*
            vec![$(($slot, $name as *const c_void)),*]
        }
    };
}

pub mod calls;
pub mod gc;
pub mod info;
pub mod library;
pub mod random;
pub mod world;

pub use gc::{Collection, Heap};
pub use info::{Clr, Written};
pub use library::Library;
pub use random::Random;
