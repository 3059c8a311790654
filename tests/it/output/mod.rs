//! The formats, files and pipes that a watch writes to.

pub(crate) mod annotations;
pub(crate) mod findings;
pub(crate) mod formats;
pub(crate) mod junit;
pub(crate) mod live_line;
pub(crate) mod output_files;
pub(crate) mod run_document;
pub(crate) mod run_output;

use super::suite::files;

files!(annotations, findings, formats, junit, live_line, output_files, run_document, run_output);
