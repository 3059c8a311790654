//! What the program prints of itself: schema, completions, manual.

use std::io::{self, Write};

use clap::CommandFactory;

use super::report_failed;
use crate::check::{METRICS, Statistic, Value};
use crate::cli::Cli;
use crate::cli::config::{self, Config};
use crate::exit::{Code, Failure};

/// `gcwatch schema`.
pub(super) fn schema() -> Result<Code, Failure> {
    let text = serde_json::to_string_pretty(&crate::report::schema()).map_err(io::Error::from)?;
    print(format!("{text}\n").as_bytes())
}

/// `gcwatch config`.
pub(super) fn config(config: Option<&Config>, of: &str) -> Result<Code, Failure> {
    let rows = config::in_force(config, of).map_err(|e| {
        let what = e.to_string();
        Failure::new(Code::USAGE, what.lines().next().unwrap_or_default().to_owned())
    })?;
    let mut text = match config {
        Some(config) => format!("{}\n\n", config.path.display()),
        None => "no gcwatch.toml from here upward\n\n".to_owned(),
    };
    let width = |of: fn(&config::InForce) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let first = width(|row| row.option.len());
    let second = width(|row| row.value.as_deref().unwrap_or("-").chars().count());
    for row in &rows {
        let value = row.value.as_deref().unwrap_or("-");
        text += &format!("{:<first$}  {value:<second$}  {}\n", row.option, row.from);
    }
    print(text.as_bytes())
}

/// `gcwatch metrics`.
pub(super) fn metrics() -> Result<Code, Failure> {
    let mut text = String::new();
    for m in METRICS {
        let statistic = if matches!(m.value, Value::PerGc(_)) { ".max" } else { "" };
        let name = format!("{}{statistic}", m.name);
        text += &format!("{name:<24} {:<8} {:<6} {}\n", m.unit.name(), m.level.name(), m.about);
    }
    let statistics = Statistic::ALL.map(|(name, _)| name).join(" ");
    text += &format!("\nfor .max any of: {statistics}\n");
    print(text.as_bytes())
}

/// `gcwatch completions`.
pub(super) fn completions(shell: clap_complete::Shell) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gcwatch", &mut script);
    print(&script)
}

/// `gcwatch man`.
pub(super) fn man() -> Result<Code, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command().version(crate::VERSION)).render(&mut page)?;
    print(&page)
}

fn print(bytes: &[u8]) -> Result<Code, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Code::OK),
        Err(e) => report_failed(&e, None),
    }
}
