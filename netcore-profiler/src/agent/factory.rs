//! The exports: how the runtime gets the profiler, and how gcwatch checks the file beforehand.
//!
//! The runtime comes here even for an attach that it then refuses, so nothing here has an effect.

use core::ffi::c_void;
use core::ptr;

use super::profiler::{PROFILER, Profiler};
use crate::com::{Class, Guid, IID_CLASS_FACTORY, IID_UNKNOWN, Object, query_interface};
use crate::hresult::{CLASS_E_CLASSNOTAVAILABLE, CLASS_E_NOAGGREGATION, E_POINTER, HResult};
use crate::wire::{ABI_VERSION, CLSID};

/// Makes the one profiler.
#[derive(Debug)]
pub(super) struct Factory;

com_table! {
    /// The functions of `IClassFactory`.
    pub(super) struct FactoryTable for Factory as factory {
        CreateInstance(outer: *mut c_void, iid: *const Guid, out: *mut *mut c_void) => {
            // SAFETY: arguments as the interface documents them.
            unsafe { factory.create(outer, iid, out) }
        };
        LockServer(_: i32);
    }
}

// SAFETY: `com_table` puts the three functions of `IUnknown` for `Factory` first.
unsafe impl Class for Factory {
    type Table = FactoryTable;
    const TABLE: &'static FactoryTable = FactoryTable::VALUE;

    fn answers(iid: &Guid) -> bool {
        *iid == IID_UNKNOWN || *iid == IID_CLASS_FACTORY
    }
}

static FACTORY: Object<Factory> = Object::new(&Factory);

impl Factory {
    /// # Safety
    /// `iid` and `out` are null or valid.
    unsafe fn create(&self, outer: *mut c_void, iid: *const Guid, out: *mut *mut c_void) -> HResult {
        if !outer.is_null() {
            return CLASS_E_NOAGGREGATION;
        }
        // SAFETY: the pointers are those of the caller.
        unsafe { query_interface::<Profiler>(PROFILER.pointer(), iid, out) }
    }
}

/// Gives the class factory of [`CLSID`].
///
/// # Safety
/// The pointers are null or valid.
#[cfg_attr(agent, unsafe(no_mangle))]
#[allow(non_snake_case, reason = "the name is the runtime's")]
pub unsafe extern "system" fn DllGetClassObject(
    clsid: *const Guid,
    iid: *const Guid,
    out: *mut *mut c_void,
) -> HResult {
    if clsid.is_null() || out.is_null() {
        return E_POINTER;
    }
    // SAFETY: checked for null; valid otherwise by the contract.
    if unsafe { clsid.read_unaligned() } != Guid::from_bytes(CLSID) {
        // SAFETY: as above.
        unsafe { out.write_unaligned(ptr::null_mut()) };
        return CLASS_E_CLASSNOTAVAILABLE;
    }
    // SAFETY: the pointers are those of the caller.
    unsafe { query_interface::<Factory>(FACTORY.pointer(), iid, out) }
}

/// The version of the schema that this file speaks, for a check before it is loaded elsewhere.
#[cfg_attr(agent, unsafe(no_mangle))]
pub extern "C" fn gcwatch_profiler_abi() -> u32 {
    ABI_VERSION
}
