//! The profiler library: bytes that are read once, and from then on are what is meant.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::sys::{self, Preflight};

/// A library, and the name that its file gets.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) bytes: Vec<u8>,
    pub(crate) file_name: String,
}

/// More than any build of the profiler has, with all that a debugger wants.
const LARGEST: u64 = 64 << 20;

/// The library that was chosen (`--profiler-path`), or the embedded one. A build without one takes it from beside the
/// program. A chosen one is loaded here to see whether it is sound; our own is tested when it is built.
///
/// # Errors
/// There is none, it cannot be read, or it is no profiler of this version.
pub(crate) fn find(chosen: Option<&Path>) -> Result<Library, String> {
    let Some(path) = chosen else { return own().map_err(|e| e.to_string()) };
    let bytes = read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    match sys::preflight(&bytes) {
        Ok(Preflight::Sound) => {}
        Ok(Preflight::NotPossible(why)) => tracing::debug!("{} is not tried: {why}", path.display()),
        Err(e) => return Err(format!("the profiler library {} does not load: {e}", path.display())),
    }
    // Another build must not take the name of this one's.
    let file_name = format!("chosen-{:016x}-{}", fingerprint(&bytes), netcore_profiler::LIBRARY_FILE_NAME);
    Ok(Library { bytes, file_name })
}

fn own() -> io::Result<Library> {
    let bytes = match (netcore_profiler::LIBRARY, beside_program()) {
        ([], Some(path)) => read_trusted(&path)?,
        ([], None) => {
            return Err(io::Error::other(
                "this build of gcwatch has no profiler library in it; give one with --profiler-path",
            ));
        }
        (embedded, _) => embedded.to_vec(),
    };
    Ok(Library { bytes, file_name: netcore_profiler::LIBRARY_FILE_NAME.to_owned() })
}

/// Reads a file as the user names it, once.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // To open a pipe is to wait for whoever writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    read_all(File::open(path)?)
}

fn read_all(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// Reads a file that nobody named: only one that root or this user alone can have put there.
fn read_trusted(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if sys::others_can_change(&file)? {
        return Err(io::Error::other(format!("{} can be changed by other users", path.display())));
    }
    read_all(file)
}

fn beside_program() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(netcore_profiler::LIBRARY_FILE_NAME);
    path.is_file().then_some(path)
}

/// FNV-1a: tells builds apart, proves nothing.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_chosen_library_is_checked_and_gets_a_name_of_its_own() -> io::Result<()> {
        let temp = tempfile::tempdir()?;
        let chosen = temp.path().join("x.so");
        fs::write(&chosen, netcore_profiler::LIBRARY)?;
        let library = find(Some(&chosen)).map_err(io::Error::other)?;
        assert_eq!(library.bytes, netcore_profiler::LIBRARY);
        assert!(library.file_name.starts_with("chosen-"));
        fs::write(&chosen, "no library")?;
        assert!(find(Some(&chosen)).is_err_and(|e| e.contains("does not load")));
        assert!(find(Some(temp.path())).is_err_and(|e| e.contains("no regular file")));
        Ok(())
    }

    #[test]
    fn the_embedded_library_is_there_and_loads() -> Result<(), String> {
        let library = find(None)?;
        assert_eq!(library.file_name, netcore_profiler::LIBRARY_FILE_NAME);
        sys::preflight(&library.bytes).map(|_| ())
    }
}
