//! The profiler library. It is read once, so that the target gets the same bytes that were checked.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::sys::{self, Preflight};

/// A library, and the name of the file that the target loads.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) bytes: Vec<u8>,
    pub(crate) file_name: String,
}

/// More than any build of the profiler has, even with debug information.
const MAX_LIBRARY_BYTES: u64 = 64 << 20;

/// The library that the user chose (`--profiler-path`), or the embedded one. A build without an embedded library takes
/// the file beside the program. A chosen library is loaded here to check it; our own was tested when it was built.
///
/// # Errors
/// There is no library, it cannot be read, or it is no profiler of this version.
pub(crate) fn find(chosen: Option<&Path>) -> Result<Library, String> {
    let Some(path) = chosen else { return own().map_err(|e| e.to_string()) };
    let bytes = read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    match sys::preflight(&bytes) {
        Ok(Preflight::Sound) => {}
        Ok(Preflight::NotPossible(why)) => tracing::debug!("{} is not checked: {why}", path.display()),
        Err(e) => return Err(format!("the profiler library {} does not load: {e}", path.display())),
    }
    // Another build of the library must not get the file name of ours.
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

/// Reads a file that the user named.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    read_all(File::open(path)?)
}

fn read_all(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_LIBRARY_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_LIBRARY_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_LIBRARY_BYTES >> 20)));
    }
    Ok(bytes)
}

/// Reads a file that the user did not name. Only root and this user may be able to change it.
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

/// FNV-1a. It tells builds apart, and is no protection against forgery.
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
