//! What importers of JUnit documents make of ours: crashes and processes that could not be watched are not green.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use quick_junit::{TestCase, TestCaseStatus, TestSuite};
use serde_json::Value;
use xtask::Clr;
use xtask::testkit::Skip;

use super::formats::read_junit;
use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Guard, number, run_to_end, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("junit::a_crash_is_a_failure", &[], crash);
    suite.once("junit::what_cannot_be_watched_is_an_error", &[Need::Proc], not_watched);
    suite.once("junit::a_process_of_several_that_cannot_be_watched", &[Need::Proc], one_of_several);
    suite.plain("junit::a_recording_that_cannot_be_read", unreadable);
    suite.once("junit::by_another_reader", &[], by_another_reader);
}

/// Runs the program `exits` to its end, and reads the document.
fn exits(clr: &Clr, how: &str, bounds: &[&str], path: &Path) -> Result<i32> {
    let gcwatch = Gcwatch::on(clr).envs([("DOTNET_DbgEnableMiniDump", "0")]).args("run --format junit -o");
    let gcwatch = bounds.iter().fold(gcwatch.arg(path), |gcwatch, bound| gcwatch.option("--assert", bound));
    Ok(gcwatch.app(clr, "exits", how)?.output()?.code)
}

fn read(path: &Path) -> Result<Vec<TestSuite>> {
    Ok(read_junit(&std::fs::read_to_string(path)?)?.test_suites)
}

fn case<'s>(suite: &'s TestSuite, name: &str) -> Result<&'s TestCase> {
    suite.test_cases.iter().find(|case| case.name.as_str() == name).with_context(|| format!("no case {name}"))
}

/// The message of what is wrong with a case; `None`: nothing is.
fn wrong(case: &TestCase) -> Option<&str> {
    match &case.status {
        TestCaseStatus::NonSuccess { message, .. } => Some(message.as_ref()?.as_str()),
        _ => None,
    }
}

fn crash(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("gc.xml");
    for (how, code, said) in [
        ("return", 0, None),
        ("return code=7", 7, Some("exit code 7")),
        ("unhandled", 134, Some("exit code 134: SIGABRT")),
        ("failfast", 134, Some("exit code 134: SIGABRT")),
    ] {
        let ended = exits(clr, how, &["gc.count > 0"], &path)?;
        ensure!(ended == code, "{how}: {ended}");
        let suites = read(&path)?;
        let [suite] = &suites[..] else { anyhow::bail!("{} suites", suites.len()) };
        let found = wrong(case(suite, "exit")?);
        ensure!(found.is_some() == said.is_some(), "{how}: {found:?}");
        ensure!(found.unwrap_or_default().contains(said.unwrap_or_default()), "{how}: {found:?}");
        let classes: Vec<_> = suite.test_cases.iter().filter_map(|case| case.classname.as_deref()).collect();
        ensure!(classes == ["exits.dll"; 3], "{how}: {suite:?}");
        // A crash takes the end of the stream with it.
        ensure!(code > 128 || wrong(case(suite, "gc.count")?).is_none(), "{how}: {suite:?}");
    }
    Ok(())
}

/// Programs without a runtime that gcwatch can watch, one of them without a runtime at all.
fn not_watched(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("gc.xml");
    let dotnet = |command: &str| -> Result<Gcwatch> {
        let words = clr.argv(&xtask::apps::build("exits")?);
        let gcwatch =
            Gcwatch::on(clr).args("run --format junit --assert gc.count<99 -o").arg(&path).arg("--");
        Ok(words.iter().fold(gcwatch.args(command), |gcwatch, word| gcwatch.arg(word)).arg("return"))
    };
    let without =
        Gcwatch::on(clr).args("run --format junit --assert gc.count<99 -o").arg(&path).args("-- true");
    for (gcwatch, code, class) in
        [(without, 20, "true"), (dotnet("env DOTNET_EnableDiagnostics=0")?, 20, "env")]
    {
        let ended = gcwatch.output()?;
        ensure!(ended.code == code, "{class}: {ended:?}");
        let suites = read(&path)?;
        let suite = suites.first().context("no suite")?;
        ensure!(suite.name.as_str() == format!("gcwatch {class}"), "{}", suite.name.as_str());
        let why = wrong(case(suite, "watch")?).context("the watch is green")?;
        ensure!(why.starts_with("not watched: "), "{why}");
        let judged = wrong(case(suite, "gc.count")?).context("the assertion is green")?;
        ensure!(judged.contains("could not be judged"), "{judged}");
    }
    Ok(())
}

fn one_of_several(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, go) = (dir.path().join("gc.xml"), dir.path().join("go"));
    let tree = format!("gcs=2 {{ off gcs=1 hold={} }}", go.display());
    let gcwatch = Gcwatch::on(clr).args("run --follow --format junit -o").arg(&path);
    let mut gcwatch = gcwatch.app(clr, "tree", &tree)?.spawn()?;
    let mut guards = Vec::new();
    for _ in 0..2 {
        guards.push(Guard(number(&gcwatch.wait_line("ready ", DEADLINE)?, "pid")?.try_into()?));
    }
    until("the report of it", DEADLINE, || Ok(gcwatch.stderr().contains("DOTNET_EnableDiagnostics=0")))?;
    std::fs::write(&go, "")?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
    let suites = read(&path)?;
    let mut watched: Vec<(&str, bool)> = Vec::new();
    for suite in &suites {
        let why = wrong(case(suite, "watch")?);
        ensure!(why.is_none_or(|why| why.contains("DOTNET_EnableDiagnostics=0")), "{why:?}");
        watched.push((suite.name.as_str(), why.is_none()));
    }
    watched.sort_unstable_by_key(|(_, good)| *good);
    ensure!(
        watched.len() == 3 && watched.iter().map(|(_, good)| *good).eq([false, true, true]),
        "{watched:?}"
    );
    ensure!(watched[0].0.starts_with("gcwatch tree.dll"), "{watched:?}");
    Ok(())
}

fn unreadable() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (path, recording) = (dir.path().join("gc.xml"), dir.path().join("no.nettrace"));
    std::fs::write(&recording, "this is no recording")?;
    let gcwatch = Gcwatch::new().args("report --format junit --assert gc.count<9 -o").arg(&path);
    gcwatch.arg(&recording).output()?.expect(12)?;
    let suites = read(&path)?;
    let suite = suites.first().context("no suite")?;
    let why = wrong(case(suite, "watch")?).context("the watch is green")?;
    ensure!(why.starts_with("cannot read ") && why.contains("no.nettrace"), "{why}");
    ensure!(wrong(case(suite, "gc.count")?).is_some(), "the assertion is green");
    Ok(())
}

/// The version of the reader in PyPI, and a program that prints what it reads.
const READER: &str = "junitparser==5.0.3";
const SCRIPT: &str = "
import json, sys
from junitparser import JUnitXml
def result(r):
    return [type(r).__name__, r.type, r.message, r.text]
print(json.dumps([
    [suite.name, suite.tests, suite.failures, suite.errors,
     [[c.classname, c.name, [result(r) for r in c.result]] for c in suite]]
    for suite in JUnitXml.fromfile(sys.argv[1])]))
";

/// Installs the reader, and returns its Python.
///
/// # Errors
/// A reason to skip: there is no Python, or the package cannot be fetched.
fn python(dir: &Path) -> Result<PathBuf> {
    let run = |program: &Path, arguments: &[&str]| -> Result<()> {
        let mut command = Command::new(program);
        command.args(arguments);
        let what = format!("{} {}", program.display(), arguments.join(" "));
        let ended = run_to_end(command, Vec::new()).map_err(|e| Skip::because(format!("{what}: {e}")))?;
        let said = ended.stderr.lines().last().unwrap_or_default();
        ensure!(ended.code == 0, Skip::because(format!("`{what}` failed: {said}")));
        Ok(())
    };
    let python = dir.join("bin/python");
    run(Path::new("python3"), &["-m", "venv", &dir.to_string_lossy()])?;
    let install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", READER];
    run(&python, &install)?;
    Ok(python)
}

fn by_another_reader(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let python = python(&dir.path().join("venv"))?;
    let path = dir.path().join("gc.xml");
    let code = exits(clr, "return code=7 gcs=10", &["gc.count > 999", "gc.count >= 10", "lost == 0"], &path)?;
    ensure!(code == 7, "{code}");
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]).arg(&path);
    let read: Value = serde_json::from_slice(&run_to_end(command, Vec::new())?.expect(0)?.stdout)?;
    let suite = &read[0];
    ensure!(suite[0] == "gcwatch exits.dll" && suite[1] == 5, "{read}");
    let cases = suite[4].as_array().context("no cases")?;
    let names: Vec<&Value> = cases.iter().map(|case| &case[1]).collect();
    ensure!(names == ["watch", "gc.count", "gc.count >=", "lost", "exit"], "{names:?}");
    ensure!(cases.iter().all(|case| case[0] == "exits.dll"), "{read}");
    let results = |n: usize| cases[n][2].as_array().cloned().unwrap_or_default();
    for (n, kind, message) in
        [(1, "assertion", "gc.count > 999"), (4, "exit", "the program ended with exit code 7")]
    {
        let [result] = &results(n)[..] else { anyhow::bail!("{}: {read}", names[n]) };
        ensure!(result[1] == kind, "{result}");
        for text in [&result[2], &result[3]] {
            ensure!(text.as_str().is_some_and(|text| text.contains(message)), "{result}");
        }
    }
    ensure!([0, 2, 3].iter().all(|n| results(*n).is_empty()), "{read}");
    ensure!(suite[2] == 2 && suite[3] == 0, "{read}");
    Ok(())
}
