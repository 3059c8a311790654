//! Warnings that a reader gives once, however often their cause comes again.

use super::Error;

/// Whether a warning was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Once {
    /// There was no cause for it.
    #[default]
    Nothing,
    /// It is to be given next.
    Due,
    Done,
}

impl Once {
    /// Its cause has come.
    pub(super) fn due(&mut self) {
        if *self == Self::Nothing {
            *self = Self::Due;
        }
    }

    /// # Errors
    /// The warning, where it is due.
    pub(super) fn take(&mut self, what: &'static str) -> Result<(), Error> {
        if *self != Self::Due {
            return Ok(());
        }
        *self = Self::Done;
        Err(Error::Limit { what })
    }
}

pub(super) const OUT_OF_TURN: &str =
    "more events wait for their turn than can be held, so some come before ones that are earlier";
pub(super) const FORGOTTEN_THREADS: &str =
    "there are too many threads to remember, so not every lost event can be counted";
