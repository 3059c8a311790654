//! The commands around watching: lists, schema, completions, manual page.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::testkit::{Target, peer};
use xtask::{Clr, apps, workspace};

use super::errors_target::AOT;
use super::suite::{Need, Suite};
use super::support::{DEADLINE, Gcwatch, Json, Signal, schema, signal, start_attach, until};

pub(crate) fn register(suite: &mut Suite) {
    suite.each("ps::lists_a_started_program", &[], ps);
    suite.once("ps::says_why_not", &[], ps_why);
    suite.once("ps::says_what_another_gcwatch_watches", &[Need::Proc], ps_watched);
    suite.once("ps::says_that_native_aot_takes_no_profiler", &[Need::Peer(AOT)], ps_native_aot);
    suite.once("ps::waits_for_all_silent_ones_together", &[], ps_silent);
    suite.plain("schema::is_a_schema", valid_schema);
    suite.plain("completions::are_up_to_date", completions);
    suite.plain("help_and_manual", help);
    suite.plain("values_without_a_unit_are_refused", units);
    suite.once("attach::by_name", &[], attach_by_name);
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
    let (reason, line) = (row.find("DOTNET_EnableDiagnostics"), row.rfind("roots.dll"));
    ensure!(reason < line, "the reason stands behind the command line: {row}");
    Ok(())
}

/// The row of a process in `gcwatch ps --json`.
fn ps_row(clr: &Clr, pid: u32) -> Result<Value> {
    let listed = Gcwatch::on(clr).args("ps --json").output()?.expect(0)?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let row = listed.as_array().context("no list")?.iter().find(|row| row["pid"] == pid);
    row.cloned().with_context(|| format!("no {pid} in {listed}"))
}

/// A runtime takes one profiler at a time; when the first one has gone, it takes another.
fn ps_watched(clr: &Clr) -> Result<()> {
    let mut target = Target::app(clr, "roots", &[], &[])?;
    target.wait_line("ready ", DEADLINE)?;
    ensure!(ps_row(clr, target.pid())?["level"] == "roots", "{}", ps_row(clr, target.pid())?);
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("out.json");
    let mut gcwatch = start_attach(clr, target.pid(), "--level roots", &path)?;
    let row = ps_row(clr, target.pid())?;
    ensure!(row["level"] == "moves" && row.text("/why")?.contains("another gcwatch"), "{row}");
    signal(gcwatch.pid(), Signal::INT)?;
    gcwatch.wait(DEADLINE)?;
    until("the profiler's end", DEADLINE, || Ok(ps_row(clr, target.pid())?["level"] == "roots"))
}

fn ps_native_aot(clr: &Clr) -> Result<()> {
    let mut command = Command::new(peer(AOT)?);
    command.args(["600", "1"]);
    let target = Target::spawn(command)?;
    until("its row", DEADLINE, || Ok(ps_row(clr, target.pid()).is_ok()))?;
    let row = ps_row(clr, target.pid())?;
    ensure!(row["level"] == "basic" && row.text("/why")?.contains("NativeAOT"), "{row}");
    Ok(())
}

/// `80` may be milliseconds or seconds, `1` bytes or megabytes.
fn units() -> Result<()> {
    for (words, remedy) in
        [("--min-pause 80", "did you mean 80ms?"), ("--record x.nettrace --rotate 1,3", "did you mean 1MiB?")]
    {
        let ended = Gcwatch::new().arg("run").args(words).args("-- echo").output()?.expect(2)?;
        ensure!(ended.stdout.is_empty(), "{ended:?}");
        ended.says(&["no unit", remedy])?;
    }
    Ok(())
}

/// What is no process id is a name; where it is that of two, both are listed with their command lines.
fn attach_by_name(clr: &Clr) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let built = apps::build("roots")?;
    let dll = dir.path().join("by-name.dll");
    for extension in ["dll", "runtimeconfig.json"] {
        std::fs::copy(built.with_extension(extension), dll.with_extension(extension))?;
    }
    let start = |argument: &str| -> Result<Target> {
        let mut command = clr.command(&dll);
        command.arg(argument);
        let mut target = Target::spawn(command)?;
        target.wait_line("ready ", DEADLINE)?;
        Ok(target)
    };
    let attach = |name: &str, code: i32| {
        Gcwatch::on(clr).args("attach --level basic --duration 300ms").arg(name).output()?.expect(code)
    };
    let first = start("the-first")?;
    let ended = attach("by-name.dll", 0)?;
    ensure!(ended.out()?.contains(&first.pid().to_string()), "{}", ended.out()?);
    let second = start("the-second")?;
    let pids = [first.pid(), second.pid()].map(|pid| pid.to_string());
    attach("by-name", 20)?.says(&[&pids[0], &pids[1], "the-first", "the-second", "process id"])?;
    drop(second);
    signal(first.pid(), Signal::STOP)?;
    let stopped = attach("by-name", 20);
    signal(first.pid(), Signal::CONT)?;
    stopped?.says(&[&first.pid().to_string(), "it is stopped", "kill -CONT", "do:"])?;
    attach("nobody.dll", 20)?.says(&["no .NET process is called nobody.dll"])?;
    Ok(())
}

/// Eight stopped processes, each of which would hold up a list that asks one after the other.
fn ps_silent(clr: &Clr) -> Result<()> {
    let mut silent = (0..8).map(|_| Target::app(clr, "roots", &[], &[])).collect::<Result<Vec<_>>>()?;
    for target in &mut silent {
        target.wait_line("ready ", DEADLINE)?;
        signal(target.pid(), Signal::STOP)?;
    }
    let list = || -> Result<_> {
        let began = Instant::now();
        let listed = Gcwatch::on(clr).args("ps --why --json").output()?.expect(0)?;
        Ok((listed, began.elapsed()))
    };
    let (listed, taken) = list()?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    for target in &silent {
        let row = listed.as_array().context("no list")?.iter().find(|row| row["pid"] == target.pid());
        let row = row.with_context(|| format!("no {} in {listed}", target.pid()))?;
        ensure!(row["level"].is_null(), "a level for a process that does not answer: {row}");
        let why = row["why"].as_str().unwrap_or_default();
        ensure!(why.contains("no answer") && why.contains("it is stopped"), "{row}");
        ensure!(row["title"].is_string(), "what its system tells of it is missing: {row}");
    }
    for target in silent.iter().skip(1) {
        signal(target.pid(), Signal::CONT)?;
    }
    let (_, one) = list()?;
    // One after the other, eight take eight times as long as one.
    ensure!(taken < 4 * one, "{taken:?} for eight that are silent, {one:?} for one");
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
    // There is one page, and no other is named.
    ensure!(!page.contains("\\-run(1)") && page.contains(".B gcwatch run\n"), "pages that do not exist");
    let rotate = Gcwatch::new().args("run --help").output()?.expect(0)?;
    let rotate = rotate.out()?.split("--rotate").nth(1).context("no --rotate")?.split("--duration").next();
    let rotate = rotate.unwrap_or_default().trim_end();
    ensure!(
        !rotate.contains("\n\n") && rotate.lines().skip(1).all(|line| line.starts_with("   ")),
        "{rotate}"
    );
    for (section, option) in [("ATTACH", "diagnostic"), ("RUN", "record"), ("DIFF", "fail")] {
        let own = page.split(".SH GCWATCH ").find(|part| part.starts_with(section));
        ensure!(own.is_some_and(|part| part.contains(option)), "no {option} in the section {section}");
    }
    Ok(())
}
