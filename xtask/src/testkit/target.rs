//! A process that a test starts, and talks to in lines.

use std::env;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use crate::{Clr, apps};

/// A running process with piped stdin, stdout and stderr. Dropping this kills the process.
///
/// Threads read its output all the time, so that it never blocks on a full pipe.
pub struct Target {
    child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<String>,
    lines: Vec<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
    /// An emulator runs it.
    emulated: bool,
    /// Wine runs it, and gives it a process id of its own, which it says when it is ready.
    wine: bool,
}

impl Target {
    /// Starts a test application on a runtime, with variables added to its environment. Does not wait
    /// for it to be ready.
    ///
    /// # Errors
    /// If the application cannot be built or started.
    pub fn app(clr: &Clr, name: &str, args: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        let mut command = clr.command(&apps::build(name)?);
        command.args(args).envs(env.iter().copied());
        let mut target = Self::spawn(command)?;
        target.emulated = clr.is_emulated();
        target.wine = clr.is_wine();
        Ok(target)
    }

    /// Starts a process.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let (sender, incoming) = mpsc::channel();
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let mut readers = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            readers.push(thread::spawn(move || {
                let mut stdout = BufReader::new(stdout);
                let mut line = Vec::new();
                while stdout.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    let text = String::from_utf8_lossy(&line);
                    let text = text.strip_suffix('\n').unwrap_or(&text);
                    let text = text.strip_suffix('\r').unwrap_or(text);
                    // Read on even without a receiver: the process must not block.
                    let _ = sender.send(text.to_owned());
                    line.clear();
                }
            }));
        }
        if let Some(mut pipe) = child.stderr.take() {
            let kept = Arc::clone(&stderr);
            readers.push(thread::spawn(move || {
                let mut part = [0; 4096];
                while let Ok(read @ 1..) = pipe.read(&mut part) {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(&part[..read]);
                }
            }));
        }
        let stdin = child.stdin.take();
        Ok(Self { child, stdin, incoming, lines: Vec::new(), stderr, readers, emulated: false, wine: false })
    }

    /// The process id, as gcwatch sees it.
    pub fn pid(&self) -> u32 {
        let own = || self.fact("pid")?.parse().ok();
        if self.wine { own().unwrap_or(0) } else { self.child.id() }
    }

    /// The lines of stdout that [`wait_line`](Self::wait_line) and [`wait`](Self::wait) have received so far.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// What was written to stderr so far.
    pub fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Sends one line to stdin.
    ///
    /// # Errors
    /// If either side has closed stdin.
    pub fn send_line(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().ok_or_else(|| anyhow!("stdin was closed"))?;
        stdin
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| stdin.flush())
            .with_context(|| format!("cannot send {line:?} to process {}", self.child.id()))
    }

    /// Closes stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the next line of stdout that starts with `prefix` and returns what follows the prefix,
    /// trimmed. Lines before it are skipped; [`lines`](Self::lines) keeps them.
    ///
    /// # Errors
    /// At the deadline or at the end of stdout. The message shows the output so far.
    pub fn wait_line(&mut self, prefix: &str, deadline: Duration) -> Result<String> {
        let until = Instant::now() + deadline;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let why = match self.incoming.recv_timeout(left) {
                Ok(line) => {
                    let rest = line.strip_prefix(prefix).map(|rest| rest.trim().to_owned());
                    self.lines.push(line);
                    match rest {
                        Some(rest) => {
                            if self.emulated {
                                rename_socket(self.pid())?;
                            }
                            return Ok(rest);
                        }
                        None => continue,
                    }
                }
                Err(RecvTimeoutError::Timeout) => format!("did not come within {deadline:?}"),
                Err(RecvTimeoutError::Disconnected) => "did not come before stdout ended".to_owned(),
            };
            bail!("a line that starts with {prefix:?} {why}\n{self:?}");
        }
    }

    /// Sends a line and waits for the answer that starts with `prefix`.
    ///
    /// # Errors
    /// Those of [`send_line`](Self::send_line) and [`wait_line`](Self::wait_line).
    pub fn ask(&mut self, line: &str, prefix: &str, deadline: Duration) -> Result<String> {
        self.send_line(line)?;
        self.wait_line(prefix, deadline)
    }

    /// Waits until the process has ended, and for all of its output. It does not close stdin: an application that reads
    /// stdin to its end needs [`close_stdin`](Self::close_stdin) first.
    ///
    /// # Errors
    /// At the deadline. The message shows the output so far.
    pub fn wait(&mut self, deadline: Duration) -> Result<ExitStatus> {
        let until = Instant::now() + deadline;
        // Wait for the process and for the end of stdout, which another process may hold open.
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if Instant::now() >= until {
                bail!("process {} did not end within {deadline:?}\n{self:?}", self.child.id());
            }
            thread::sleep(Duration::from_millis(2));
        };
        loop {
            match self.incoming.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => self.lines.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("stdout of the ended process is held open by another\n{self:?}")
                }
            }
        }
        while let Some(reader) = self.readers.pop() {
            while !reader.is_finished() {
                if Instant::now() >= until {
                    bail!("stderr of the ended process is held open by another\n{self:?}");
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(status)
    }

    /// The value of `key` from the last of the [lines](Self::lines) so far that has a word `key=value`.
    pub fn fact(&self, key: &str) -> Option<&str> {
        let words = self.lines.iter().rev().flat_map(|line| line.split_whitespace());
        words.filter_map(|word| word.split_once('=')).find(|(name, _)| *name == key).map(|(_, v)| v)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Fails if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.emulated {
            sockets(self.pid()).for_each(|socket| drop(fs::remove_file(socket)));
        }
    }
}

/// The diagnostics sockets of a process.
fn sockets(pid: u32) -> impl Iterator<Item = PathBuf> {
    let prefix = format!("dotnet-diagnostic-{pid}-");
    let entries = fs::read_dir(env::temp_dir()).into_iter().flatten().flatten();
    entries
        .filter(move |entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
}

/// Gives the diagnostics socket of an emulated process the name that others expect: the emulator tells the process a
/// start time of its own. Done again, it has no effect.
fn rename_socket(pid: u32) -> Result<()> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The first field behind the name is the third.
    let start = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(22 - 3));
    let name = format!("dotnet-diagnostic-{pid}-{}-socket", start.context("no start time")?);
    // An earlier process of this id may have left one.
    let newest = sockets(pid).max_by_key(|path| fs::metadata(path).and_then(|facts| facts.modified()).ok());
    Ok(fs::rename(newest.context("no socket")?, env::temp_dir().join(name))?)
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "process {}", self.child.id())?;
        writeln!(f, "stdout so far:\n{}", self.lines.join("\n"))?;
        write!(f, "stderr so far:\n{}", self.stderr())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const DEADLINE: Duration = Duration::from_secs(120);

    fn shell(script: &str) -> Target {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Target::spawn(command).unwrap()
    }

    #[test]
    fn talks_by_lines() {
        let mut target = shell("echo noise; echo ready pid=$$; read a; echo got $a; echo no >&2; exit 3");
        assert_eq!(target.wait_line("ready", DEADLINE).unwrap(), format!("pid={}", target.pid()));
        assert_eq!(target.fact("pid"), Some(target.pid().to_string().as_str()));
        assert_eq!(target.ask("x y", "got", DEADLINE).unwrap(), "x y");
        assert_eq!(target.wait(DEADLINE).unwrap().code(), Some(3));
        assert_eq!(target.lines()[0], "noise");
        assert_eq!(target.stderr(), "no\n");
    }

    #[test]
    fn a_missing_line_is_an_error_that_shows_the_output() {
        let mut target = shell("echo something; echo hint >&2");
        let message = target.wait_line("ready", DEADLINE).unwrap_err().to_string();
        assert!(message.contains("before stdout ended"), "{message}");
        assert!(message.contains("something"), "{message}");
        let mut silent = shell("read a");
        let message = silent.wait_line("ready", Duration::from_millis(1)).unwrap_err().to_string();
        assert!(message.contains("did not come within 1ms"), "{message}");
    }

    #[test]
    fn dropped_targets_are_gone() {
        let target = shell("echo ready; read a");
        let pid = target.pid();
        drop(target);
        // A process that was killed and waited for has no entry in the process table.
        let probe = Command::new("kill").args(["-0", &pid.to_string()]).output().unwrap();
        assert!(!probe.status.success());
    }
}
