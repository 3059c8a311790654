//! Checks the documentation: the command lines in it work, and the tests that it names exist.

pub(crate) mod documented;
pub(crate) mod verification;
pub(crate) mod workflows;

use super::suite::files;

files!(documented, verification, workflows);
