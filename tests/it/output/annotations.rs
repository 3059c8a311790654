//! Annotations of GitHub: asked for, and of themselves in a workflow.

use anyhow::{Context, Result, ensure};
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::{Ended, Gcwatch, number};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("annotations::of_a_run_in_a_workflow", &[], in_a_workflow);
    suite.once("annotations::of_a_recording_and_of_a_comparison", &[], of_recordings);
    suite.once("annotations::of_a_crash_and_of_what_cannot_be_watched", &[], of_failures);
}

const WORKFLOW: [(&str, &str); 1] = [("GITHUB_ACTIONS", "true")];

/// The lines of a text that GitHub takes as commands.
fn commands(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.trim_start().starts_with("::")).collect()
}

fn run(clr: &Clr, workflow: bool, options: &str) -> Result<Ended> {
    let variables = if workflow { &WORKFLOW[..] } else { &[] };
    Gcwatch::on(clr)
        .envs(variables.iter().copied())
        .args("run --assert gc.induced.count<1")
        .args(options)
        .app(clr, "exits", "return gcs=10")?
        .output()?
        .expect(10)
}

/// Only where nobody chose a format, and never on the program's stdout.
fn in_a_workflow(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("gc.txt");
    let to_file = format!("-o {}", file.display());
    for (options, workflow, annotated) in [
        ("", true, true),
        ("--quiet", true, true),
        (&to_file, true, true),
        ("", false, false),
        ("--format text", true, false),
        ("--format github", false, true),
        ("--format github", true, true),
    ] {
        let ended = run(clr, workflow, options)?;
        let what = format!("{options:?}, in a workflow: {workflow}");
        let errors: Vec<&str> =
            commands(&ended.stderr).into_iter().filter(|line| line.starts_with("::error ")).collect();
        ensure!(errors.len() == usize::from(annotated), "{what}: {}", ended.stderr);
        for error in errors {
            // The program asked for ten collections, and says so.
            let title = "::error title=gcwatch%3A gc.induced.count<1 does not hold::exits.dll: 10  ";
            ensure!(error.starts_with(title), "{what}: {error}");
        }
        let said = ended.out()?;
        ensure!(said.lines().count() == 1 && number(said, "gc0")? >= 10, "{what}: stdout has more: {said}");
        let text = ended.stderr.contains("1 assertion") || ended.stderr.contains("assertion does not hold");
        ensure!(!options.contains("github") || !text, "{what}: {}", ended.stderr);
    }
    ensure!(commands(&std::fs::read_to_string(file)?).is_empty(), "annotations in the file");
    Ok(())
}

fn of_recordings(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let recordings = ["few", "many"].map(|name| dir.path().join(format!("{name}.nettrace")));
    for (recording, gcs) in recordings.iter().zip([3, 30]) {
        let gcwatch = Gcwatch::on(clr).args("run -q --level basic --record").arg(recording);
        gcwatch.app(clr, "exits", &format!("return gcs={gcs}"))?.output()?.expect(0)?;
    }
    let report = |options: &str| {
        let gcwatch = Gcwatch::new().envs(WORKFLOW).args("report --assert gc.induced.count<5").args(options);
        gcwatch.arg(&recordings[1]).output()?.expect(10)
    };
    let expected = "::error title=gcwatch%3A gc.induced.count<5 does not hold::exits.dll: 30  ";
    let beside = report("")?;
    ensure!(commands(beside.out()?).is_empty(), "{}", beside.out()?);
    ensure!(
        commands(&beside.stderr).first().is_some_and(|line| line.starts_with(expected)),
        "{}",
        beside.stderr
    );
    let alone = report("--format github")?;
    ensure!(commands(alone.out()?).len() == alone.out()?.lines().count(), "{}", alone.out()?);
    ensure!(alone.out()?.starts_with(expected) && commands(&alone.stderr).is_empty(), "{alone:?}");

    let diff = |options: &str| {
        let gcwatch =
            Gcwatch::new().envs(WORKFLOW).arg("diff").option("--fail-on", "gc.induced.count > +50%");
        gcwatch.args(options).arg(&recordings[0]).arg(&recordings[1]).output()?.expect(10)
    };
    let expected = "::error title=gcwatch%3A gc.induced.count > +50%25::it changed: ";
    let (beside, alone) = (diff("")?, diff("--format github")?);
    ensure!(commands(beside.out()?).is_empty() && beside.stderr.starts_with(expected), "{beside:?}");
    ensure!(alone.out()?.starts_with(expected) && commands(&alone.stderr).is_empty(), "{alone:?}");
    Ok(())
}

fn of_failures(clr: &Clr) -> Result<()> {
    let crash = Gcwatch::on(clr)
        .envs(WORKFLOW)
        .envs([("DOTNET_DbgEnableMiniDump", "0")])
        .arg("run")
        .app(clr, "exits", "unhandled")?
        .output()?
        .expect(134)?;
    let found = commands(&crash.stderr);
    let error = found.iter().find(|line| line.starts_with("::error ")).context("no error")?;
    ensure!(
        error.contains("title=gcwatch%3A the program failed::exits.dll: ended with exit code 134"),
        "{error}"
    );
    let none = Gcwatch::on(clr).envs(WORKFLOW).args("run -- true").output()?.expect(20)?;
    let [error] = commands(&none.stderr)[..] else { anyhow::bail!("{}", none.stderr) };
    ensure!(error.starts_with("::error title=gcwatch%3A the watch failed::true: not watched: "), "{error}");
    Ok(())
}
