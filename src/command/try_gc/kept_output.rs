//! What a program prints in a run: kept from the screen, searched for a number, its last lines kept for an error.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use regex::Regex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::task::JoinHandle;

use crate::escape::cut;

/// So many lines are kept for an error, and so many characters of each.
const MAX_LINES: usize = 5;
const MAX_LINE_CHARS: usize = 300;
/// What follows in a line is not searched.
const MAX_LINE_BYTES: usize = 64 << 10;
/// Processes that outlive the program may keep its output open.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// What a program has printed.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Said {
    /// The last lines.
    pub(super) last_lines: VecDeque<String>,
    /// The last number that matched.
    pub(super) metric: Option<f64>,
}

/// Reads the output of a program while it runs.
pub(super) struct KeptOutput {
    said: Arc<Mutex<Said>>,
    readers: Vec<JoinHandle<()>>,
}

impl KeptOutput {
    /// Begins to read both streams of a child, which are pipes. `show`: they are written to stderr, too.
    pub(super) fn of(child: &mut Child, metric: Option<&Regex>, show: bool) -> KeptOutput {
        let said = Arc::new(Mutex::new(Said::default()));
        let mut readers = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            readers.push(tokio::spawn(read(stdout, Lines::new(&said, metric), show)));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.push(tokio::spawn(read(stderr, Lines::new(&said, None), show)));
        }
        KeptOutput { said, readers }
    }

    /// The program has ended: what it has printed.
    pub(super) async fn end(self) -> Said {
        for mut reader in self.readers {
            if tokio::time::timeout(END_TIMEOUT, &mut reader).await.is_err() {
                reader.abort();
            }
        }
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn read(mut stream: impl AsyncRead + Unpin, mut lines: Lines, show: bool) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
        if show {
            // There is no place to report a failure.
            let _ = io::stderr().write_all(&buffer[..n]);
        }
        lines.add(&buffer[..n]);
    }
    lines.end_line();
}

/// Splits bytes into lines.
struct Lines {
    said: Arc<Mutex<Said>>,
    metric: Option<Regex>,
    line: Vec<u8>,
}

impl Lines {
    fn new(said: &Arc<Mutex<Said>>, metric: Option<&Regex>) -> Lines {
        Lines { said: Arc::clone(said), metric: metric.cloned(), line: Vec::new() }
    }

    fn add(&mut self, bytes: &[u8]) {
        for (n, part) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if n > 0 {
                self.end_line();
            }
            let room = MAX_LINE_BYTES - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line).trim_end().to_owned();
        self.line.clear();
        if line.is_empty() {
            return;
        }
        let found = self.metric.as_ref().and_then(|metric| number(metric, &line));
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.metric = found.or(said.metric);
        said.last_lines.push_back(cut(line, MAX_LINE_CHARS));
        if said.last_lines.len() > MAX_LINES {
            said.last_lines.pop_front();
        }
    }
}

/// The last number in a line that a pattern matches.
fn number(pattern: &Regex, line: &str) -> Option<f64> {
    let numbers = pattern.captures_iter(line).filter_map(|found| found.get(1)?.as_str().trim().parse().ok());
    numbers.filter(|number: &f64| number.is_finite()).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pattern: &str, pieces: &[&[u8]]) -> Said {
        let said = Arc::new(Mutex::new(Said::default()));
        let mut lines = Lines::new(&said, Some(&Regex::new(pattern).unwrap()));
        pieces.iter().for_each(|piece| lines.add(piece));
        lines.end_line();
        said.lock().unwrap().clone()
    }

    #[test]
    fn the_last_number_counts_wherever_the_output_is_cut() {
        let of = |pieces: &[&[u8]]| said("([0-9.]+) requests/s", pieces).metric;
        assert_eq!(of(&[b"10 requests/s, 11.5 requests/s\nbye\n"]), Some(11.5));
        assert_eq!(of(&[b"1", b"0 requ", b"ests/s"]), Some(10.0));
        assert_eq!(of(&[b"10 requests/s\n", b"... requests/s\n\xff\n"]), Some(10.0));
        assert_eq!(of(&[b"no number"]), None);
        assert_eq!(said("(.+)", &[b"NaN\ninf\n"]).metric, None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let long = vec![b'x'; 3 * MAX_LINE_BYTES];
        let said = said("x([0-9])", &[b"1\n2\n3\n4\n5\n", &long, b"x7\nend"]);
        assert_eq!(said.metric, None, "it stands too far behind");
        assert_eq!(said.last_lines.len(), MAX_LINES);
        assert_eq!((said.last_lines[0].as_str(), said.last_lines[4].as_str()), ("3", "end"));
        assert_eq!(said.last_lines[3].chars().count(), MAX_LINE_CHARS);
    }
}
