//! What building and testing for one platform gave.

use std::collections::BTreeSet;
use std::fmt;

/// Whether a platform could be tried.
pub(super) enum Outcome {
    /// It was built, and its tests ran if they can run here.
    Tried(Results),
    /// Nothing was done, for this reason.
    Skipped(String),
}

/// The results of the tests of one platform.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) is_built: bool,
    pub(super) passed: BTreeSet<String>,
    pub(super) failed: BTreeSet<String>,
    pub(super) skipped: BTreeSet<String>,
    /// Commands that ended in an error without a failed test.
    pub(super) broken: usize,
}

impl Results {
    pub(super) fn has_failed(&self) -> bool {
        !self.is_built || !self.failed.is_empty() || self.broken > 0
    }

    /// Reads one line of a test harness: `test NAME ... ok`. `program`: what the names are prefixed by, because two crates may
    /// have tests of the same name. Returns whether a test failed.
    pub(super) fn read(&mut self, program: &str, line: &str) -> bool {
        let Some((name, result)) = line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ... "))
        else {
            return false;
        };
        let kind = match result.split([',', ' ']).next().unwrap_or_default() {
            "ok" => &mut self.passed,
            "ignored" => &mut self.skipped,
            "FAILED" => &mut self.failed,
            _ => return false,
        };
        kind.insert(format!("{program} {}", name.trim()));
        result.starts_with("FAILED")
    }

    /// The versions of .NET on which every test ran and passed whose name begins in this way: `8, 9, 10`. Empty: none.
    pub(super) fn runtimes(&self, test: &str) -> String {
        let versions = |names: &BTreeSet<String>| -> BTreeSet<u32> {
            let names = names.iter().filter_map(|name| name.split_once(' ').map(|(_, name)| name));
            let of_test = names.filter(|name| name.starts_with(test));
            of_test.filter_map(|name| name.split_once("[net")?.1.split('.').next()?.parse().ok()).collect()
        };
        let failed = versions(&self.failed);
        let good: Vec<String> = versions(&self.passed).difference(&failed).map(u32::to_string).collect();
        good.join(", ")
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let built = if self.is_built { "built" } else { "NOT BUILT" };
        write!(f, "{built}, {} tests passed", self.passed.len())?;
        write!(f, ", {} failed, {} skipped", self.failed.len(), self.skipped.len())?;
        if self.broken > 0 {
            write!(f, ", {} test programs ended early", self.broken)?;
        }
        self.failed.iter().try_for_each(|name| write!(f, "\n  FAILED {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_counts_if_all_its_tests_passed() {
        let mut results = Results::default();
        for line in [
            "test levels::basic [net8.0.29]  ... ok",
            "test levels::basic [net10.0.12] ... ok",
            "test levels::moves [net10.0.12] ... FAILED",
            "test other::plain ... ignored, no reason",
            "test other::later ... ignored (with a reason, in words)",
            "running 3 tests",
        ] {
            results.read("integration", line);
        }
        assert_eq!((results.passed.len(), results.failed.len(), results.skipped.len()), (2, 1, 2));
        assert_eq!(results.runtimes("levels::basic"), "8, 10");
        assert_eq!(results.runtimes("levels::"), "8");
        assert_eq!(results.runtimes("roots::"), "");
    }
}
