//! The command line alone: help, manual page, schema, values with units.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xtask::tested;

use crate::it::suite::Suite;
use crate::it::support::{Gcwatch, Json, schema};

pub(crate) fn register(suite: &mut Suite) {
    suite.plain("command_line::schema_is_a_schema", valid_schema);
    suite.plain("command_line::help_and_manual", help);
    suite.plain("command_line::values_without_a_unit_are_refused", units);
}

/// Values without a unit are refused: `80` may be milliseconds or seconds, `1` bytes or megabytes.
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
    // The schema has to require what the contract names, not only to allow it.
    let required: BTreeSet<&str> = schema.list("/required")?.iter().filter_map(Value::as_str).collect();
    let named = ["schema", "tool", "target", "gcs", "watch", "summary", "assertions", "lost", "exit"];
    ensure!(named.iter().all(|key| required.contains(key)), "{required:?}");
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
    // The library of another target has another hash.
    let is_same = tested::target().is_some() || version.out()?.contains(hash);
    ensure!(!hash.is_empty() && is_same, "no {hash} in {}", version.out()?);
    let manual = Gcwatch::new().arg("man").output()?.expect(0)?;
    let page = manual.out()?;
    ensure!(page.starts_with(".ie") || page.contains(".TH"), "not a manual page");
    // The page refers to no other.
    ensure!(!page.contains("\\-run(1)") && page.contains(".B gcwatch run\n"), "it refers to other pages");
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
