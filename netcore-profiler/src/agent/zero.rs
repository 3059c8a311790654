//! State that is all zeros at first, so that a static of it takes no room in the file.

use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
};

/// A type with such a value.
pub(super) trait Zero {
    const ZERO: Self;
}

macro_rules! atomics {
    ($($type:ident = $zero:expr;)*) => {$(
        impl Zero for $type {
            const ZERO: Self = Self::new($zero);
        }
    )*};
}
atomics! { AtomicBool = false; AtomicU8 = 0; AtomicU32 = 0; AtomicU64 = 0; AtomicI32 = 0; AtomicI64 = 0; AtomicUsize = 0; }

impl<T> Zero for AtomicPtr<T> {
    const ZERO: Self = Self::new(ptr::null_mut());
}

impl<T: Zero, const N: usize> Zero for [T; N] {
    const ZERO: Self = [const { T::ZERO }; N];
}

/// Makes a struct of such types one, too.
macro_rules! zeroed {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $crate::agent::zero::Zero for $name {
            const ZERO: Self = Self { $($field: $crate::agent::zero::Zero::ZERO),* };
        }
    };
}
