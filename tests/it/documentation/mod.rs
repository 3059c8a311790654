//! What the documentation says is so: its command lines, and the tests that it names.

pub(crate) mod documented;
pub(crate) mod verification;

use super::suite::files;

files!(documented, verification);
