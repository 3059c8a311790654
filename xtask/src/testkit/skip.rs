//! Reasons for not running a test, and the optional things whose absence is one.

use std::env;
use std::fmt;
use std::path::PathBuf;

/// Why a test could not run here. A test returns it as its error; the runner counts it and prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    reason: String,
}

impl Skip {
    /// A skip with a reason that says what is missing.
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    /// What is missing.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The skip that caused an error, if one did.
    pub fn in_error(error: &anyhow::Error) -> Option<&Self> {
        error.chain().find_map(|cause| cause.downcast_ref())
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "skipped: {}", self.reason)
    }
}

impl std::error::Error for Skip {}

/// The directory of nettrace recordings made by other tools, with their answers beside them
/// (`GCWATCH_TEST_DATA`).
///
/// # Errors
/// The reason to skip, where there is none.
pub fn recordings() -> Result<PathBuf, Skip> {
    named_by("GCWATCH_TEST_DATA", "")
}

/// A file or directory below the directory of other tools (`GCWATCH_TEST_PEERS`), such as
/// `gcstats/gcstats.dll`.
///
/// # Errors
/// The reason to skip, where it is not there.
pub fn peer(path: &str) -> Result<PathBuf, Skip> {
    named_by("GCWATCH_TEST_PEERS", path)
}

fn named_by(variable: &str, path: &str) -> Result<PathBuf, Skip> {
    let Some(dir) = env::var_os(variable).filter(|value| !value.is_empty()) else {
        return Err(Skip::because(format!("{variable} is not set")));
    };
    let found = PathBuf::from(dir).join(path);
    if found.exists() {
        Ok(found)
    } else {
        Err(Skip::because(format!("{} ({variable}) does not exist", found.display())))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_skip_is_found_below_context() {
        let error = Err::<(), _>(Skip::because("no wine")).context("starting").unwrap_err();
        assert_eq!(Skip::in_error(&error).map(Skip::reason), Some("no wine"));
        assert_eq!(Skip::in_error(&anyhow::anyhow!("broken")), None);
    }
}
