//! Reasons to skip a test, and the optional files whose absence is one.

use std::env;
use std::fmt;
use std::path::PathBuf;

/// Why a test cannot run here. The test returns this as its error; the runner counts and prints it.
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

    /// The skip in an error's chain of causes, if there is one.
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

/// The directory of nettrace recordings that other tools made, with the results of those tools
/// (`GCWATCH_TEST_DATA`).
///
/// # Errors
/// The reason to skip, if there is no such directory.
pub fn recordings() -> Result<PathBuf, Skip> {
    named_by("GCWATCH_TEST_DATA", "")
}

/// A file or directory below the directory of other tools (`GCWATCH_TEST_PEERS`), such as
/// `gcstats/gcstats.dll`.
///
/// # Errors
/// The reason to skip, if it does not exist.
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
