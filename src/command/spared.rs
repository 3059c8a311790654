//! Output that would destroy what is read, or another output: said before anything is opened for writing.

use std::path::Path;

use crate::exit::{Code, Failure};
use crate::sys;

/// # Errors
/// The output is one of the inputs, by whatever name: a usage error.
pub(super) fn inputs<'p>(
    output: Option<&Path>,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Failure> {
    let Some(output) = output.filter(|path| *path != Path::new("-")) else { return Ok(()) };
    let place = sys::place(output);
    for input in inputs {
        // What stdin comes from may be a file, too.
        let opened = if input == Path::new("-") { Path::new("/dev/stdin") } else { input };
        if place.is_some() && place == sys::place(opened) {
            let what = format!(
                "the output {} is the same file as the input {}, which it would overwrite",
                output.display(),
                input.display()
            );
            return Err(Failure::new(Code::USAGE, what).remedy("give another --output"));
        }
    }
    Ok(())
}
