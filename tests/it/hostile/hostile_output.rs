//! Nothing that a target or a file chooses, such as its name, its arguments, its TMPDIR or the names of its types, may
//! control the terminal that shows the output: in any format, list, error message or log.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use xtask::testkit::Target;
use xtask::{Clr, apps};

use crate::it::suite::Suite;
use crate::it::support::{DEADLINE, Ended, Gcwatch, run_to_end};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("hostile_output::of_a_running_process", &[], running);
    suite.once("hostile_output::in_every_format", &[], formats);
    suite.once("hostile_output::in_messages_about_a_process", &[], unreachable);
    suite.plain("hostile_output::in_messages_about_files", files);
}

pub(crate) const FORMATS: [&str; 8] =
    ["text", "json", "ndjson", "csv", "markdown", "junit", "github", "openmetrics"];

/// A forged line, a window title, a control sequence in both encodings, DEL, and direction changes.
const EVIL: &str = "\nFORGED\x1b]0;TITLE\x07\x1b[31m\u{9b}32m\u{7f}\u{202e}\u{2066}\r";
/// Commands of the logs of GitHub and Azure: at the beginning of a line, and anywhere in it.
const COMMANDS: &str = " ::error::FORGED ##[error]FORGED ##vso[task.complete]FORGED";
/// The same without what separates the paths in a list that the runtime reads.
const COMMANDS_IN_A_NAME: &str = " ##[error]FORGED ##vso[task.complete]FORGED";
/// Output must contain this word; otherwise the test has shown nothing.
const MARK: &str = "FORGED";

/// Fails if these bytes control a terminal or contain a forged line.
pub(crate) fn harmless(what: &str, bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).with_context(|| format!("{what} is no UTF-8"))?;
    let acts = |c: char| {
        c < ' ' && c != '\n'
            || ('\u{7f}'..='\u{9f}').contains(&c)
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    // Our own annotations begin so.
    let ours = |line: &str| {
        ["error", "warning", "notice"]
            .iter()
            .any(|kind| line.starts_with(&format!("::{kind} title=gcwatch%3A ")))
    };
    let commands = |line: &str| {
        let first = line.trim_start().starts_with("::") && !ours(line);
        first || line.contains("##[") || line.contains("##vso[")
    };
    let acts = |line: &str| line.chars().any(acts) || line.starts_with(MARK) || commands(line);
    if let Some(line) = text.lines().find(|line| acts(line)) {
        anyhow::bail!("{what}: {line:?}");
    }
    Ok(())
}

/// Checks both streams; with `shown`, one of them has to contain the target's text.
fn harmless_all(what: &str, ended: &Ended, shown: bool) -> Result<()> {
    harmless(&format!("{what}, stdout"), &ended.stdout)?;
    harmless(&format!("{what}, stderr"), ended.stderr.as_bytes())?;
    let there = ended.out()?.contains(MARK) || ended.stderr.contains(MARK);
    ensure!(there || !shown, "{what} does not show it:\n{}\n{}", ended.out()?, ended.stderr);
    Ok(())
}

/// Whether a report in this format names the target even if nothing is wrong.
fn shows_title(format: &str) -> bool {
    !["csv", "github"].contains(&format)
}

/// The name of its file.
fn title() -> String {
    format!("{EVIL}{COMMANDS_IN_A_NAME}.dll")
}

/// A program whose file, argument and directory for temporary files have hostile names.
struct Hostile {
    dir: TempDir,
    dll: PathBuf,
}

impl Hostile {
    fn new(app: &str) -> Result<Hostile> {
        let dir = tempfile::tempdir()?;
        let built = apps::build(app)?;
        let dll = dir.path().join(title());
        for extension in ["dll", "runtimeconfig.json"] {
            fs::copy(built.with_extension(extension), dll.with_extension(extension))?;
        }
        fs::create_dir(dir.path().join(EVIL))?;
        Ok(Hostile { dir, dll })
    }

    fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    fn temp_dir(&self) -> PathBuf {
        self.at(EVIL)
    }

    /// An argument that is not even UTF-8.
    fn argument() -> OsString {
        OsString::from_vec([EVIL.as_bytes(), COMMANDS.as_bytes(), b"\x9b31m\xff"].concat())
    }

    fn start(&self, clr: &Clr) -> Result<Target> {
        let mut command = clr.command(&self.dll);
        command.arg(Hostile::argument()).env("TMPDIR", self.temp_dir());
        let mut target = Target::spawn(command)?;
        target.wait_line("ready ", DEADLINE)?;
        Ok(target)
    }

    /// Runs it under `gcwatch run`.
    fn run(&self, clr: &Clr, options: &[&OsStr]) -> Result<Ended> {
        let mut command: Command = Gcwatch::on(clr)
            .envs([("DOTNET_GCgen0size", "400000")])
            .arg("run")
            .options(options.iter().copied())
            .arg("--")
            .command();
        command.args(clr.argv(&self.dll)).args(["work=20000", "live=500"]).arg(Hostile::argument());
        command.env("TMPDIR", self.temp_dir());
        run_to_end(command, Vec::new())?.expect(0)
    }
}

fn running(clr: &Clr) -> Result<()> {
    let hostile = Hostile::new("roots")?;
    let target = hostile.start(clr)?;
    let pid = target.pid().to_string();
    for list in ["ps", "ps --why", "ps --json"] {
        let ended = Gcwatch::on(clr).args(list).output()?.expect(0)?;
        harmless_all(list, &ended, true)?;
        if list.ends_with("json") {
            let rows: Value = serde_json::from_slice(&ended.stdout)?;
            let row = rows.as_array().context("no list")?.iter().find(|row| row["pid"] == target.pid());
            let name = row.with_context(|| format!("no {pid}: {rows}"))?["title"].as_str();
            ensure!(name == Some(title().as_str()), "JSON has another name: {name:?}");
        }
    }
    let pids = Gcwatch::on(clr).args("ps --format pids").output()?.expect(0)?;
    harmless("ps --format pids", pids.out()?.replace('\t', " ").as_bytes())?;
    ensure!(pids.out()?.contains(MARK), "{}", pids.out()?);
    for format in FORMATS {
        let options = format!("attach {pid} --duration 300ms --level basic -vv --format {format}");
        let ended = Gcwatch::on(clr).args(&options).output()?.expect(0)?;
        harmless_all(&options, &ended, shows_title(format))?;
    }
    let options = format!("attach {pid} --duration 300ms -vv");
    let ended = Gcwatch::on(clr).args(&options).output()?.expect(0)?;
    harmless_all(&options, &ended, true)?;
    // With two processes of the same name, the message lists them.
    let _second = hostile.start(clr)?;
    let ended = Gcwatch::on(clr).args("attach --name").arg(title()).output()?.expect(20)?;
    harmless_all("attach --name", &ended, true)
}

fn formats(clr: &Clr) -> Result<()> {
    let hostile = Hostile::new("churn")?;
    let record = hostile.at(format!("{EVIL}{{pid}}.nettrace"));
    for format in FORMATS {
        for follow in [false, true] {
            let mut options: Vec<&OsStr> = ["-vv", "--format", format].map(OsStr::new).to_vec();
            if follow {
                options.push("--follow".as_ref());
            } else {
                options.extend(["--record".as_ref(), record.as_os_str()]);
            }
            let ended = hostile.run(clr, &options)?;
            harmless_all(&format!("run {options:?}"), &ended, shows_title(format))?;
            ensure!(follow || ended.stderr.contains("DEBUG"), "there is no log: {}", ended.stderr);
        }
    }
    let mut recordings: Vec<PathBuf> =
        fs::read_dir(hostile.dir.path())?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    recordings.retain(|path| path.extension().is_some_and(|e| e == "nettrace"));
    ensure!(recordings.len() == FORMATS.len(), "{recordings:?}");
    let mut documents = Vec::new();
    for format in FORMATS {
        for several in [false, true] {
            let mut gcwatch = Gcwatch::new().args("report -vv --format").arg(format).arg(&recordings[0]);
            if several {
                gcwatch = gcwatch.arg(&recordings[1]);
            }
            let ended = gcwatch.output()?.expect(0)?;
            harmless_all(&format!("report {format}, several: {several}"), &ended, shows_title(format))?;
            if format == "json" && !several {
                let path = hostile.at("document.json");
                fs::write(&path, &ended.stdout)?;
                documents.push(path);
            }
        }
    }
    for format in ["text", "json", "markdown"] {
        for (a, b) in [(&recordings[0], &recordings[1]), (&documents[0], &recordings[2])] {
            let gcwatch = Gcwatch::new().args("diff --format").arg(format).arg(a).arg(b);
            let ended = gcwatch.args("--fail-on gc.count>+1000%").output()?.expect(0)?;
            harmless_all(&format!("diff {format}"), &ended, true)?;
        }
    }
    Ok(())
}

/// The target's socket cannot exist, because its TMPDIR does not.
fn unreachable(clr: &Clr) -> Result<()> {
    let hostile = Hostile::new("roots")?;
    fs::remove_dir(hostile.temp_dir())?;
    let target = hostile.start(clr)?;
    let pid = target.pid();
    let ended = Gcwatch::on(clr).arg("attach").arg(pid.to_string()).output()?;
    ensure!(ended.code != 0, "{ended:?}");
    harmless_all("attach", &ended, true)?;
    for list in ["ps --why", "ps --why --json"] {
        harmless_all(list, &Gcwatch::on(clr).args(list).output()?.expect(0)?, true)?;
    }
    Ok(())
}

/// The names of files, and their contents.
fn files() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join(EVIL);
    let write = |content: &[u8]| fs::write(&path, content);
    let evil = serde_json::to_string(EVIL)?;
    for content in [
        EVIL.to_owned(),
        format!("{{{EVIL}"),
        format!("{{\"schema\": {evil}}}"),
        format!("{{\"schema\": \"gcwatch/1\", \"gcs\": [{{{evil}: {evil}}}]}}"),
    ] {
        write(content.as_bytes())?;
        harmless_all("report", &Gcwatch::new().arg("report").arg(&path).output()?.expect(12)?, true)?;
        let ended = Gcwatch::new().arg("diff").arg(&path).arg(&path).output()?.expect(12)?;
        harmless_all("diff", &ended, true)?;
    }
    let toml = format!("{evil} = [{evil}]");
    for content in [EVIL, &toml, &format!("default = [{evil}]")] {
        write(content.as_bytes())?;
        let gcwatch = Gcwatch::new().arg("run").arg("--assert-file").arg(&path).args("-- echo");
        harmless_all("--assert-file", &gcwatch.output()?.expect(2)?, true)?;
        let config = dir.path().join("gcwatch.toml");
        for content in [content, &format!("level = {evil}"), &format!("assert = [{evil}]")] {
            fs::write(&config, content)?;
            for words in ["config", "run -- echo"] {
                let mut command = Gcwatch::new().args(words).command();
                command.current_dir(dir.path());
                let ended = run_to_end(command, Vec::new())?.expect(2)?;
                harmless_all(&format!("{words} with {content:?}"), &ended, false)?;
            }
        }
        fs::remove_file(config)?;
    }
    let nowhere = dir.path().join("not there").join(EVIL);
    for option in ["-o", "--record"] {
        let gcwatch = Gcwatch::new().arg("run").arg(option).arg(&nowhere).args("-- echo");
        let ended = gcwatch.output()?;
        ensure!(ended.code != 0, "{ended:?}");
        harmless_all(option, &ended, true)?;
    }
    let port = Gcwatch::new().args("attach --diagnostic-port").arg(nowhere).output()?;
    harmless_all("--diagnostic-port", &port, true)
}
