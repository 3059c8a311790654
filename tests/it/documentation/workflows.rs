//! Runs the workflow files of `docs/ci` step by step, as their hosts would: on the main branch, for a change that changes
//! nothing, and for one that makes it worse.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xtask::{Clr, apps, workspace};

use crate::it::suite::Suite;
use crate::it::support::repeated::again;
use crate::it::support::{program_file, run_to_end};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("workflows::github", &[], |clr| github(clr, "github.yml"));
    suite.once("workflows::github_baseline", &[], |clr| baselines(clr, "github-baseline.yml", github_steps));
    suite.once("workflows::gitlab", &[], |clr| baselines(clr, "gitlab.yml", gitlab_steps));
    suite.once("workflows::azure", &[], |clr| baselines(clr, "azure.yml", azure_steps));
    suite.plain("workflows::all_files_are_run", all_files);
}

const FILES: [&str; 4] = ["azure.yml", "github-baseline.yml", "github.yml", "gitlab.yml"];

fn all_files() -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(workspace::root().join("docs/ci"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    ensure!(names == FILES, "{names:?}");
    Ok(())
}

/// The program of the repository at a commit. What differs is from which size on objects are
/// large, which the wrapper of `dotnet` sets.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Program {
    Good,
    /// It makes large objects, which gen2 has to collect.
    Worse,
}

/// Why a workflow runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Main,
    Change,
}

/// One step: a script, or something that the host does.
enum Step {
    Script(String),
    /// Copies from, to. The first may be missing only where the host would go on, too.
    Copy(PathBuf, PathBuf),
    Nothing,
}

/// Steps, each with whether it runs after a failure.
type Steps = Vec<(Step, bool)>;

/// A host with a place to keep files between workflows.
struct Host {
    dir: tempfile::TempDir,
    path: String,
    event: Event,
}

impl Host {
    fn new(clr: &Clr) -> Result<Host> {
        let dir = tempfile::tempdir()?;
        let tools = dir.path().join("tools");
        fs::create_dir(&tools)?;
        symlink(program_file(), tools.join("gcwatch"))?;
        let churn = apps::build("churn")?;
        let dotnet = PathBuf::from(clr.argv(&churn).first().context("no dotnet")?);
        // `dotnet build -o OUT DIR` takes the program as it is.
        let script = "#!/bin/sh\nset -e\n\
            if [ \"$1\" = build ]; then mkdir -p \"$3\"; cp \"$4\"/* \"$3\"; exit; fi\n\
            DOTNET_GCLOHThreshold=$(cat \"${1%/*}/large\") exec 'DOTNET' \"$@\"\n";
        write_tool(&tools.join("dotnet"), &script.replace("DOTNET'", &format!("{}'", dotnet.display())))?;
        // Serves the artifact that the main branch has left.
        let curl = "#!/bin/sh\nset -e\nwhile [ $# -gt 0 ]; do case $1 in\n\
            --output) out=$2; shift;; */jobs/artifacts/main/download?job=gc) found=1;; esac; shift; done\n\
            [ \"$found\" = 1 ] && cp STORE/gc.zip \"$out\"\n";
        write_tool(
            &tools.join("curl"),
            &curl.replace("STORE", &dir.path().join("store").display().to_string()),
        )?;
        write_tool(&tools.join("unzip"), "#!/bin/sh\nset -e\nmkdir -p \"$4\"\ntar -xf \"$2\" -C \"$4\"\n")?;
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
        Ok(Host { dir, path, event: Event::Main })
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// An empty working directory with the program of a commit.
    fn begin(&mut self, event: Event, program: Program) -> Result<()> {
        self.event = event;
        if self.work().exists() {
            fs::remove_dir_all(self.work())?;
        }
        fs::create_dir_all(self.store())?;
        check_out(&self.work(), program)
    }

    /// Runs the steps up to the first that fails, and those that run always. Returns the exit code of that one.
    fn run(&self, steps: Steps) -> Result<(i32, String)> {
        let (mut failed, mut said) = (0, String::new());
        for (step, always) in steps {
            if failed != 0 && !always {
                continue;
            }
            match step {
                Step::Nothing => {}
                Step::Copy(from, to) => {
                    copy_all(&from, &to).with_context(|| format!("{} to {}", from.display(), to.display()))?
                }
                Step::Script(text) => {
                    let mut shell = Command::new("bash");
                    shell.args(["-e", "-o", "pipefail", "-c", &text]).current_dir(self.work());
                    shell.env("PATH", &self.path).env("DOTNET_gcServer", "0");
                    shell.env("DOTNET_GCgen0size", "400000");
                    shell.env("GITHUB_STEP_SUMMARY", self.work().join("summary.md"));
                    shell.env("CI_DEFAULT_BRANCH", "main").env("CI_JOB_TOKEN", "t");
                    shell.env("CI_API_V4_URL", "https://gitlab.invalid/api/v4").env("CI_PROJECT_ID", "1");
                    match self.event {
                        Event::Main => shell.env("CI_COMMIT_BRANCH", "main"),
                        Event::Change => shell.env_remove("CI_COMMIT_BRANCH"),
                    };
                    let ended = run_to_end(shell, Vec::new())?;
                    said += &format!("$ {text}\n{}{}", ended.out()?, ended.stderr);
                    if failed == 0 {
                        failed = ended.code;
                    }
                }
            }
        }
        Ok((failed, said))
    }
}

fn write_tool(path: &Path, script: &str) -> Result<()> {
    fs::write(path, script)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

/// Puts the program of a commit into `DIR/app`.
fn check_out(dir: &Path, program: Program) -> Result<()> {
    let churn = apps::build("churn")?;
    let app = dir.join("app");
    fs::create_dir_all(&app)?;
    for extension in ["dll", "runtimeconfig.json"] {
        fs::copy(churn.with_extension(extension), app.join("app").with_extension(extension))?;
    }
    // Hexadecimal: 16 MiB, and the runtime's own 85,000 bytes.
    Ok(fs::write(app.join("large"), if program == Program::Good { "1000000" } else { "14C08" })?)
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

fn workflow(file: &str) -> Result<Value> {
    let text = fs::read_to_string(workspace::root().join("docs/ci").join(file))?;
    serde_saphyr::from_str(&text).with_context(|| file.to_owned())
}

/// Whether a step of GitHub runs in this event, and whether it runs after a failure.
fn github_condition(step: &Value, event: Event) -> Result<(bool, bool)> {
    Ok(match step["if"].as_str() {
        None => (true, false),
        Some("always()") => (true, true),
        Some("github.event_name == 'pull_request'") => (event == Event::Change, false),
        Some("github.event_name == 'push'") => (event == Event::Main, false),
        Some(other) => bail!("the test does not know the condition {other}"),
    })
}

fn github_steps(host: &Host, workflow: &Value) -> Result<Steps> {
    let cached = host.store().join("cache");
    let mut steps = Vec::new();
    for step in workflow["jobs"]["gc"]["steps"].as_array().context("no steps")? {
        let (runs, always) = github_condition(step, host.event)?;
        let kept = || host.work().join(step["with"]["path"].as_str().unwrap_or_default());
        let done = match (step["run"].as_str(), step["uses"].as_str()) {
            (Some(script), None) => Step::Script(script.to_owned()),
            (None, Some("actions/setup-dotnet@v4")) => Step::Nothing,
            (None, Some("actions/checkout@v4")) => match step["with"]["path"].as_str() {
                Some(base) => {
                    check_out(&host.work().join(base), Program::Good)?;
                    Step::Nothing
                }
                None => Step::Nothing,
            },
            (None, Some("actions/cache/restore@v4")) => Step::Copy(cached.clone(), kept()),
            (None, Some("actions/cache/save@v4")) => Step::Copy(kept(), cached.clone()),
            other => bail!("the test does not know the step {other:?}"),
        };
        if runs {
            steps.push((done, always));
        }
    }
    Ok(steps)
}

fn gitlab_steps(host: &Host, workflow: &Value) -> Result<Steps> {
    let job = &workflow["gc"];
    let lines = job["script"].as_array().context("no script")?;
    // A job is one shell, and `set -e` is on.
    let script: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    ensure!(script.len() == lines.len(), "{lines:?}");
    let mut steps = vec![(Step::Script(script.join("\n")), false)];
    if host.event == Event::Main {
        let paths = job["artifacts"]["paths"][0].as_str().context("no artifact")?;
        let zip = host.store().join("gc.zip");
        steps.push((Step::Script(format!("tar -cf '{}' {paths}", zip.display())), false));
    }
    Ok(steps)
}

fn azure_steps(host: &Host, workflow: &Value) -> Result<Steps> {
    let artifact = host.store().join("artifact");
    let mut steps = Vec::new();
    for step in workflow["steps"].as_array().context("no steps")? {
        let runs = match step["condition"].as_str() {
            None => true,
            Some("eq(variables['Build.Reason'], 'PullRequest')") => host.event == Event::Change,
            Some("eq(variables['Build.SourceBranch'], 'refs/heads/main')") => host.event == Event::Main,
            Some(other) => bail!("the test does not know the condition {other}"),
        };
        let done = if let Some(script) = step["script"].as_str() {
            Step::Script(script.to_owned())
        } else if let Some(published) = step["publish"].as_str() {
            Step::Copy(host.work().join(published), artifact.clone())
        } else {
            match step["task"].as_str() {
                Some("UseDotNet@2") => Step::Nothing,
                Some("DownloadPipelineArtifact@2") => {
                    let to = step["inputs"]["path"].as_str().context("no path")?;
                    Step::Copy(artifact.clone(), host.work().join(to))
                }
                other => bail!("the test does not know the step {other:?}"),
            }
        };
        if runs {
            steps.push((done, false));
        }
    }
    Ok(steps)
}

/// Runs a workflow. Equal programs break a bound in at most one of a hundred cases: then it runs once more.
fn outcome(
    host: &mut Host,
    workflow: &Value,
    steps: fn(&Host, &Value) -> Result<Steps>,
    (event, program): (Event, Program),
) -> Result<(i32, String)> {
    host.begin(event, program)?;
    let (code, said) = host.run(steps(host, workflow)?)?;
    if (program, code) != (Program::Good, 10) {
        return Ok((code, said));
    }
    again();
    host.begin(event, program)?;
    host.run(steps(host, workflow)?)
}

/// A pull request against its base, which the workflow builds, too.
fn github(clr: &Clr, file: &str) -> Result<()> {
    let workflow = workflow(file)?;
    let mut host = Host::new(clr)?;
    for (program, expected) in [(Program::Good, 0), (Program::Worse, 10)] {
        let (code, said) = outcome(&mut host, &workflow, github_steps, (Event::Change, program))?;
        ensure!(code == expected, "{program:?}: exit code {code}\n{said}");
        let summary = fs::read_to_string(host.work().join("summary.md"))?;
        ensure!(summary.contains("gcwatch try") && summary.contains("gc.gen2.count > +10%"), "{summary}");
        ensure!(summary.contains("FAIL  gc.gen2.count") == (expected == 10), "{summary}");
    }
    Ok(())
}

/// The main branch leaves documents, and changes are compared with them.
fn baselines(clr: &Clr, file: &str, steps: fn(&Host, &Value) -> Result<Steps>) -> Result<()> {
    let workflow = workflow(file)?;
    let mut host = Host::new(clr)?;
    for (event, program, expected, word) in [
        (Event::Main, Program::Good, 0, "gcwatch: 10 runs: "),
        (Event::Change, Program::Good, 0, "ok    gc.gen2.count > +10%"),
        (Event::Change, Program::Worse, 10, "FAIL  gc.gen2.count > +10%"),
    ] {
        let (code, said) = outcome(&mut host, &workflow, steps, (event, program))?;
        ensure!(code == expected && said.contains(word), "{event:?} {program:?}: exit code {code}\n{said}");
    }
    Ok(())
}
