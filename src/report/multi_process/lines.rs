//! A writer that several processes share, line by line.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// The writer of all lines.
#[derive(Clone)]
pub(super) struct Shared(Rc<RefCell<Box<dyn Write>>>);

impl Shared {
    pub(super) fn new(out: Box<dyn Write>) -> Shared {
        Shared(Rc::new(RefCell::new(out)))
    }

    /// Writes and flushes one line.
    pub(super) fn line(&self, line: &str) -> io::Result<()> {
        let mut out = self.0.borrow_mut();
        writeln!(out, "{line}")?;
        out.flush()
    }

    /// The writer of one process; each line begins with `label`.
    pub(super) fn lines(&self, label: String) -> Lines {
        Lines { shared: self.clone(), label, rest: Vec::new() }
    }
}

/// Keeps the beginning of a line until its end comes.
pub(super) struct Lines {
    shared: Shared,
    label: String,
    rest: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|b| *b == b'\n') else { return Ok(bytes.len()) };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let mut out = self.shared.0.borrow_mut();
        for line in whole.split_inclusive(|b| *b == b'\n') {
            let label = if line == b"\n" { self.label.trim_end() } else { &self.label };
            out.write_all(label.as_bytes())?;
            out.write_all(line)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.shared.0.borrow_mut().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::Memory;

    #[test]
    fn lines_of_two_do_not_mix() -> io::Result<()> {
        let memory = Memory::default();
        let shared = Shared::new(Box::new(memory.clone()));
        let (mut a, mut b) = (shared.lines("a ".into()), shared.lines("b ".into()));
        a.write_all(b"on")?;
        b.write_all(b"two\nthree\nfo")?;
        a.write_all(b"e\n")?;
        shared.line("all")?;
        b.write_all(b"ur\n")?;
        assert_eq!(memory.text(), "b two\nb three\na one\nall\nb four\n");
        Ok(())
    }
}
