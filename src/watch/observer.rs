//! The observer of a watch.

use std::io;
use std::time::Duration;

use crate::gc::facts::{Facts, LiveState};
use crate::gc::record::Gc;

/// Receives what one watch finds while it runs. The first call is `start`; then any number of `gc`, `tick` and `warn`
/// follow. An error ends the watch.
pub(crate) trait Observer {
    /// Once, as soon as the watch runs.
    fn start(&mut self, facts: &Facts) -> io::Result<()>;

    /// A record is finished, complete or truncated. It never changes again.
    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()>;

    /// Whether a collection asked for the end of the watch.
    fn ends_watch(&self) -> bool {
        false
    }

    /// The condition that the last collection met, if its recording is to be kept.
    fn keeps(&self) -> Option<&str> {
        None
    }

    /// The condition that the last collection met, and its number, if a heap graph is to be taken then.
    fn wants_graph(&self) -> Option<(&str, Option<u32>)> {
        None
    }

    /// How often to call [`tick`](Self::tick) at present. `None`: never. Each tick wakes a processor that may sleep.
    fn tick_every(&self) -> Option<Duration> {
        None
    }

    /// Time has passed, whether or not anything happened.
    fn tick(&mut self, _state: &LiveState) -> io::Result<()> {
        Ok(())
    }

    /// A warning for the user, with its remedy, in one line.
    fn warn(&mut self, message: &str) -> io::Result<()>;
}
