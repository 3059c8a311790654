//! A report whose reader may go while a verdict is still owed: the watch goes on without it.

use std::io::{self, ErrorKind};
use std::time::Duration;

use super::{End, Facts, LiveState, Report};
use crate::gc::record::Gc;

/// Swallows a closed pipe, and everything after it.
#[derive(Debug)]
pub(crate) struct Outlive {
    report: Box<dyn Report>,
    gone: bool,
}

impl Outlive {
    pub(crate) fn new(report: Box<dyn Report>) -> Outlive {
        Outlive { report, gone: false }
    }

    fn tell(&mut self, what: impl FnOnce(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        match what(self.report.as_mut()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            told => told,
        }
    }
}

impl Report for Outlive {
    fn start(&mut self, facts: &Facts) -> io::Result<()> {
        self.tell(|report| report.start(facts))
    }

    fn gc(&mut self, facts: &Facts, gc: &Gc) -> io::Result<()> {
        self.tell(|report| report.gc(facts, gc))
    }

    fn tick_every(&self) -> Option<Duration> {
        self.report.tick_every().filter(|_| !self.gone)
    }

    fn tick(&mut self, state: &LiveState) -> io::Result<()> {
        self.tell(|report| report.tick(state))
    }

    fn warn(&mut self, message: &str) -> io::Result<()> {
        self.tell(|report| report.warn(message))
    }

    fn end(&mut self, facts: &Facts, end: &End<'_>) -> io::Result<()> {
        self.tell(|report| report.end(facts, end))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::report::{JsonReport, sample};

    #[derive(Debug)]
    struct Closed(ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_outlived_and_a_full_disk_is_not() {
        let facts = sample::facts();
        let start = |kind| Outlive::new(Box::new(JsonReport::new(Closed(kind)))).start(&facts);
        assert!(start(ErrorKind::BrokenPipe).is_ok());
        assert_eq!(start(ErrorKind::StorageFull).unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
