//! The profiler library as a file that the target can load.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::sys::{self, Preflight};

/// Where the library is: as we reach it, and as the target names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    /// Path for us.
    pub(crate) ours: PathBuf,
    /// Path for the target; another one where its mounts differ (containers).
    pub(crate) theirs: PathBuf,
}

/// A directory that both sides reach: `(ours, theirs)`.
pub(crate) fn meeting_dir(pid: Option<u32>, temp_dir: &Path) -> (PathBuf, PathBuf) {
    match pid {
        Some(pid) if !sys::same_mounts(pid) => {
            let inside = temp_dir.strip_prefix("/").unwrap_or(temp_dir);
            (Path::new("/proc").join(pid.to_string()).join("root").join(inside), temp_dir.to_owned())
        }
        _ => (temp_dir.to_owned(), temp_dir.to_owned()),
    }
}

/// Puts the library where the target can load it. Looked for: `chosen` (`--profiler-path`), beside the
/// program, then the embedded copy. A file that is there already is never overwritten: a process may
/// have it mapped.
///
/// # Errors
/// No library in this build, no place that can be written, or a file that is not ours.
pub(crate) fn place(chosen: Option<&Path>, (ours, theirs): &(PathBuf, PathBuf)) -> io::Result<Placed> {
    let bytes = match chosen.map(Path::to_owned).or_else(beside_program) {
        Some(path) => fs::read(&path).map_err(|e| at(&path, e))?,
        None => netcore_profiler::LIBRARY.to_vec(),
    };
    if bytes.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this build of gcwatch has no profiler library in it; give one with --profiler-path",
        ));
    }
    let dir = sys::make_shared_dir(ours)?;
    let name = match chosen {
        None => netcore_profiler::LIBRARY_FILE_NAME.to_owned(),
        // Another build must not take the name of this one's.
        Some(_) => format!("chosen-{:016x}-{}", fingerprint(&bytes), netcore_profiler::LIBRARY_FILE_NAME),
    };
    let path = dir.join(&name);
    // Written first and looked at afterwards: another gcwatch may put it there at any moment.
    if fs::symlink_metadata(&path).is_err() {
        write_once(&dir, &path, &bytes)?;
    }
    if !(sys::made_by_us(&path) && fs::read(&path).is_ok_and(|found| found == bytes)) {
        return Err(io::Error::other(format!("{} is not what gcwatch put there; remove it", path.display())));
    }
    let theirs = theirs.join(dir.file_name().unwrap_or_default()).join(&name);
    Ok(Placed { ours: path, theirs })
}

/// Loads it here first: our message is better than an HRESULT from the target.
pub(crate) fn check(placed: &Placed) -> Result<Preflight, String> {
    sys::preflight(&placed.ours)
        .map_err(|e| format!("the profiler library {} does not load: {e}", placed.ours.display()))
}

fn write_once(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temp = tempfile::NamedTempFile::new_in(dir)?;
    temp.write_all(bytes)?;
    let file: &File = temp.as_file();
    sys::readable_by_all(file)?;
    match temp.persist_noclobber(path) {
        Ok(_) => Ok(()),
        // Another gcwatch was faster; whether it is the same is looked at next.
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e.error),
    }
}

fn beside_program() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(netcore_profiler::LIBRARY_FILE_NAME);
    path.is_file().then_some(path)
}

fn at(path: &Path, e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

/// FNV-1a: tells builds apart, proves nothing.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn placed_once_and_never_overwritten() -> io::Result<()> {
        let temp = tempfile::tempdir()?;
        let meet = meeting_dir(None, temp.path());
        let chosen = temp.path().join("x.so");
        fs::write(&chosen, b"one")?;
        let a = place(Some(&chosen), &meet)?;
        assert_eq!(fs::read(&a.ours)?, b"one");
        assert_eq!(place(Some(&chosen), &meet)?, a);
        fs::write(&a.ours, b"changed")?;
        assert!(place(Some(&chosen), &meet).is_err());
        fs::write(&chosen, b"two")?;
        assert_ne!(place(Some(&chosen), &meet)?, a);
        Ok(())
    }

    #[test]
    fn two_at_once_place_it_once() -> io::Result<()> {
        let temp = tempfile::tempdir()?;
        let meet = meeting_dir(None, temp.path());
        let chosen = temp.path().join("x.so");
        fs::write(&chosen, b"one")?;
        let both = std::sync::Barrier::new(2);
        for _ in 0..1000 {
            let place = || {
                both.wait();
                // Out of step, so that one looks while the other puts it there.
                let until = Instant::now() + Duration::from_micros(fastrand::u64(..100));
                while Instant::now() < until {}
                place(Some(&chosen), &meet)
            };
            let (one, other) = std::thread::scope(|scope| {
                let other = scope.spawn(place);
                (place(), other.join().unwrap())
            });
            let (one, other) = (one?, other?);
            assert_eq!(one, other);
            fs::remove_file(&one.ours)?;
        }
        Ok(())
    }

    #[test]
    fn the_embedded_library_is_there_and_loads() -> Result<(), Box<dyn std::error::Error>> {
        let temp = tempfile::tempdir()?;
        let placed = place(None, &meeting_dir(None, temp.path()))?;
        check(&placed)?;
        Ok(())
    }
}
