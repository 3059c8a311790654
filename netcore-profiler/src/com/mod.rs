//! COM as the CLR uses it on every system: an object begins with a pointer to a table of functions, whose first three
//! are those of `IUnknown`.
//!
//! The objects of this crate are statics: threads share them, they never move and are never freed, so the reference
//! count frees nothing either. Methods get `&T`, never `&mut T`.

#[macro_use]
mod call;
#[macro_use]
mod table;

use core::ffi::c_void;
use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

pub(crate) use call::Out;

use crate::hresult::{E_NOINTERFACE, E_POINTER, HResult, S_OK};

/// A 128-bit identifier in COM's layout.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Guid {
    first: u32,
    second: u16,
    third: u16,
    rest: [u8; 8],
}

impl Guid {
    /// From the digits of the textual form, without braces and hyphens.
    #[must_use]
    pub const fn from_u128(digits: u128) -> Self {
        Self {
            first: (digits >> 96) as u32,
            second: (digits >> 80) as u16,
            third: (digits >> 64) as u16,
            rest: (digits as u64).to_be_bytes(),
        }
    }

    /// From the bytes in memory on a little-endian machine, which is also the layout in diagnostics messages.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        let digits = u128::from_be_bytes(bytes);
        let first = ((digits >> 96) as u32).swap_bytes();
        let second = ((digits >> 80) as u16).swap_bytes();
        let third = ((digits >> 64) as u16).swap_bytes();
        Self { first, second, third, rest: (digits as u64).to_be_bytes() }
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = u64::from_be_bytes(self.rest);
        write!(f, "{{{:08X}-{:04X}-{:04X}-", self.first, self.second, self.third)?;
        write!(f, "{:04X}-{:012X}}}", rest >> 48, rest & 0xffff_ffff_ffff)
    }
}

/// `IUnknown`.
pub const IID_UNKNOWN: Guid = Guid::from_u128(0x00000000_0000_0000_c000_000000000046);
/// `IClassFactory`.
pub const IID_CLASS_FACTORY: Guid = Guid::from_u128(0x00000001_0000_0000_c000_000000000046);

/// A type whose statics are COM objects.
///
/// # Safety
/// `Table` is `repr(C)` and begins with the three functions of [`query_interface`], [`add_ref`] and
/// [`release`] for this type.
pub unsafe trait Class: Sync + Sized + 'static {
    /// The table of functions.
    type Table: 'static;
    /// The one table of the type.
    const TABLE: &'static Self::Table;

    /// Whether the object implements interface `iid`.
    fn answers(iid: &Guid) -> bool;
}

/// A COM object.
#[repr(C)]
pub struct Object<T: Class> {
    table: &'static T::Table,
    references: AtomicU32,
    /// A reference, so that a value of all zeros takes no room in the file.
    value: &'static T,
}

impl<T: Class> Object<T> {
    /// An object for a static.
    #[must_use]
    pub const fn new(value: &'static T) -> Self {
        Self { table: T::TABLE, references: AtomicU32::new(0), value }
    }

    /// The value it was made with.
    #[must_use]
    pub const fn value(&self) -> &'static T {
        self.value
    }

    /// The interface pointer.
    #[must_use]
    pub const fn pointer(&'static self) -> *mut c_void {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// The object of an interface pointer.
    ///
    /// # Safety
    /// `this` came from [`Object::pointer`] of an `Object<T>`.
    #[must_use]
    pub unsafe fn from_pointer<'a>(this: *mut c_void) -> &'a Self {
        // SAFETY: the type is right by the contract; objects are statics, to which no `&mut` exists.
        unsafe { &*this.cast_const().cast() }
    }
}

impl<T: Class> fmt::Debug for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("references", &self.references).finish_non_exhaustive()
    }
}

/// `IUnknown::QueryInterface` of an [`Object`].
///
/// # Safety
/// `this` is an `Object<T>`; `iid` and `out` are null or valid.
pub unsafe extern "system" fn query_interface<T: Class>(
    this: *mut c_void,
    iid: *const Guid,
    out: *mut *mut c_void,
) -> HResult {
    if out.is_null() {
        return E_POINTER;
    }
    // SAFETY: not null, so valid by the contract; it may be unaligned.
    let known = !iid.is_null() && T::answers(&unsafe { iid.read_unaligned() });
    // SAFETY: as above.
    unsafe { out.write_unaligned(if known { this } else { core::ptr::null_mut() }) };
    if !known {
        return E_NOINTERFACE;
    }
    // SAFETY: `this` is an `Object<T>`.
    unsafe { add_ref::<T>(this) };
    S_OK
}

/// `IUnknown::AddRef` of an [`Object`].
///
/// # Safety
/// `this` is an `Object<T>`.
pub unsafe extern "system" fn add_ref<T: Class>(this: *mut c_void) -> u32 {
    // SAFETY: by the contract.
    let object = unsafe { Object::<T>::from_pointer(this) };
    object.references.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
}

/// `IUnknown::Release` of an [`Object`].
///
/// # Safety
/// `this` is an `Object<T>`.
pub unsafe extern "system" fn release<T: Class>(this: *mut c_void) -> u32 {
    // SAFETY: by the contract.
    let object = unsafe { Object::<T>::from_pointer(this) };
    let one_less = |count: u32| count.checked_sub(1);
    match object.references.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
        Ok(before) => before.saturating_sub(1),
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire;

    #[test]
    fn guids_are_printed_as_they_are_written() {
        let guid = Guid::from_u128(0x8e1cbdbc_a372_4eae_8f84_91da39da2c47);
        assert_eq!(format!("{guid:?}"), wire::CLSID_TEXT);
        assert_eq!(guid, Guid::from_bytes(wire::CLSID));
        assert_eq!(size_of::<Guid>(), 16);
    }
}
