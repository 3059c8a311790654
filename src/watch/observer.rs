//! Who hears of a watch.

use std::io;
use std::time::Duration;

use crate::gc::facts::{Facts, LiveState};
use crate::gc::record::Gc;

/// Hears of one watch as it goes on. The calls come in the order start, then any number of gc, tick and warn. An error
/// means that nobody hears any more, and ends the watch.
pub(crate) trait Observer {
    /// Once, as soon as the watch runs.
    fn start(&mut self, facts: &Facts) -> io::Result<()>;

    /// A finished record, complete or truncated. It never changes again.
    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()>;

    /// How often [`tick`](Self::tick) is wanted at present; `None`: not at all. Each tick wakes a processor that may sleep.
    fn tick_every(&self) -> Option<Duration> {
        None
    }

    /// Time has passed, whether something happened or not.
    fn tick(&mut self, _state: &LiveState) -> io::Result<()> {
        Ok(())
    }

    /// Something that the user should know, with its remedy, in one line.
    fn warn(&mut self, message: &str) -> io::Result<()>;
}
