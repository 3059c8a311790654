//! A report that outlasts its reader: the watch still owes a verdict when the pipe is closed.

use std::io::{self, ErrorKind};

use super::model::{Forward, Report};

/// Ignores a broken pipe, and writes nothing more after it.
#[derive(Debug)]
pub(crate) struct IgnoreBrokenPipe {
    report: Box<dyn Report>,
    broken: bool,
}

impl IgnoreBrokenPipe {
    pub(crate) fn new(report: Box<dyn Report>) -> IgnoreBrokenPipe {
        IgnoreBrokenPipe { report, broken: false }
    }
}

impl Forward for IgnoreBrokenPipe {
    fn inner(&self) -> Option<&dyn Report> {
        (!self.broken).then_some(self.report.as_ref())
    }

    fn forward(&mut self, call: &mut dyn FnMut(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        if self.broken {
            return Ok(());
        }
        match call(self.report.as_mut()) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.broken = true;
                Ok(())
            }
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::report::json::JsonReport;
    use crate::report::sample;

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
    fn a_closed_pipe_is_ignored_and_a_full_disk_is_not() {
        let facts = sample::facts();
        let start = |kind| IgnoreBrokenPipe::new(Box::new(JsonReport::new(Closed(kind)))).start(&facts);
        assert!(start(ErrorKind::BrokenPipe).is_ok());
        assert_eq!(start(ErrorKind::StorageFull).unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
