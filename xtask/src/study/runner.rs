//! Makes one run: a program under gcwatch.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::cases::ENVIRONMENT;
use super::options::Options;
use super::plan::Step;
use super::store::{self, Record};
use crate::testkit::Target;
use crate::{Clr, apps, machine};

const DEADLINE: Duration = Duration::from_secs(300);
/// How often a run is tried.
const ATTEMPTS: usize = 3;
/// The statistics that are asked for where a metric needs one.
const STATISTICS: [&str; 5] = ["max", "mean", "p50", "p99", "total"];
/// Success, and the two verdicts that do not matter here: all that counts is the value of each metric.
const CODES: [i32; 3] = [0, 10, 11];

/// A metric as `gcwatch metrics` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Metric {
    /// Without a statistic.
    pub(super) name: String,
    pub(super) level: String,
    pub(super) has_statistic: bool,
}

impl Metric {
    /// The names with which its values can be asked for.
    pub(super) fn names(&self) -> Vec<String> {
        if !self.has_statistic {
            return vec![self.name.clone()];
        }
        STATISTICS.iter().map(|statistic| format!("{}.{statistic}", self.name)).collect()
    }
}

#[derive(Debug)]
pub(super) struct Runner<'a> {
    options: &'a Options,
    metrics: Vec<Metric>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(options: &'a Options) -> Result<Self> {
        fs::create_dir_all(options.dir.join("documents"))?;
        let output = gcwatch(&options.gcwatch, &options.clr).arg("metrics").output()?;
        ensure!(output.status.success(), "gcwatch metrics: {}", String::from_utf8_lossy(&output.stderr));
        let metrics = listed(&String::from_utf8(output.stdout)?);
        ensure!(!metrics.is_empty(), "gcwatch metrics lists none");
        Ok(Self { options, metrics })
    }

    /// All metrics, in the order of the list.
    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Makes a run, and makes it again if it fails, at most three times.
    pub(super) fn run_patiently(&self, step: &Step) -> Result<Record> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.run(step) {
                Ok(record) => return Ok(record),
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("it was not tried")?.context(step.key.to_string()))
    }

    fn run(&self, step: &Step) -> Result<Record> {
        let Options { gcwatch: path, clr, dir, .. } = self.options;
        let document = store::document(dir, &step.key);
        let mut command = gcwatch(path, clr);
        command
            .envs(ENVIRONMENT)
            .args(["run", "--level", step.level, "--format", "json", "-o"])
            .arg(&document);
        let of_level = self.metrics.iter().filter(|metric| metric.level == step.level);
        for name in of_level.flat_map(Metric::names) {
            command.arg("--assert").arg(format!("{name} >= 0"));
        }
        command.arg("--").args(clr.argv(&apps::build(step.app)?)).args(step.arguments.split_whitespace());
        let load = machine::load();
        let began = Instant::now();
        let mut target = Target::spawn(command)?;
        target.close_stdin();
        let status = target.wait(DEADLINE)?;
        let wall_ms = began.elapsed().as_secs_f64() * 1e3;
        if !status.code().is_some_and(|code| CODES.contains(&code)) {
            bail!("gcwatch ended with {status}\n{target:?}");
        }
        let own = target.lines().iter().rev().find(|line| line.starts_with("done "));
        let own = own.with_context(|| format!("the program did not end\n{target:?}"))?;
        let metrics = values(&serde_json::from_slice(&fs::read(&document)?)?)?;
        Ok(Record { key: step.key.clone(), load, wall_ms, own: numbers(own), metrics })
    }
}

/// A command that runs gcwatch without the user's settings.
pub(super) fn gcwatch(path: &Path, clr: &Clr) -> Command {
    let mut command = Command::new(path);
    clr.environment(&mut command);
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_string_lossy().starts_with("GCWATCH_")) {
        command.env_remove(name);
    }
    command.current_dir(std::env::temp_dir());
    command
}

/// The rows of `gcwatch metrics` between its titles and the first empty line: name, unit and level come first. A metric with a
/// statistic has a row with `.max`, and can have one with another statistic.
fn listed(text: &str) -> Vec<Metric> {
    let rows = text.lines().skip(1).take_while(|line| !line.trim().is_empty());
    let mut all: Vec<Metric> = Vec::new();
    for row in rows.filter(|line| !line.starts_with(' ')) {
        let mut words = row.split_whitespace();
        let (Some(name), Some(level)) = (words.next(), words.nth(1)) else { continue };
        let (stem, last) = name.rsplit_once('.').unwrap_or((name, ""));
        let is_other = STATISTICS.contains(&last) && last != STATISTICS[0];
        if is_other && all.last().is_some_and(|before| before.name == stem) {
            continue;
        }
        let has_statistic = last == STATISTICS[0];
        let name = if has_statistic { stem } else { name };
        all.push(Metric { name: name.to_owned(), level: level.to_owned(), has_statistic });
    }
    all
}

/// The values of the document's assertions, by the metric's name.
fn values(document: &Value) -> Result<BTreeMap<String, Option<f64>>> {
    let mut values = BTreeMap::new();
    for assertion in document["assertions"].as_array().context("the document has no assertions")? {
        let expr = assertion["expr"].as_str().context("an assertion has no text")?;
        let name = expr.split_whitespace().next().unwrap_or_default();
        values.insert(name.to_owned(), assertion["value"].as_f64());
    }
    Ok(values)
}

/// The words `name=number` of a line.
fn numbers(line: &str) -> BTreeMap<String, f64> {
    let words = line.split_whitespace().filter_map(|word| word.split_once('='));
    words.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_gcwatch_and_the_program_say_is_read() {
        let metrics = listed(
            "metric unit level\npause.max ns basic 30 %\npause.mean ns basic 9 %\n    about it\nlost count basic -\n\nany of: min\n",
        );
        let names: Vec<_> =
            metrics.iter().map(|m| (m.name.as_str(), m.level.as_str(), m.names().len())).collect();
        assert_eq!(names, [("pause", "basic", 5), ("lost", "basic", 1)]);
        let document = json!({ "assertions": [
            { "expr": "pause.max >= 0", "value": 5 },
            { "expr": "heap.live.max >= 0", "value": null },
        ] });
        let values = values(&document).unwrap();
        assert_eq!((values["pause.max"], values["heap.live.max"]), (Some(5.0), None));
        let own = numbers("done requests=3 checksum=zz gc0=12");
        assert_eq!((own.len(), own["gc0"]), (2, 12.0));
    }
}
