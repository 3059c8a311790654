//! The macros that call a method of one of the runtime's interfaces by its slot.

use core::ffi::c_void;
use core::ptr;

/// Calls slot `$slot` of the interface that the first field of `$this` points to; evaluates to the method's result.
///
/// Each use must name a slot that the interface has, with the signature of `corprof.idl` or `cor.h`.
macro_rules! com_call {
    ($this:expr, $slot:expr, ($($value:expr => $type:ty),* $(,)?) -> $result:ty) => {{
        let this = $this.0.as_ptr();
        // SAFETY: `$this` holds a reference to an interface that has this slot, with this signature; the pointers among
        // the arguments are valid for the call.
        unsafe {
            let table: *const *const core::ffi::c_void = this.cast::<*const *const core::ffi::c_void>().read();
            let method: unsafe extern "system" fn(*mut core::ffi::c_void $(, $type)*) -> $result =
                core::mem::transmute(table.add($slot).read());
            method(this $(, $value)*)
        }
    }};
}

/// A type of what a method writes through a pointer.
pub(crate) trait Out {
    /// What stands there before the call.
    const EMPTY: Self;
}

macro_rules! outs {
    ($($type:ty = $empty:expr;)*) => {
        $(impl Out for $type {
            const EMPTY: Self = $empty;
        })*
    };
}
outs! { u16 = 0; u32 = 0; i32 = 0; u64 = 0; usize = 0; *const u8 = ptr::null(); *mut c_void = ptr::null_mut(); }

/// [`com_call`] for a method that writes results: `out name: type` stands for a pointer to a variable, which the last
/// expression uses. Evaluates to `Ok` of that, or to `Err` of a failure.
macro_rules! com_get {
    (@ $this:expr, $slot:expr, $result:expr, [$($done:tt)*] out $name:ident: $type:ty $(, $($rest:tt)*)?) => {{
        let mut $name = <$type as $crate::com::Out>::EMPTY;
        com_get!(@ $this, $slot, $result, [$($done)* &raw mut $name => *mut $type,] $($($rest)*)?)
    }};
    (@ $this:expr, $slot:expr, $result:expr, [$($done:tt)*] $value:expr => $type:ty $(, $($rest:tt)*)?) => {
        com_get!(@ $this, $slot, $result, [$($done)* $value => $type,] $($($rest)*)?)
    };
    (@ $this:expr, $slot:expr, $result:expr, [$($done:tt)*]) => {{
        let answer = com_call!($this, $slot, ($($done)*) -> $crate::hresult::HResult);
        $crate::hresult::checked(answer, $result)
    }};
    ($this:expr, $slot:expr, ($($arguments:tt)*) => $result:expr) => {
        com_get!(@ $this, $slot, $result, [] $($arguments)*)
    };
}
