//! The profiler's configuration: one line of text, the same for attach and startup.
//!
//! For an attach it is the client data of the attach command, UTF-8 without a terminator. At startup it is the environment
//! variable [`VARIABLE`], as the runtime sees it.
//!
//! ```text
//! gcwatch=5 arming=late blocks=0 names=1 window=3/1/0/30000/0 lease=/tmp/with spaces/lease.sock
//! ```
//!
//! `gcwatch` is [`ABI_VERSION`] and required. All other keys are optional, unknown keys are ignored, and the value of
//! `lease` is the rest of the text.

use core::fmt;

use crate::wire::{ABI_VERSION, Arming, Window};

/// The environment variable with the configuration of a profiler that is loaded at startup. The profiler removes it
/// from the runtime's environment as soon as it has read it.
pub const VARIABLE: &str = "GCWATCH_PROFILER";

/// The longest valid configuration, in bytes of UTF-8 and in UTF-16 units.
pub const MAX_LENGTH: usize = 1024;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config<'a> {
    /// When `COR_PRF_MONITOR_GC` is on. Late by default.
    pub arming: Arming,
    /// Send raw ranges and roots too.
    pub blocks: bool,
    /// Look up the types of what roots hold, and send the names of types and methods.
    pub names: bool,
    /// A variable to remove from the C library's environment, so that children started by native code do not inherit
    /// it. gcwatch itself removes it from the runtime's own copy. A name without spaces.
    pub unset: Option<&'a str>,
    /// The sampling window that the profiler is loaded for: number, collections, length in ms, interval in ms, and how
    /// many windows were skipped before it.
    pub window: Option<Window>,
    /// Path of the socket or pipe of the lease.
    pub lease: Option<&'a str>,
}

impl Default for Config<'_> {
    fn default() -> Self {
        Self { arming: Arming::LATE, blocks: false, names: false, unset: None, window: None, lease: None }
    }
}

/// An invalid configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not in this form, or a key has a wrong value.
    Malformed,
    /// The text is for another version of the profiler, or has no version.
    Version,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the profiler's configuration is malformed",
            Self::Version => "the profiler's configuration is for another version",
        })
    }
}

impl core::error::Error for ConfigError {}

impl<'a> Config<'a> {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn parse(text: &'a str) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let mut version = None;
        let mut rest = text;
        if text.len() > MAX_LENGTH || text.contains('\0') {
            return Err(ConfigError::Malformed);
        }
        while let Some((key, after)) = rest.trim_start_matches(' ').split_once('=') {
            if key == "lease" {
                config.lease = Some(after).filter(|path| !path.is_empty());
                rest = "";
                break;
            }
            let (value, next) = after.split_once(' ').unwrap_or((after, ""));
            rest = next;
            match (key, value) {
                ("gcwatch", _) => {
                    version = Some(value.parse::<u32>().map_err(|_| ConfigError::Malformed)?);
                }
                ("arming", "late") => config.arming = Arming::LATE,
                ("arming", "always") => config.arming = Arming::ALWAYS,
                ("blocks", "0") => config.blocks = false,
                ("blocks", "1") => config.blocks = true,
                ("names", "0") => config.names = false,
                ("names", "1") => config.names = true,
                ("unset", name) if !name.is_empty() => config.unset = Some(name),
                ("window", numbers) => {
                    config.window = Some(window(numbers).ok_or(ConfigError::Malformed)?);
                }
                ("arming" | "blocks" | "names" | "unset" | "", _) => return Err(ConfigError::Malformed),
                (key, _) if key.contains(' ') => return Err(ConfigError::Malformed),
                _ => {}
            }
        }
        if !rest.trim_matches(' ').is_empty() {
            return Err(ConfigError::Malformed);
        }
        if version == Some(ABI_VERSION) { Ok(config) } else { Err(ConfigError::Version) }
    }

    /// The text that [`Config::parse`] reads.
    #[cfg(not(agent))]
    #[must_use]
    pub fn to_text(&self) -> String {
        let arming = if self.arming == Arming::ALWAYS { "always" } else { "late" };
        let (blocks, names) = (u8::from(self.blocks), u8::from(self.names));
        let mut text = format!("gcwatch={ABI_VERSION} arming={arming} blocks={blocks} names={names}");
        if let Some(name) = self.unset {
            text.push_str(" unset=");
            text.push_str(name);
        }
        if let Some(Window { number, gcs, length_ms, every_ms, busy }) = self.window {
            text.push_str(&format!(" window={number}/{gcs}/{length_ms}/{every_ms}/{busy}"));
        }
        if let Some(path) = self.lease {
            text.push_str(" lease=");
            text.push_str(path);
        }
        text
    }
}

/// `3/1/0/30000/0`: five numbers, the first from 1.
fn window(text: &str) -> Option<Window> {
    let mut numbers = text.split('/').map(str::parse::<u32>);
    let mut next = || numbers.next()?.ok();
    let (number, gcs, length_ms) = (next()?, next()?, next()?);
    let window = Window { number, gcs, length_ms, every_ms: next()?, busy: next()? };
    (numbers.next().is_none() && window.number != 0).then_some(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for arming in [Arming::LATE, Arming::ALWAYS] {
            for (blocks, names) in [(false, false), (true, false), (false, true), (true, true)] {
                for unset in [None, Some("DOTNET_DiagnosticPorts")] {
                    for lease in [None, Some("/tmp/a b=c  gcwatch=9/ü.sock")] {
                        let window = unset.map(|_| Window {
                            number: 7,
                            gcs: 1,
                            length_ms: 0,
                            every_ms: 30_000,
                            busy: 2,
                        });
                        let config = Config { arming, blocks, names, unset, window, lease };
                        let text = config.to_text();
                        assert_eq!(Config::parse(&text), Ok(config), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn optional_and_unknown_keys_are_accepted() {
        let default = Config::default();
        assert_eq!(Config::parse("gcwatch=5"), Ok(default));
        assert_eq!(Config::parse("  colour=red   gcwatch=5  "), Ok(default));
        assert_eq!(Config::parse("gcwatch=5 lease="), Ok(default));
    }

    #[test]
    fn invalid_texts_are_refused() {
        for text in ["", " ", "arming=late", "gcwatch=1", "gcwatch=0 blocks=1"] {
            assert_eq!(Config::parse(text), Err(ConfigError::Version), "{text:?}");
        }
        for text in [
            "gcwatch=x",
            "gcwatch=5 arming=soon",
            "gcwatch=5 blocks=2",
            "gcwatch=5 names=yes",
            "gcwatch=5 unset=",
            "gcwatch=5 word",
            "gcwatch=5 word blocks=1",
            "gcwatch=5 =1",
            "gcwatch=5 lease=/a\0b",
            "gcwatch=5 window=0/1/0/1000/0",
            "gcwatch=5 window=1/1/0/1000",
            "gcwatch=5 window=1/1/0/1000/0/2",
            "gcwatch=5 window=x",
        ] {
            assert_eq!(Config::parse(text), Err(ConfigError::Malformed), "{text:?}");
        }
        let long = format!("gcwatch=5 lease=/{}", "x".repeat(MAX_LENGTH));
        assert_eq!(Config::parse(&long), Err(ConfigError::Malformed));
    }
}
