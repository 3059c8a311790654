//! Makes directories that one process fills once, and that are either complete or absent.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use crate::{progress, sys};

/// The variable that names the directory for downloads.
pub(crate) const CACHE_VARIABLE: &str = "GCWATCH_CACHE";

/// The file that marks a directory as complete; written last.
const MARKER: &str = ".complete";

/// The directory for downloads.
pub(crate) fn dir() -> Result<PathBuf> {
    if let Some(dir) = env::var_os(CACHE_VARIABLE).filter(|value| !value.is_empty()) {
        return std::path::absolute(&dir).with_context(|| format!("{CACHE_VARIABLE} is {}", dir.display()));
    }
    sys::user_cache_dir()
        .map(|dir| dir.join("gcwatch"))
        .ok_or_else(|| anyhow!("no cache directory is known: set {CACHE_VARIABLE}"))
}

/// The directory `parent/name`; `make` fills it if it does not exist yet.
///
/// `make` fills an empty directory beside the final one, and a rename puts it in place: an interrupted or failed
/// run leaves nothing that looks complete. Other processes and threads that want the same directory wait.
pub(crate) fn once(parent: &Path, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let finished = parent.join(name);
    if finished.join(MARKER).is_file() {
        return Ok(finished);
    }
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    let lock_path = parent.join(format!("{name}.lock"));
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .with_context(|| format!("cannot open {}", lock_path.display()))?;
    if lock.try_lock().is_err() {
        progress::say(&format!("Waiting for another process that makes {}", finished.display()));
        lock.lock().with_context(|| format!("cannot lock {}", lock_path.display()))?;
    }
    if finished.join(MARKER).is_file() {
        return Ok(finished);
    }
    if finished.exists() {
        fs::remove_dir_all(&finished)
            .with_context(|| format!("cannot remove the unfinished {}", finished.display()))?;
    }
    let unfinished = tempfile::Builder::new()
        .prefix(&format!(".{name}-"))
        .tempdir_in(parent)
        .with_context(|| format!("cannot create a directory in {}", parent.display()))?;
    // A subdirectory, because `tempdir_in` makes directories with mode 0700, and users may share a cache.
    let content = unfinished.path().join("content");
    fs::create_dir(&content)?;
    make(&content)?;
    File::create(content.join(MARKER))?;
    fs::rename(&content, &finished)
        .with_context(|| format!("cannot move {} into place", finished.display()))?;
    Ok(finished)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use anyhow::bail;

    use super::*;

    #[test]
    fn made_once_by_many() {
        let parent = tempfile::tempdir().unwrap();
        let made = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let dir = once(parent.path(), "thing", |dir| {
                        made.fetch_add(1, Ordering::SeqCst);
                        Ok(fs::write(dir.join("file"), "content")?)
                    });
                    assert_eq!(fs::read(dir.unwrap().join("file")).unwrap(), b"content");
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn a_failure_leaves_nothing_and_can_be_retried() {
        let parent = tempfile::tempdir().unwrap();
        let failed = once(parent.path(), "thing", |dir| {
            fs::write(dir.join("half"), "")?;
            bail!("interrupted")
        });
        assert_eq!(failed.unwrap_err().to_string(), "interrupted");
        let left: Vec<_> =
            fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["thing.lock"]);
        let dir = once(parent.path(), "thing", |_| Ok(())).unwrap();
        assert!(!dir.join("half").exists());
    }

    #[test]
    fn an_unmarked_directory_is_made_again() {
        let parent = tempfile::tempdir().unwrap();
        fs::create_dir(parent.path().join("thing")).unwrap();
        fs::write(parent.path().join("thing/stale"), "").unwrap();
        let dir = once(parent.path(), "thing", |_| Ok(())).unwrap();
        assert!(!dir.join("stale").exists());
    }
}
