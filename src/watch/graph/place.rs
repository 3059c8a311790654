//! The file of `--output`, which gets its name when the graph is whole.

use std::io;
use std::path::Path;

use crate::exit::{Code, Failure};
use crate::sys::{self, NewFile};

/// Makes such a file. Only its owner can read it, whatever was there before.
///
/// # Errors
/// It cannot be made; `path` is named.
pub(crate) fn new_file(path: &Path) -> Result<NewFile, Failure> {
    let special = || io::Error::other("it is not a regular file");
    // Such a name would fail when the graph is whole.
    if path.to_str().is_some_and(|text| text.ends_with(std::path::is_separator)) {
        return Err(not_written(Some(path), &io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let found = sys::replaceable(path).and_then(|file| file.ok_or_else(special));
    found.and_then(NewFile::create).map_err(|e| not_written(Some(path), &e))
}

/// The graph cannot be written to the file of `--output`. `None`: to a file without a name.
pub(crate) fn not_written(path: Option<&Path>, e: &dyn std::fmt::Display) -> Failure {
    let (what, remedy) = match path {
        Some(path) => (
            format!("cannot write {}: {e}", path.display()),
            "choose another place with -o or --graph-output",
        ),
        None => (
            format!("cannot write the graph to {}: {e}", std::env::temp_dir().display()),
            "name a directory with more room with TMPDIR, or choose a place with -o",
        ),
    };
    Failure::new(Code::FAILED, what).remedy(remedy)
}
