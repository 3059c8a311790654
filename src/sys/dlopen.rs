//! Loads the profiler library into gcwatch itself, to check that it is usable.
#![expect(unsafe_code, reason = "loading a library is outside what the compiler can check")]

use std::path::Path;

/// The version of the event schema that this library uses.
pub(super) fn abi(library: &[u8]) -> Result<u32, String> {
    let copy = PrivateCopy::of(library).map_err(|e| format!("no copy of it could be made: {e}"))?;
    load(copy.path())
}

fn load(path: &Path) -> Result<u32, String> {
    // SAFETY: only this user can change the copy. It is our own library, which has no constructors, so that loading
    // it runs none of its code, or one that the user named for this purpose.
    let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
    // SAFETY: every version of the library exports this name with this signature.
    let abi = unsafe { library.get::<unsafe extern "C" fn() -> u32>(b"gcwatch_profiler_abi\0") }
        .map_err(|_| "it is no gcwatch profiler (gcwatch_profiler_abi is missing)".to_owned())?;
    // SAFETY: the function takes no arguments, accesses no state and returns a constant.
    Ok(unsafe { abi() })
}

/// A copy of the library that no other user can replace or write to.
enum PrivateCopy {
    /// A sealed memfd.
    #[cfg(target_os = "linux")]
    Memory { _file: std::fs::File, path: std::path::PathBuf },
    /// A file in a directory that only this user may enter.
    Directory { _directory: tempfile::TempDir, path: std::path::PathBuf },
}

impl PrivateCopy {
    #[cfg(target_os = "linux")]
    fn of(bytes: &[u8]) -> std::io::Result<Self> {
        in_memory(bytes).or_else(|_| in_directory(bytes))
    }

    #[cfg(not(target_os = "linux"))]
    fn of(bytes: &[u8]) -> std::io::Result<Self> {
        in_directory(bytes)
    }

    fn path(&self) -> &Path {
        match self {
            #[cfg(target_os = "linux")]
            Self::Memory { path, .. } => path,
            Self::Directory { path, .. } => path,
        }
    }
}

#[cfg(target_os = "linux")]
fn in_memory(bytes: &[u8]) -> std::io::Result<PrivateCopy> {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    use rustix::fs::{MemfdFlags, SealFlags};

    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = std::fs::File::from(rustix::fs::memfd_create("gcwatch-profiler", flags)?);
    file.write_all(bytes)?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
    Ok(PrivateCopy::Memory { _file: file, path })
}

/// For systems without memfd, and for kernels that refuse to make one.
fn in_directory(bytes: &[u8]) -> std::io::Result<PrivateCopy> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("gcwatch-check-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let directory = builder.tempdir()?;
    let path = directory.path().join(netcore_profiler::LIBRARY_FILE_NAME);
    std::fs::write(&path, bytes)?;
    Ok(PrivateCopy::Directory { _directory: directory, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_copies_load() -> Result<(), Box<dyn std::error::Error>> {
        let ours = Ok(netcore_profiler::wire::ABI_VERSION);
        let library = netcore_profiler::LIBRARY;
        assert_eq!(abi(library), ours);
        let copy = in_directory(library)?;
        assert_eq!(load(copy.path()), ours);
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let directory = copy.path().parent().ok_or("no directory")?;
            assert_eq!(std::fs::metadata(directory)?.mode() & 0o777, 0o700, "nobody else may enter");
        }
        Ok(())
    }

    #[test]
    fn a_file_that_is_no_profiler_is_refused() {
        assert!(abi(b"no library").is_err());
    }
}
