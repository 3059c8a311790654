//! Protects inputs from being overwritten by the output, and one output from another.

use std::path::Path;

use crate::exit::{Code, Failure};
use crate::sys;

/// Refuses an output that is an input. Must be called before anything is opened for writing.
///
/// # Errors
/// The output is the same file as an input, even by another path: a usage error.
pub(super) fn inputs<'p>(
    output: Option<&Path>,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let Some(output) = output.filter(|path| *path != Path::new("-")) else { return Ok(()) };
    let place = sys::place(output);
    for input in inputs {
        // Stdin may be a file too.
        let opened = if input == Path::new("-") { Path::new("/dev/stdin") } else { input };
        if place.is_some() && place == sys::place(opened) {
            let what = format!(
                "the output {} is the same file as the input {}, which it would overwrite",
                output.display(),
                input.display()
            );
            return Err(Failure::new(Code::USAGE, what).remedy("choose another --output"));
        }
    }
    Ok(())
}

/// Whether two outputs are the same file, under any of its names. `-` is stdout.
pub(super) fn are_same(one: &Path, other: &Path) -> bool {
    let place = sys::place(one);
    other != Path::new("-") && place.is_some() && place == sys::place(other)
}
