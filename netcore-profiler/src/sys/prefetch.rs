//! A hint to the processor.

/// Prefetches the cache line at an address, on processors where we know how. Any address is allowed: nothing is read.
pub(crate) fn prefetch(address: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction, which never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::without_provenance(address as usize)) };
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every arm64 processor has the instruction, which never faults and changes no register.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_address_may_be_prefetched() {
        for address in [0, 1, 0x1000, 1 << 47, 1 << 63, u64::MAX] {
            super::prefetch(address);
        }
    }
}
