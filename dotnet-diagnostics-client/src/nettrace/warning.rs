//! Warnings that a reader gives once, however often their cause occurs.

use super::error::Error;

/// The state of a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Warning {
    #[default]
    NoCause,
    /// The cause has occurred; the warning comes next.
    Due,
    Given,
}

impl Warning {
    /// The cause has occurred.
    pub(super) fn due(&mut self) {
        if *self == Self::NoCause {
            *self = Self::Due;
        }
    }

    /// # Errors
    /// The warning, if it is due.
    pub(super) fn give(&mut self, what: &'static str) -> Result<(), Error> {
        if *self != Self::Due {
            return Ok(());
        }
        *self = Self::Given;
        Err(Error::Limit { what })
    }
}

pub(super) const OUT_OF_ORDER: &str =
    "more events wait for their turn than can be held, so some come before ones that are earlier";
pub(super) const FORGOTTEN_THREADS: &str =
    "there are too many threads to remember, so not every lost event can be counted";
