//! The macro that calls a method of one of the runtime's interfaces by its slot.

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
