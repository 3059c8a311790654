//! A terminal of a given size, for a gcwatch that writes to a person.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{DEADLINE, Gcwatch, until};

/// How long the output of a gcwatch that has ended is waited for.
const LAST_OUTPUT: Duration = Duration::from_secs(10);

/// A gcwatch and what it has written to its terminal. Dropping this kills it.
pub(crate) struct Screen {
    gcwatch: Child,
    written: Arc<Mutex<Vec<u8>>>,
    /// It ends with the terminal's last writer.
    reader: JoinHandle<()>,
}

/// Both ends of a terminal: the person's, and the program's.
pub(super) fn pty(columns: u16, rows: u16) -> Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let path = ptsname(&master, Vec::new())?;
    let terminal = open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    tcsetwinsize(&terminal, size(columns, rows))?;
    Ok((master, terminal))
}

pub(super) fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.gcwatch.kill();
        let _ = self.gcwatch.wait();
    }
}

impl Screen {
    /// Starts gcwatch with a terminal as stdout and stderr.
    pub(crate) fn of(gcwatch: Gcwatch, columns: u16, rows: u16) -> Result<Screen> {
        let (master, terminal) = pty(columns, rows)?;
        let mut command = gcwatch.command();
        command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
        let other = terminal.try_clone()?;
        let gcwatch = command.stdin(Stdio::null()).stdout(terminal).stderr(other).spawn()?;
        // It holds the terminal, which must end with gcwatch.
        drop(command);
        let written = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&written);
        let reader = thread::spawn(move || {
            let (mut master, mut piece) = (File::from(master), [0; 4096]);
            while let Ok(n @ 1..) = master.read(&mut piece) {
                all.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..n]);
            }
        });
        Ok(Screen { gcwatch, written, reader })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.gcwatch.id()
    }

    /// Waits until gcwatch has ended.
    pub(crate) fn ended(&mut self) -> Result<ExitStatus> {
        let mut status = None;
        until("gcwatch to end", DEADLINE, || {
            status = self.gcwatch.try_wait()?;
            Ok(status.is_some())
        })
        .with_context(|| self.text())?;
        // What it wrote last may not have been read yet. A program that it started can keep the terminal open.
        let ended = Instant::now();
        while !self.reader.is_finished() && ended.elapsed() < LAST_OUTPUT {
            thread::sleep(Duration::from_millis(5));
        }
        status.context("no status")
    }

    /// Everything that was written so far, a line for each time the live line was drawn.
    pub(crate) fn text(&self) -> String {
        let bytes = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8_lossy(&bytes).replace("\r\x1b[2K", "\n").replace('\r', "")
    }

    /// Waits for a line for which `find` returns something.
    pub(crate) fn wait<T>(&self, what: &str, mut find: impl FnMut(&str) -> Option<T>) -> Result<T> {
        let mut found = None;
        until(what, DEADLINE, || {
            // The last line may be incomplete.
            found = self.text().lines().rev().skip(1).find_map(&mut find);
            Ok(found.is_some())
        })
        .with_context(|| self.text())?;
        found.context("nothing was found")
    }
}
