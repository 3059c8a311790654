//! The address range of a loaded library.

/// First address of the library that contains `address`, and the first one after it. Not for callbacks: the loader may
/// wait for other threads that load libraries.
#[cfg(target_os = "linux")]
pub(crate) fn library_range(address: *const core::ffi::c_void) -> Option<(usize, usize)> {
    /// In `Elf64_Ehdr`: offsets of `e_phoff`, `e_phentsize` and `e_phnum`.
    const HEADERS: (usize, usize, usize) = (32, 54, 56);
    /// In `Elf64_Phdr`: offsets of `p_vaddr` and `p_memsz`; `p_type` is at 0.
    const SEGMENT: (usize, usize) = (16, 40);
    const PT_LOAD: u32 = 1;
    let base = super::unix::library_base(address)?;
    // SAFETY: the loader keeps a library's header and program headers mapped, at offsets that the ELF format defines.
    // The library is the runtime, which is never unloaded.
    unsafe {
        let header = core::ptr::with_exposed_provenance::<u8>(base);
        let offset = header.add(HEADERS.0).cast::<u64>().read_unaligned();
        let size = header.add(HEADERS.1).cast::<u16>().read_unaligned();
        let count = header.add(HEADERS.2).cast::<u16>().read_unaligned();
        let (mut first, mut end) = (u64::MAX, 0_u64);
        for index in 0..usize::from(count) {
            let at = usize::try_from(offset).ok()?.checked_add(index.checked_mul(usize::from(size))?)?;
            let segment = header.add(at);
            if segment.cast::<u32>().read_unaligned() == PT_LOAD {
                let start = segment.add(SEGMENT.0).cast::<u64>().read_unaligned();
                let length = segment.add(SEGMENT.1).cast::<u64>().read_unaligned();
                first = first.min(start);
                end = end.max(start.checked_add(length)?);
            }
        }
        let length = usize::try_from(end.checked_sub(first)?).ok()?;
        Some((base, base.checked_add(length)?))
    }
}

/// The same on Windows, from the headers of the file that the library was loaded from.
#[cfg(windows)]
pub(crate) fn library_range(address: *const core::ffi::c_void) -> Option<(usize, usize)> {
    /// In `IMAGE_DOS_HEADER`: the offset of `e_lfanew`.
    const HEADERS: usize = 0x3c;
    /// In `IMAGE_NT_HEADERS64`: the offset of `OptionalHeader.SizeOfImage`.
    const IMAGE_BYTES: usize = 0x50;
    let base = super::windows::library_base(address)?;
    // SAFETY: the loader keeps a library's headers mapped at its base, at offsets that the format of executables defines.
    // The library is the runtime, which is never unloaded.
    let length = unsafe {
        let dos = core::ptr::with_exposed_provenance::<u8>(base);
        let headers = dos.add(HEADERS).cast::<u32>().read_unaligned();
        dos.add(headers as usize).add(IMAGE_BYTES).cast::<u32>().read_unaligned()
    };
    Some((base, base.checked_add(length as usize)?))
}

/// Elsewhere it is not needed, because stacks are not read.
#[cfg(not(any(target_os = "linux", windows)))]
pub(crate) fn library_range(_address: *const core::ffi::c_void) -> Option<(usize, usize)> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Compares with the kernel's list of mappings.
    #[test]
    fn a_library_lies_where_the_kernel_has_mapped_it() {
        let own = library_range as *const () as *const core::ffi::c_void;
        let (start, end) = library_range(own).unwrap();
        assert!((start..end).contains(&own.addr()));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let of_file = |line: &&str| line.ends_with(std::env::current_exe().unwrap().to_str().unwrap());
        let ranges: Vec<(usize, usize)> = maps
            .lines()
            .filter(of_file)
            .map(|line| {
                let (start, rest) = line.split_once('-').unwrap();
                let number = |text: &str| usize::from_str_radix(text, 16).unwrap();
                (number(start), number(rest.split_once(' ').unwrap().0))
            })
            .collect();
        assert_eq!(ranges.first().unwrap().0, start);
        assert!(ranges.last().unwrap().0 < end, "{ranges:x?} {end:x}");
        assert_eq!(library_range(core::ptr::without_provenance(8)), None);
    }
}
