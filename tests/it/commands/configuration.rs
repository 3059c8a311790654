//! Where options come from: the command line wins over the environment, which wins over `gcwatch.toml`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::Clr;

use crate::it::suite::Suite;
use crate::it::support::{Document, Ended, Gcwatch, run_to_end};

pub(crate) fn register(suite: &mut Suite) {
    suite.once("configuration::command_line_over_environment_over_file", &[], precedence);
    suite.plain("configuration::is_shown_with_its_source", shown);
    suite.plain("configuration::mistakes_are_2", mistakes);
    suite.plain("configuration::a_bad_value_names_where_it_comes_from", sources);
    suite.plain("configuration::a_bad_value_is_told_alike_everywhere", everywhere);
    suite.plain("configuration::odd_variables_are_told", odd_variables);
    suite.plain("configuration::diff_takes_what_fits_it", of_diff);
}

/// Runs the command two directories below the one with the file.
fn below(dir: &tempfile::TempDir, toml: &str, mut command: Command) -> Result<Command> {
    let file = dir.path().join("gcwatch.toml");
    std::fs::write(&file, toml)?;
    // gcwatch ignores a file that others can write to, and the umask may allow that.
    std::fs::set_permissions(&file, Permissions::from_mode(0o644))?;
    let inner = dir.path().join("a/b");
    std::fs::create_dir_all(&inner)?;
    command.current_dir(inner);
    Ok(command)
}

fn run(command: Command, code: i32) -> Result<Ended> {
    run_to_end(command, Vec::new())?.expect(code)
}

fn precedence(clr: &Clr) -> Result<()> {
    let toml = "level = 'moves'\n[run]\nformat = 'json'\nassert = ['gc.count >= 0']\n";
    for (variable, option, level) in
        [(None, None, "moves"), (Some("basic"), None, "basic"), (Some("moves"), Some("basic"), "basic")]
    {
        let dir = tempfile::tempdir()?;
        let mut gcwatch = Gcwatch::on(clr).arg("run");
        if let Some(level) = option {
            gcwatch = gcwatch.arg("--level").arg(level);
        }
        let command = gcwatch.app(clr, "exits", "return code=0")?.command();
        let mut command = below(&dir, toml, command)?;
        command.envs(variable.map(|level| ("GCWATCH_LEVEL", level)));
        let ended = run(command, 0)?;
        let document = Document::parse(&ended.stdout)?;
        ensure!(document.0["watch"]["level"] == level, "{variable:?} {option:?}: {}", document.0["watch"]);
        ensure!(document.0["assertions"][0]["expr"] == "gc.count >= 0", "{}", document.0["assertions"]);
    }
    Ok(())
}

fn shown() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let command = Gcwatch::new().args("config attach").command();
    let toml = "level = 'moves'\nstrict = true\n[attach]\nlevel = 'basic'\n";
    let mut command = below(&dir, toml, command)?;
    command.env("GCWATCH_UNITS", "si");
    let ended = run(command, 0)?;
    let text = ended.out()?;
    let row = |option: &str| -> Result<Vec<&str>> {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(option));
        Ok(line.with_context(|| format!("no {option}:\n{text}"))?.split_whitespace().collect())
    };
    let file = dir.path().canonicalize()?.join("gcwatch.toml");
    ensure!(row("--level")?[1..] == ["basic", file.to_str().context("not UTF-8")?], "{text}");
    ensure!(row("--strict")?[1] == "true", "{text}");
    ensure!(row("--units")?[1..] == ["si", "GCWATCH_UNITS"], "{text}");
    ensure!(row("--color")?[1..] == ["auto", "default"], "{text}");
    ensure!(row("--duration")?[1..] == ["-", "default"], "{text}");
    Ok(())
}

fn sources() -> Result<()> {
    for (toml, variable, words, source) in [
        ("", Some("deep"), "run -- echo", Some("GCWATCH_LEVEL in the environment")),
        ("level = 'deep'", None, "run -- echo", Some("gcwatch.toml")),
        ("level = 'deep'", Some("deeper"), "run --level deepest -- echo", None),
    ] {
        let dir = tempfile::tempdir()?;
        let mut command = below(&dir, toml, Gcwatch::new().args(words).command())?;
        command.envs(variable.map(|level| ("GCWATCH_LEVEL", level)));
        let ended = run(command, 2)?;
        let origin = ended.stderr.lines().find(|line| line.starts_with("the value comes from"));
        match source {
            Some(source) => ensure!(origin.is_some_and(|line| line.contains(source)), "{}", ended.stderr),
            None => ensure!(origin.is_none(), "{}", ended.stderr),
        }
    }
    Ok(())
}

/// `config` reports as much as the command itself, and names the line of the file.
fn everywhere() -> Result<()> {
    let possible = "possible values: basic, moves, roots";
    for words in ["config", "config attach", "attach 1", "report x"] {
        let with = |toml: &str, name: &str, value: &str| -> Result<Ended> {
            let dir = tempfile::tempdir()?;
            let mut command = below(&dir, toml, Gcwatch::new().args(words).command())?;
            command.env(name, value);
            let ended = run(command, 2)?.says(&["invalid value"])?;
            ensure!(!ended.stderr.contains("gcwatch: error:"), "{words}: {}", ended.stderr);
            Ok(ended)
        };
        if words != "report x" {
            with("", "GCWATCH_LEVEL", "bsic")?.says(&[
                "'bsic'",
                possible,
                "GCWATCH_LEVEL in the environment",
            ])?;
            with("strict = true\nlevel = 'mvoes'\n", "GCWATCH_QUIET", "")?.says(&[
                "'mvoes'",
                possible,
                "gcwatch.toml, line 2",
            ])?;
        }
        with("\nunits = 'miles'\n", "GCWATCH_QUIET", "")?
            .says(&["iec, si, bytes", "gcwatch.toml, line 2"])?;
    }
    let dir = tempfile::tempdir()?;
    let table =
        below(&dir, "level = 'basic'\n\n[attach]\nlevel = 'x'\n", Gcwatch::new().args("attach 1").command())?;
    run(table, 2)?.says(&["gcwatch.toml, line 4"]).map(drop)
}

/// Warns of misspelt variables and of those for options that only the command line takes, but not of gcwatch's own.
fn odd_variables() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut command = below(&dir, "", Gcwatch::new().arg("config").command())?;
    let ours = ["GCWATCH_PROFILER", "GCWATCH_CACHE", "GCWATCH_DOTNET_ROOT", "GCWATCH_TEST_PEERS"];
    command.envs(ours.map(|name| (name, "x"))).env("GCWATCH_LEVLE", "basic").env("GCWATCH_OUTPUT", "stolen");
    let ended = run(command, 0)?.says(&[
        "GCWATCH_LEVLE",
        "did you mean GCWATCH_LEVEL?",
        "GCWATCH_OUTPUT is ignored",
    ])?;
    ensure!(ended.stderr.lines().count() == 2, "{}", ended.stderr);
    let output = ended.out()?.lines().find(|line| line.starts_with("--output")).context("no --output")?;
    ensure!(output.split_whitespace().nth(1) == Some("-"), "{output}");
    Ok(())
}

fn of_diff() -> Result<()> {
    let document = r#"{"schema":"gcwatch/1","gcs":[],"watch":null,"summary":null,"lost":null}"#;
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("a.json"), document)?;
    // `diff` ignores the format that is set for the other commands.
    let toml = "format = 'ndjson'\n[diff]\nunits = 'si'\n";
    let words = "diff ../../a.json ../../a.json";
    run(below(&dir, toml, Gcwatch::new().args(words).command())?, 0)?;
    let json = below(&dir, "[diff]\nformat = 'json'\n", Gcwatch::new().args(words).command())?;
    let ended = run(json, 0)?;
    ensure!(serde_json::from_slice::<serde_json::Value>(&ended.stdout).is_ok(), "{}", ended.out()?);
    let ended = run(below(&dir, toml, Gcwatch::new().args("config diff").command())?, 0)?;
    let units = ended.out()?.lines().find(|line| line.starts_with("--units")).context("no --units")?;
    ensure!(units.contains("si") && units.contains("gcwatch.toml"), "{units}");
    let bad = below(&dir, "[diff]\nformat = 'ndjson'\n", Gcwatch::new().args(words).command())?;
    run(bad, 2)?.says(&["ndjson", "gcwatch.toml"])?;
    Ok(())
}

fn mistakes() -> Result<()> {
    for (toml, word) in [
        ("levle = 'basic'", "`level`"),
        ("output = 'x'", "command line only"),
        ("[run]\nprofiler-path = 'x.so'", "command line only"),
        (
            "strict = true\n[attach]\nfollow = true",
            "line 3: `attach` has no option `follow`; only `run` has it",
        ),
        ("level = ", "TOML"),
        ("level = 'deep'", "deep"),
    ] {
        let dir = tempfile::tempdir()?;
        let command = Gcwatch::new().args("run -- echo started").command();
        let ended = run(below(&dir, toml, command)?, 2)?;
        ensure!(ended.stdout.is_empty(), "{toml}: the child was started");
        ended.says(&[word])?;
    }
    Ok(())
}
