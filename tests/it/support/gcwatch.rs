//! Runs the program under test.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use xtask::testkit::Target;
use xtask::{Clr, apps};

use super::process::kill_descendants;
use super::{DEADLINE, until};

static PROGRAM: OnceLock<Vec<OsString>> = OnceLock::new();

/// The command that runs the gcwatch to test: its path, behind an emulator's where it needs one.
pub(crate) fn program() -> &'static [OsString] {
    PROGRAM.get_or_init(|| vec![env!("CARGO_BIN_EXE_gcwatch").into()])
}

/// The path of the gcwatch to test.
pub(crate) fn program_file() -> &'static Path {
    program().last().map_or(Path::new(""), Path::new)
}

/// Builds gcwatch for the target to test, if it is another than the tests are built for. Before all tests.
pub(crate) fn prepare_program() -> Result<()> {
    let argv = xtask::tested::gcwatch(env!("CARGO_BIN_EXE_gcwatch").as_ref())?;
    ensure!(PROGRAM.set(argv).is_ok(), "gcwatch was run already");
    Ok(())
}

fn command() -> Command {
    let mut argv = program().iter();
    let mut command = Command::new(argv.next().map_or(OsStr::new(""), |first| first));
    command.args(argv);
    command
}

/// A command line of gcwatch.
pub(crate) struct Gcwatch {
    command: Command,
}

/// The exit code and the output of a finished process.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit code; 128+n where signal n ended it.
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Gcwatch {
    /// With the environment variables that programs on this runtime need.
    pub(crate) fn on(clr: &Clr) -> Gcwatch {
        let mut command = command();
        clr.environment(&mut command);
        Gcwatch { command: own_settings_removed(command) }
    }

    /// Without a runtime.
    pub(crate) fn new() -> Gcwatch {
        Gcwatch { command: own_settings_removed(command()) }
    }

    /// Without a runtime, and without a reader of its stdout.
    pub(crate) fn unread() -> Gcwatch {
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" > /dev/null"]).args(program());
        Gcwatch { command: own_settings_removed(command) }
    }

    /// Without a runtime, and with at most this much address space.
    pub(crate) fn within(kib: u64) -> Gcwatch {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {kib} && exec \"$0\" \"$@\"")]).args(program());
        Gcwatch { command: own_settings_removed(command) }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Gcwatch {
        self.command.arg(arg);
        self
    }

    /// An option and its value.
    pub(crate) fn option(self, name: &str, value: impl AsRef<OsStr>) -> Gcwatch {
        self.arg(name).arg(value)
    }

    /// Several arguments, separated by spaces.
    pub(crate) fn args(mut self, line: &str) -> Gcwatch {
        self.command.args(line.split_whitespace());
        self
    }

    /// Several arguments, unchanged.
    pub(crate) fn options<'o>(mut self, options: impl IntoIterator<Item = &'o OsStr>) -> Gcwatch {
        self.command.args(options);
        self
    }

    pub(crate) fn envs<'e>(mut self, variables: impl IntoIterator<Item = (&'e str, &'e str)>) -> Gcwatch {
        self.command.envs(variables);
        self
    }

    /// `-- dotnet app.dll arguments`.
    pub(crate) fn app(mut self, clr: &Clr, name: &str, arguments: &str) -> Result<Gcwatch> {
        self.command.arg("--").args(clr.argv(&apps::build(name)?)).args(arguments.split_whitespace());
        Ok(self)
    }

    pub(crate) fn command(self) -> Command {
        self.command
    }

    /// Starts it, for a test that talks to it.
    pub(crate) fn spawn(self) -> Result<Target> {
        Target::spawn(self.command)
    }

    /// Runs it to its end, with nothing on stdin.
    pub(crate) fn output(self) -> Result<Ended> {
        run_to_end(self.command, Vec::new())
    }

    /// Runs it to its end with these bytes on stdin.
    pub(crate) fn feed(self, stdin: Vec<u8>) -> Result<Ended> {
        run_to_end(self.command, stdin)
    }
}

impl Ended {
    pub(crate) fn out(&self) -> Result<&str> {
        Ok(std::str::from_utf8(&self.stdout)?)
    }

    /// Fails, with all output in the message, unless the exit code is this one.
    pub(crate) fn expect(self, code: i32) -> Result<Ended> {
        let out = String::from_utf8_lossy(&self.stdout);
        ensure!(
            self.code == code,
            "exit code {} instead of {code}\nstdout:\n{out}\nstderr:\n{}",
            self.code,
            self.stderr
        );
        Ok(self)
    }

    /// Fails unless stderr contains every one of these words.
    pub(crate) fn says(self, words: &[&str]) -> Result<Ended> {
        for word in words {
            ensure!(self.stderr.contains(word), "no {word:?} in the message:\n{}", self.stderr);
        }
        Ok(self)
    }
}

/// Runs a command to its end; kills it and what it started at the deadline.
pub(crate) fn run_to_end(mut command: Command, stdin: Vec<u8>) -> Result<Ended> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let mut input = child.stdin.take().context("stdin is no pipe")?;
    // The process may end before it has read all.
    thread::spawn(move || input.write_all(&stdin));
    let stdout = collect(child.stdout.take().context("stdout is no pipe")?);
    let stderr = collect(child.stderr.take().context("stderr is no pipe")?);
    let end = Instant::now() + DEADLINE;
    let ended = until("the process to end", DEADLINE, || Ok(child.try_wait()?.is_some()));
    let closed = ended.and_then(|()| {
        let left = end.saturating_duration_since(Instant::now());
        until("its output to end", left, || Ok(stdout.is_finished() && stderr.is_finished()))
    });
    if let Err(error) = closed {
        kill_descendants(child.id());
        let _ = child.kill();
        let _ = child.wait();
        let stderr = if stderr.is_finished() { text(stderr) } else { String::new() };
        bail!("{error}: {command:?}\nstderr:\n{stderr}");
    }
    let status = child.wait()?;
    let Ok(stdout) = stdout.join() else { bail!("reading stdout panicked") };
    Ok(Ended { code: code(status), stdout, stderr: text(stderr) })
}

/// The exit code as a shell gives it: 128+n after signal n.
pub(crate) fn code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or(status.signal().map(|n| 128 + n)).unwrap_or(-1)
}

fn text(reader: thread::JoinHandle<Vec<u8>>) -> String {
    String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
}

fn collect(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut all = Vec::new();
        // Keep what was read before an error.
        let _ = pipe.read_to_end(&mut all);
        all
    })
}

fn own_settings_removed(mut command: Command) -> Command {
    let ours = |name: &str| {
        name.starts_with("GCWATCH_") || ["NO_COLOR", "CLICOLOR_FORCE", "GITHUB_ACTIONS"].contains(&name)
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command
}
