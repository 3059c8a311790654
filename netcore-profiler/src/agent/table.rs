//! Tables of atomics, in memory that is mapped once and never unmapped.

use core::sync::atomic::{AtomicPtr, Ordering::SeqCst};

use super::zero::Zero;
use crate::sys;

/// Types of which all zeros is a valid value, and which threads may share.
///
/// # Safety
/// The type consists of atomics only.
pub(super) unsafe trait Atomics: Sync {}

// SAFETY: an atomic.
unsafe impl Atomics for core::sync::atomic::AtomicU64 {}

/// `N` entries, which are zeros at first.
#[derive(Debug)]
pub(super) struct Table<T, const N: usize>(AtomicPtr<T>);

impl<T, const N: usize> Zero for Table<T, N> {
    const ZERO: Self = Self(Zero::ZERO);
}

impl<T: Atomics, const N: usize> Table<T, N> {
    /// Maps the memory on the first call. `false`: there is not enough.
    pub(super) fn map(&self) -> bool {
        if self.0.load(SeqCst).is_null() {
            let Some(memory) = sys::map(N.saturating_mul(size_of::<T>())) else { return false };
            self.0.store(memory.cast().as_ptr(), SeqCst);
        }
        true
    }

    /// The entries; none before [`Table::map`].
    pub(super) fn all(&self) -> &[T] {
        let memory = self.0.load(SeqCst);
        if memory.is_null() {
            return &[];
        }
        // SAFETY: `map` mapped N entries, which are never unmapped. Zeros are valid atomics, and nobody has a `&mut`.
        unsafe { core::slice::from_raw_parts(memory, N) }
    }
}
