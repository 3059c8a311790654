//! The exports: the runtime gets the profiler here, and gcwatch checks the library's version.
//!
//! The runtime calls these even for an attach that it then refuses, so they have no side effects.

use core::ffi::c_void;
use core::ptr;

use super::profiler::{PROFILER, Profiler};
use crate::com::{Class, Guid, IID_CLASS_FACTORY, IID_UNKNOWN, Object, query_interface};
use crate::hresult::{CLASS_E_CLASSNOTAVAILABLE, CLASS_E_NOAGGREGATION, E_POINTER, HResult};
use crate::wire::{ABI_VERSION, CLSID};

/// The class factory of the one profiler.
#[derive(Debug)]
pub(super) struct Factory;

com_table! {
    /// The functions of `IClassFactory`.
    pub(super) struct FactoryTable for Factory as factory {
        CreateInstance(outer: *mut c_void, iid: *const Guid, out: *mut *mut c_void)
            unsafe => factory.create(outer, iid, out);
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
        // SAFETY: the pointers are null or valid by the contract.
        unsafe { query_interface::<Profiler>(PROFILER.pointer(), iid, out) }
    }
}

/// Returns the class factory of [`CLSID`].
///
/// # Safety
/// The pointers are null or valid.
#[cfg_attr(agent, unsafe(no_mangle))]
#[allow(non_snake_case, reason = "the runtime looks for this name")]
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
    // SAFETY: the pointers are null or valid by the contract.
    unsafe { query_interface::<Factory>(FACTORY.pointer(), iid, out) }
}

/// The version of the schema that this library uses. gcwatch calls it before it has the library loaded into a target.
#[cfg_attr(agent, unsafe(no_mangle))]
pub extern "C" fn gcwatch_profiler_abi() -> u32 {
    ABI_VERSION
}
