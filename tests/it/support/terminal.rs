//! A terminal with a keyboard: what gcwatch draws becomes a picture, and keys and sizes go to gcwatch.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{tcgetattr, tcsetwinsize};
use vt100::Parser;
use xtask::testkit::Skip;

use super::screen::{pty, size};
use super::{DEADLINE, Gcwatch, until};

/// What a terminal was before gcwatch had it, or is after that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The settings of the terminal, in words.
    settings: String,
    is_alternate: bool,
    hides_cursor: bool,
}

/// A terminal, and the gcwatch that it controls. Dropping this kills gcwatch.
pub(crate) struct Terminal {
    gcwatch: Child,
    /// `None`: the terminal was closed.
    master: Option<File>,
    picture: Arc<Mutex<Parser>>,
    /// It ends with the terminal's last writer, or when it is told to.
    reader: Option<JoinHandle<()>>,
    is_closing: Arc<AtomicBool>,
    before: Condition,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Fails if it has ended already.
        let _ = self.gcwatch.kill();
        let _ = self.gcwatch.wait();
    }
}

fn locked(picture: &Mutex<Parser>) -> MutexGuard<'_, Parser> {
    picture.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Terminal {
    /// Starts gcwatch as the program that the terminal controls: it gets the terminal's signals.
    pub(crate) fn of(gcwatch: Gcwatch, columns: u16, rows: u16) -> Result<Terminal> {
        let (master, terminal) = pty(columns, rows)?;
        let gcwatch = gcwatch.command();
        // `setsid` becomes gcwatch, with the same process id.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(gcwatch.get_program()).args(gcwatch.get_args());
        command.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        for (name, value) in gcwatch.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(terminal.try_clone()?).stdout(terminal.try_clone()?).stderr(terminal);
        let picture = Arc::new(Mutex::new(Parser::new(rows.try_into()?, columns.try_into()?, 0)));
        let before = condition(&master, &picture)?;
        let gcwatch = command.spawn().map_err(|e| Skip::because(format!("there is no setsid here: {e}")))?;
        // It holds the terminal, which must end with gcwatch.
        drop(command);
        let (output, drawn) = (File::from(master.try_clone()?), Arc::clone(&picture));
        let is_closing = Arc::new(AtomicBool::new(false));
        let closing = Arc::clone(&is_closing);
        let reader = Some(thread::spawn(move || read(output, &drawn, &closing)));
        Ok(Terminal { gcwatch, master: Some(File::from(master)), picture, reader, is_closing, before })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.gcwatch.id()
    }

    /// The text that a person would see now.
    pub(crate) fn text(&self) -> String {
        locked(&self.picture).screen().contents()
    }

    /// Presses keys, as the terminal encodes them.
    pub(crate) fn press(&mut self, keys: &str) -> Result<()> {
        let mut master = self.master.as_ref().context("the terminal was closed")?;
        Ok(master.write_all(keys.as_bytes())?)
    }

    /// Waits until a person would see all these texts.
    pub(crate) fn shows(&mut self, texts: &[&str]) -> Result<String> {
        self.shows_what(&format!("{texts:?}"), |text| texts.iter().all(|part| text.contains(part)))
    }

    /// Waits until a person would see what `is_it` wants.
    pub(crate) fn shows_what(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> Result<String> {
        let mut text = String::new();
        let waited = until(&format!("the terminal to show {what}"), DEADLINE, || {
            text = self.text();
            ensure!(is_it(&text) || self.gcwatch.try_wait()?.is_none(), "gcwatch has ended");
            Ok(is_it(&text))
        });
        waited.with_context(|| format!("it shows:\n{}", self.text()))?;
        Ok(text)
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> Result<()> {
        let mut picture = locked(&self.picture);
        picture.set_size(rows.try_into()?, columns.try_into()?);
        tcsetwinsize(self.master.as_ref().context("the terminal was closed")?, size(columns, rows))?;
        Ok(())
    }

    /// Closes the terminal, as a person does with its window.
    pub(crate) fn close(&mut self) {
        self.is_closing.store(true, Ordering::SeqCst);
        // It has a descriptor of the terminal, too.
        let _ = self.reader.take().map(JoinHandle::join);
        self.master = None;
    }

    /// Waits until gcwatch has ended.
    pub(crate) fn ended(&mut self) -> Result<ExitStatus> {
        let mut status = None;
        until("gcwatch to end", DEADLINE, || {
            status = self.gcwatch.try_wait()?;
            Ok(status.is_some())
        })
        .with_context(|| format!("it shows:\n{}", self.text()))?;
        status.context("no status")
    }

    /// Fails unless gcwatch, which has ended, has left the terminal as it was before.
    pub(crate) fn is_as_before(&mut self) -> Result<()> {
        until("the end of the output", DEADLINE, || {
            Ok(self.reader.as_ref().is_none_or(JoinHandle::is_finished))
        })?;
        let now = condition(self.master.as_ref().context("the terminal was closed")?, &self.picture)?;
        ensure!(now == self.before, "{now:?} instead of {:?}", self.before);
        Ok(())
    }
}

/// Draws what the program writes, until it has closed the terminal.
fn read(mut output: File, drawn: &Mutex<Parser>, is_closing: &AtomicBool) {
    const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let mut piece = [0; 4096];
    while !is_closing.load(Ordering::SeqCst) {
        let mut polled = [PollFd::new(&output, PollFlags::IN)];
        match poll(&mut polled, Some(&WAIT)) {
            Ok(0) => continue,
            Ok(_) => {}
            Err(_) => break,
        }
        match output.read(&mut piece) {
            Ok(n @ 1..) => locked(drawn).process(&piece[..n]),
            _ => break,
        }
    }
}

/// The settings can be asked for at either end.
fn condition(master: &impl std::os::fd::AsFd, picture: &Mutex<Parser>) -> Result<Condition> {
    let picture = locked(picture);
    let screen = picture.screen();
    Ok(Condition {
        settings: format!("{:?}", tcgetattr(master)?),
        is_alternate: screen.alternate_screen(),
        hides_cursor: screen.hide_cursor(),
    })
}
