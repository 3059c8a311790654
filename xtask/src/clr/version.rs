//! Versions of released runtimes.

use std::fmt;
use std::str::FromStr;

/// The version of a released runtime, such as 9.0.18.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 9 of 9.0.18.
    pub major: u32,
    /// 0 of 9.0.18.
    pub minor: u32,
    /// 18 of 9.0.18.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    /// Reads `MAJOR.MINOR.PATCH`. A preview (`10.0.0-rc.1`) is not a released version.
    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let mut numbers = text.split('.').map(|part| part.parse().map_err(|_| NotAVersion));
        let mut next = || numbers.next().ok_or(NotAVersion)?;
        let version = Self { major: next()?, minor: next()?, patch: next()? };
        match numbers.next() {
            None => Ok(version),
            Some(_) => Err(NotAVersion),
        }
    }
}

/// A text that is not `MAJOR.MINOR.PATCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAVersion;

impl fmt::Display for NotAVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a version of the form MAJOR.MINOR.PATCH")
    }
}

impl std::error::Error for NotAVersion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        assert!(version("10.0.12") > version("9.0.18"));
        assert!(version("9.0.18") > version("9.0.7"));
        assert_eq!(version("9.0.18").to_string(), "9.0.18");
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in ["", "9", "9.0", "9.0.x", "9.0.18.1", "10.0.0-rc.1.25451.107"] {
            assert_eq!(text.parse::<Version>(), Err(NotAVersion), "{text}");
        }
    }
}
