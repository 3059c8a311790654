//! The commands around watching: lists, schema, completions, manual page.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::testkit::Target;
use xtask::{Clr, workspace};

use super::suite::Suite;
use super::support::{DEADLINE, Gcwatch, Json, Signal, schema, signal};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("ps::lists_a_started_program", &[], ps);
    suite.once("ps::says_why_not", &[], ps_why);
    suite.once("ps::waits_for_all_silent_ones_together", &[], ps_silent);
    suite.plain("schema::is_a_schema", valid_schema);
    suite.plain("completions::are_up_to_date", completions);
    suite.plain("help_and_manual", help);
    suite.once("completions::of_processes", &[], complete_pids);
}

fn ps(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid();
    let text = Gcwatch::on(clr).arg("ps").output()?.expect(0)?;
    let row = text.out()?.lines().find(|line| line.split_whitespace().any(|word| word == pid.to_string()));
    ensure!(
        row.is_some_and(|row| row.contains("roots") && row.contains(&clr.name)),
        "no row of {pid}:\n{}",
        text.out()?
    );
    let mut documents = Vec::new();
    for options in ["--format json", "--json"] {
        let json = Gcwatch::on(clr).arg("ps").args(options).output()?.expect(0)?;
        let json: Value = serde_json::from_slice(&json.stdout)?;
        let list = json.as_array().or_else(|| json["processes"].as_array()).context("no list")?;
        let found = list.iter().find(|process| process["pid"] == pid);
        documents.push(found.cloned().with_context(|| format!("no {pid} in {json}"))?);
    }
    ensure!(documents[0] == documents[1], "{documents:?}");
    ensure!(documents[0].to_string().contains(&clr.name), "no runtime version: {}", documents[0]);
    Ok(())
}

fn ps_why(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[("DOTNET_EnableDiagnostics", "0")])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid().to_string();
    let listed = |options| Gcwatch::on(clr).arg("ps").args(options).output()?.expect(0);
    let row = |text: &str| {
        text.lines().find(|line| line.split_whitespace().any(|word| word == pid)).map(str::to_owned)
    };
    ensure!(row(listed("")?.out()?).is_none(), "a process that cannot be watched is listed as if it could");
    let why = listed("--why")?;
    let row = row(why.out()?).with_context(|| format!("no {pid} in\n{}", why.out().unwrap_or_default()))?;
    ensure!(why.out()?.contains("DOTNET_EnableDiagnostics"), "the reason is missing: {row}\n{}", why.out()?);
    Ok(())
}

/// Eight stopped processes, each of which would hold up a list that asks one after the other.
fn ps_silent(clr: &Clr) -> Result<()> {
    let mut silent = (0..8).map(|_| Target::app(clr, "roots", &[], &[])).collect::<Result<Vec<_>>>()?;
    for target in &mut silent {
        target.wait_line("ready ", DEADLINE)?;
        signal(target.pid(), Signal::STOP)?;
    }
    let began = Instant::now();
    let listed = Gcwatch::on(clr).args("ps --why --json").output()?.expect(0)?;
    let taken = began.elapsed();
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    for target in &silent {
        let row = listed.as_array().context("no list")?.iter().find(|row| row["pid"] == target.pid());
        let row = row.with_context(|| format!("no {} in {listed}", target.pid()))?;
        ensure!(row["level"].is_null(), "a level for a process that does not answer: {row}");
        ensure!(row["why"].as_str().is_some_and(|why| why.contains("no answer")), "{row}");
        ensure!(row["title"].is_string(), "what its system tells of it is missing: {row}");
        signal(target.pid(), Signal::CONT)?;
    }
    ensure!(taken < Duration::from_secs(20), "{taken:?} for eight that are silent");
    Ok(())
}

fn valid_schema() -> Result<()> {
    let schema = &schema()?.json;
    ensure!(
        schema.text("/$schema")? == "https://json-schema.org/draft/2020-12/schema",
        "{}",
        schema["$schema"]
    );
    if let Err(error) = jsonschema::meta::validate(schema) {
        anyhow::bail!("{error}");
    }
    // What the contract names is required, not only allowed.
    let required: BTreeSet<&str> = schema.list("/required")?.iter().filter_map(Value::as_str).collect();
    let named = ["schema", "tool", "target", "gcs", "watch", "summary", "assertions", "lost", "exit"];
    ensure!(named.iter().all(|key| required.contains(key)), "{required:?}");
    Ok(())
}

/// What `gcwatch completions` prints is what packages ship.
fn completions() -> Result<()> {
    let dir = workspace::root().join("completions");
    let mut shells = 0;
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let printed = Gcwatch::new().arg("completions").arg(shell).output()?.expect(0)?;
        ensure!(printed.out()?.contains("gcwatch"), "{shell}: {:?}", printed.out()?);
        for entry in std::fs::read_dir(&dir)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let ours = match shell {
                "bash" => name == "gcwatch.bash",
                "zsh" => name == "_gcwatch",
                "fish" => name == "gcwatch.fish",
                "powershell" => name.ends_with(".ps1"),
                _ => name.ends_with(".elv"),
            };
            if ours {
                shells += 1;
                ensure!(
                    std::fs::read(&path)? == printed.stdout,
                    "{name} is not what gcwatch completions {shell} prints"
                );
            }
        }
    }
    ensure!(shells >= 3, "completion files of {shells} shells only in {}", dir.display());
    Ok(())
}

/// `gcwatch attach <TAB>` in bash: the processes that are there.
fn complete_pids(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    let pid = target.pid().to_string();
    let listed = Gcwatch::on(clr).args("ps --format pids").output()?.expect(0)?;
    let row = listed.out()?.lines().find(|line| line.split('\t').next() == Some(&pid));
    ensure!(row.is_some_and(|row| row.contains("roots")), "{:?}", listed.out());
    let script = workspace::root().join("completions/gcwatch.bash");
    let ask = format!(
        "source '{}'; COMP_WORDS=(gcwatch attach ''); COMP_CWORD=2; _gcwatch_with_pids gcwatch '' attach; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_gcwatch"));
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", &ask]);
    let path = std::env::var("PATH").unwrap_or_default();
    bash.env("PATH", format!("{}:{path}", program.parent().context("a directory")?.display()));
    let Ok(answer) = bash.output() else {
        return Err(xtask::testkit::Skip::because("there is no bash").into());
    };
    let answer = String::from_utf8(answer.stdout)?;
    ensure!(answer.lines().any(|line| line == pid), "no {pid} in {answer:?}");
    Ok(())
}

fn help() -> Result<()> {
    let help = Gcwatch::new().arg("--help").output()?.expect(0)?;
    for command in ["run", "attach", "ps", "report", "schema", "completions", "man"] {
        ensure!(help.out()?.contains(command), "no {command} in the help");
        let own = Gcwatch::new().arg(command).arg("--help").output()?.expect(0)?;
        ensure!(!own.out()?.is_empty(), "no help on {command}");
    }
    let version = Gcwatch::new().arg("--version").output()?.expect(0)?;
    ensure!(version.out()?.contains(env!("CARGO_PKG_VERSION")), "{}", version.out()?);
    let hash = netcore_profiler::LIBRARY_HASH;
    ensure!(!hash.is_empty() && version.out()?.contains(hash), "no {hash} in {}", version.out()?);
    let manual = Gcwatch::new().arg("man").output()?.expect(0)?;
    let page = manual.out()?;
    ensure!(page.starts_with(".ie") || page.contains(".TH"), "not a manual page");
    for (section, option) in [("ATTACH", "diagnostic"), ("RUN", "record"), ("DIFF", "fail")] {
        let own = page.split(".SH GCWATCH ").find(|part| part.starts_with(section));
        ensure!(own.is_some_and(|part| part.contains(option)), "no {option} in the section {section}");
    }
    Ok(())
}
