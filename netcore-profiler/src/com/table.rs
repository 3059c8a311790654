//! The macro that makes a table of functions from one row for each slot.

/// Makes `struct $table` and its one value for `$class`. A row with an expression evaluates it with `$this: &$class` in
/// scope, a row with `unsafe` in an unsafe block; a row without one returns `S_OK`.
macro_rules! com_table {
    (
        $(#[$meta:meta])*
        $vis:vis struct $table:ident for $class:ty as $this:ident {
            $(
                $method:ident($($argument:tt: $type:ty),* $(,)?) $(unsafe => $call:expr)? $(=> $body:expr)?;
            )*
        }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        #[allow(non_snake_case, missing_docs, reason = "the fields are the interface's methods")]
        #[derive(Debug)]
        $vis struct $table {
            $vis QueryInterface: unsafe extern "system" fn(
                *mut core::ffi::c_void,
                *const $crate::com::Guid,
                *mut *mut core::ffi::c_void,
            ) -> $crate::hresult::HResult,
            $vis AddRef: unsafe extern "system" fn(*mut core::ffi::c_void) -> u32,
            $vis Release: unsafe extern "system" fn(*mut core::ffi::c_void) -> u32,
            $($vis $method: unsafe extern "system" fn(
                *mut core::ffi::c_void $(, $type)*
            ) -> $crate::hresult::HResult,)*
        }

        impl $table {
            /// The table of the class.
            $vis const VALUE: &'static Self = &Self {
                QueryInterface: $crate::com::query_interface::<$class>,
                AddRef: $crate::com::add_ref::<$class>,
                Release: $crate::com::release::<$class>,
                $($method: {
                    #[allow(non_snake_case, reason = "named like the interface's method")]
                    unsafe extern "system" fn $method(
                        this: *mut core::ffi::c_void $(, $argument: $type)*
                    ) -> $crate::hresult::HResult {
                        com_table!(@call $class, $this, this $(, $body)? $(, unsafe $call)?)
                    }
                    $method
                },)*
            };
        }
    };
    (@call $class:ty, $name:ident, $this:ident) => {{
        let _ = $this;
        $crate::hresult::S_OK
    }};
    (@call $class:ty, $name:ident, $this:ident, unsafe $call:expr) => {
        com_table!(@call $class, $name, $this, {
            // SAFETY: the runtime passes arguments as the interface documents them.
            unsafe { $call }
        })
    };
    (@call $class:ty, $name:ident, $this:ident, $body:expr) => {{
        // SAFETY: only an `Object<$class>` has this table, so `$this` is one.
        let $name = unsafe { $crate::com::Object::<$class>::from_pointer($this) }.value();
        let _ = $name;
        $body
    }};
}
