//! Runs every shell line in the documents that calls gcwatch, unchanged.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use xtask::testkit::{Skip, Target};
use xtask::{Clr, apps, workspace};

use crate::it::suite::{Need, Suite};
use crate::it::support::{DEADLINE, Gcwatch, Json, Signal, program_file, run_to_end, signal};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("documented::lines_run_as_they_stand", &[Need::Proc], lines_run);
    suite.once("documented::lines_of_jq", &[], jq);
    suite.plain("documented::nothing_is_left_out", nothing_left_out);
}

const PAGES: [&str; 11] = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/ci.md",
    "docs/levels.md",
    "docs/allocations.md",
    "docs/assertions.md",
    "docs/formats.md",
    "docs/graph.md",
    "docs/recording.md",
    "docs/configuration.md",
    "docs/try.md",
];

/// Beginnings of shell lines that this test does not run, and why.
const NOT_RUN: [(&str, &str); 4] = [
    ("cargo ", "builds this very program"),
    ("for s in ", "writes the files that another test compares"),
    ("done", "the end of that loop"),
    ("jq ", "run by a test of its own, which needs jq"),
];

/// Pages whose shell lines cannot run here, and why.
const ELSEWHERE: [(&str, &str); 2] = [
    ("docs/install.md", "needs a cluster; `cargo xtask dist --check` tries the packages"),
    ("docs/macos.md", "needs a Mac"),
];

/// Values in the pages, and what this test uses instead.
const LIVE_PID: &str = "4242";
const SUBSTITUTES: [(&str, &str); 7] = [
    ("30s", "1s"),
    ("60s", "1s"),
    ("/out/", ""),
    ("--runs 10 ", ""),
    ("--repeat 10 ", "--repeat 2 "),
    ("--repeat 5 ", "--repeat 2 "),
    ("gcwatch try ", "gcwatch try --runs 1 --warmup 0 "),
];

/// The lines of all code blocks in these languages, with continued lines joined.
fn blocks(page: &str, languages: &[&str]) -> Result<Vec<String>> {
    let text = fs::read_to_string(workspace::root().join(page))?;
    let mut lines: Vec<String> = Vec::new();
    let (mut inside, mut wanted, mut continued) = (false, false, false);
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            wanted = inside && languages.contains(&language.trim());
            continue;
        }
        if !wanted || line.trim().is_empty() {
            continue;
        }
        let (part, more) = match line.trim().strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line.trim(), false),
        };
        match lines.last_mut().filter(|_| continued) {
            Some(last) => *last += part,
            None => lines.push(part.to_owned()),
        }
        continued = more;
    }
    Ok(lines)
}

/// The lines of a page that call gcwatch, as a shell gets them.
fn calls(page: &str) -> Result<Vec<String>> {
    let mut calls: Vec<String> =
        blocks(page, &["sh"])?.into_iter().filter(|line| line.starts_with("gcwatch ")).collect();
    for line in blocks(page, &["yaml"])? {
        let line =
            ["- ", "run: ", "script: "].iter().fold(line.as_str(), |l, key| l.strip_prefix(key).unwrap_or(l));
        if line.starts_with("gcwatch ") {
            calls.push(line.to_owned());
        } else if let Some(list) = line.strip_prefix("command: ") {
            let words: Vec<String> = serde_json::from_str(list)?;
            calls.push(words.join(" "));
        }
    }
    Ok(calls)
}

/// Every shell line is either run or listed in `NOT_RUN`, and every page with shell lines is in `PAGES`.
fn nothing_left_out() -> Result<()> {
    for page in PAGES {
        for line in blocks(page, &["sh"])? {
            let known =
                line.starts_with("gcwatch ") || NOT_RUN.iter().any(|(start, _)| line.starts_with(start));
            ensure!(known, "{page}: no test runs {line:?}");
        }
        for line in blocks(page, &["yaml"])? {
            let run = calls(page)?.iter().any(|call| line.contains(call.as_str()));
            ensure!(
                run || !line.contains("gcwatch run") && !line.contains("gcwatch report"),
                "{page}: no test runs {line:?}"
            );
        }
    }
    let elsewhere = ELSEWHERE.iter().map(|(page, _)| page);
    let named = |path: &Path| PAGES.iter().chain(elsewhere.clone()).any(|page| path.ends_with(page));
    for dir in ["", "docs"] {
        for entry in fs::read_dir(workspace::root().join(dir))? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "md") && !named(&path) {
                ensure!(
                    !fs::read_to_string(&path)?.contains("```sh"),
                    "{} has shell lines that no test runs",
                    path.display()
                );
            }
        }
    }
    Ok(())
}

/// A directory with the files that the pages suppose, and a `PATH` for the shell.
struct Place {
    dir: tempfile::TempDir,
    path: String,
}

impl Place {
    fn new(clr: &Clr) -> Result<Place> {
        let dir = tempfile::tempdir()?;
        let tools = dir.path().join("tools");
        fs::create_dir(&tools)?;
        symlink(program_file(), tools.join("gcwatch"))?;
        let churn = apps::build("churn")?;
        for name in ["app", "testhost"] {
            for extension in ["dll", "runtimeconfig.json"] {
                fs::copy(churn.with_extension(extension), dir.path().join(name).with_extension(extension))?;
            }
        }
        for build in ["out/base", "out/head"] {
            let build = dir.path().join(build);
            fs::create_dir_all(&build)?;
            for file in ["app.dll", "app.runtimeconfig.json"] {
                fs::copy(dir.path().join(file), build.join(file))?;
            }
        }
        fs::create_dir(dir.path().join("gc"))?;
        // Instead of the SDK's `dotnet test`: a process of another name, and then the test host.
        let dotnet = PathBuf::from(clr.argv(&churn).first().context("no dotnet")?);
        let script = format!(
            "#!/bin/sh\ncase $1 in test) '{0}' app.dll work=1000 && exec '{0}' testhost.dll ;; *) exec '{0}' \"$@\" ;; esac\n",
            dotnet.display()
        );
        let wrapper = tools.join("dotnet");
        fs::write(&wrapper, script)?;
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
        Ok(Place { dir, path })
    }

    fn shell(&self, clr: &Clr, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        clr.environment(&mut command);
        command.args(["-c", line]).current_dir(self.dir.path()).env("PATH", &self.path);
        command.env("GITHUB_STEP_SUMMARY", self.dir.path().join("summary.md"));
        command.env("DOTNET_GCgen0size", "400000");
        command
    }

    /// Provides the files that a line expects from earlier runs.
    fn give(&self, line: &str) -> Result<()> {
        let toml = blocks("docs/assertions.md", &["toml"])?;
        let bounds =
            toml.iter().filter(|line| line.starts_with("default = ") || line.starts_with("nightly = "));
        fs::write(self.dir.path().join("gc-bounds.toml"), bounds.cloned().collect::<Vec<_>>().join("\n"))?;
        for (name, from) in [("before", "app"), ("after", "app")] {
            for (extension, source) in
                [("nettrace", format!("{from}.nettrace")), ("json", "gc.json".to_owned())]
            {
                let file = format!("{name}.{extension}");
                if line.contains(&file) {
                    fs::copy(self.dir.path().join(&source), self.dir.path().join(&file))
                        .with_context(|| source.clone())?;
                }
            }
        }
        if line.contains(" baseline -- gc") {
            let baseline = self.dir.path().join("baseline");
            fs::create_dir_all(&baseline)?;
            for entry in fs::read_dir(self.dir.path().join("gc"))? {
                let entry = entry?;
                fs::copy(entry.path(), baseline.join(entry.file_name()))?;
            }
        }
        let needed = self.dir.path().join("app.nettrace");
        ensure!(
            !line.contains("report app.nettrace") || needed.exists(),
            "nothing has made app.nettrace yet"
        );
        Ok(())
    }
}

fn lines_run(clr: &Clr) -> Result<()> {
    let place = Place::new(clr)?;
    let mut live = place.shell(clr, "exec dotnet app.dll interactive live=2000");
    live.env("DOTNET_gcServer", "0");
    let mut live = Target::spawn(live)?;
    live.wait_line("ready ", DEADLINE)?;
    live.send_line("go")?;
    let mut lines = Vec::new();
    for page in PAGES {
        lines.extend(calls(page)?.into_iter().map(|line| (page, line)));
    }
    // Run the lines first that make files for others.
    lines.sort_by_key(|(_, line)| {
        !["--record", "-o gc.json", "-o app.gcgraph", "--repeat"].iter().any(|makes| line.contains(makes))
    });
    for (page, line) in &lines {
        place.give(line)?;
        run_line(&place, clr, line, live.pid()).with_context(|| format!("{page}: {line}"))?;
    }
    ensure!(lines.len() >= 30, "only {} lines", lines.len());
    Ok(())
}

/// Runs a line as it stands, apart from `LIVE_PID` and `SUBSTITUTES`.
fn run_line(place: &Place, clr: &Clr, line: &str, pid: u32) -> Result<()> {
    let mut typed = line.replace(LIVE_PID, &pid.to_string());
    for (named, here) in SUBSTITUTES {
        typed = typed.replace(named, here);
    }
    let judged = line.contains("--assert") || line.contains("--fail-on");
    // Whether an assertion holds depends on the machine; the test needs only a verdict.
    let codes: &[i32] = if judged { &[0, 10, 11] } else { &[0] };
    if line.starts_with("gcwatch attach") && !line.contains("--duration") {
        return until_interrupted(place, clr, &typed);
    }
    let ended = run_to_end(place.shell(clr, &typed), Vec::new())?;
    let (out, code) = (String::from_utf8_lossy(&ended.stdout).into_owned(), ended.code);
    ensure!(codes.contains(&code), "{typed}\nexit code {code}\n{out}\n{}", ended.stderr);
    // Annotations are about what is wrong only.
    let silent = line.contains("--format github") && code == 0;
    if judged && !silent {
        let said = out.contains("assertion")
            || ended.stderr.contains("assertion")
            || line.contains(" -o ")
            || line.contains("--fail-on")
            || line.contains("--format github") && ended.stderr.contains("title=gcwatch%3A ");
        ensure!(said, "no verdict:\n{out}\n{}", ended.stderr);
    }
    let file = typed.split_whitespace().skip_while(|word| *word != "-o").nth(1);
    match file {
        Some(file) if line.contains("--repeat") => {
            let first = place.dir.path().join(file.replace(".json", "-1.json"));
            ensure!(first.exists(), "no {}", first.display());
        }
        Some(file) => {
            let bytes = fs::read(place.dir.path().join(file))?;
            let text = String::from_utf8_lossy(&bytes);
            ensure!(!text.is_empty(), "{file} is empty");
            // With `--only testhost`, no other process may be in the document.
            ensure!(!line.contains("--only testhost") || !text.contains("app.dll"), "{file}:\n{text}");
            ensure!(!line.contains("--follow") || text.contains("testhost.dll"), "{file}:\n{text}");
        }
        None if line.contains(">>") => {
            let summary = fs::read_to_string(place.dir.path().join("summary.md"))?;
            ensure!(summary.contains("gcwatch: app.dll"), "{summary}");
        }
        None => ensure!(silent || !out.is_empty() || !ended.stderr.is_empty(), "there was no output"),
    }
    if line.contains("-o gc.json") {
        let document: serde_json::Value =
            serde_json::from_slice(&fs::read(place.dir.path().join("gc.json"))?)?;
        let command_line = document.text("/target/command_line")?;
        ensure!(command_line.ends_with("dotnet app.dll"), "{command_line}");
    }
    Ok(())
}

/// Starts a watch and ends it by Ctrl-C.
fn until_interrupted(place: &Place, clr: &Clr, line: &str) -> Result<()> {
    let mut gcwatch = Target::spawn(place.shell(clr, &format!("exec {line}")))?;
    gcwatch.wait_line("", DEADLINE)?;
    signal(gcwatch.pid(), Signal::INT)?;
    let status = gcwatch.wait(DEADLINE)?;
    ensure!(status.code() == Some(0), "{status}: {gcwatch:?}");
    Ok(())
}

/// Runs the lines of jq on a document with enough collections for them.
fn jq(clr: &Clr) -> Result<()> {
    if Command::new("jq").arg("--version").output().is_err() {
        return Err(Skip::because("there is no jq").into());
    }
    let dir = tempfile::tempdir()?;
    Gcwatch::on(clr)
        .envs([("DOTNET_GCgen0size", "400000")])
        .args("run --format json -o")
        .arg(dir.path().join("gc.json"))
        .app(clr, "churn", "work=150000 live=5000")?
        .output()?
        .expect(0)?;
    let mut run = 0;
    for page in PAGES {
        for line in blocks(page, &["sh"])?.iter().filter(|line| line.starts_with("jq ")) {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]).current_dir(dir.path());
            let ended = run_to_end(command, Vec::new())?.expect(0).with_context(|| line.clone())?;
            if ended.stdout.len() < 10 {
                bail!("{line}: {:?}", ended.out());
            }
            run += 1;
        }
    }
    ensure!(run > 0, "the pages have no line of jq");
    Ok(())
}
