//! The lines of events: `event ID VERSION NAME TASK/OPCODE LEVEL KEYWORDS FIELDS...`

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::element::Element;
use super::provider::Provider;
use super::strings::Strings;
use super::template;
use super::words::word;

/// What an event may have. `message` is a sentence with the fields in it, `symbol` a name in C++.
const ATTRIBUTES: [&str; 9] =
    ["value", "version", "level", "keywords", "opcode", "task", "symbol", "template", "message"];
/// Stands for a task or an opcode that an event does not have.
const NONE: &str = "-";

/// A line for each version of each event, in the order of ids and versions.
pub(super) fn lines(provider: &Provider<'_>, strings: &Strings) -> Result<String> {
    let mut lines = BTreeMap::new();
    for event in &provider.events {
        let id: u16 = event.required("value")?.parse().context("an event's value")?;
        let version: u8 = event.optional("version").unwrap_or("0").parse().context("an event's version")?;
        let facts = facts(event, provider, strings);
        let facts = facts.with_context(|| format!("event {id} version {version}"))?;
        let before = lines.insert((id, version), format!("event {id} {version} {facts}\n"));
        ensure!(before.is_none(), "event {id} version {version} is there twice");
    }
    Ok(lines.into_values().collect())
}

/// The line from the name on.
fn facts(event: &Element, provider: &Provider<'_>, strings: &Strings) -> Result<String> {
    event.only(&ATTRIBUTES)?;
    let name = word(name(event.required("symbol")?))?;
    let task = match event.optional("task") {
        Some(task) => Some(provider.tasks.get(task).with_context(|| format!("there is no task {task}"))?),
        None => None,
    };
    let opcode = match event.optional("opcode") {
        // Tools leave out what an opcode of mere information is called.
        None | Some("win:Info") => NONE,
        Some("win:Start") => "Start",
        Some("win:Stop") => "Stop",
        Some(opcode) => {
            let message =
                task.and_then(|task| task.opcodes.get(opcode)).or_else(|| provider.opcodes.get(opcode));
            let message = message.with_context(|| format!("its task has no opcode {opcode}"))?;
            word(strings.text(message)?)?
        }
    };
    let task = task.map_or(Ok(NONE), |task| word(strings.text(task.message)?))?;
    let level = level(event.required("level")?)?;
    let keywords = provider.mask(event.optional("keywords").unwrap_or_default())?;
    let fields = match event.optional("template") {
        Some(id) => {
            let template =
                provider.templates.get(id).with_context(|| format!("there is no template {id}"))?;
            template::fields(template)?
        }
        None => String::new(),
    };
    Ok(format!("{name} {task}/{opcode} {level} {keywords:#x}{fields}"))
}

/// A symbol without the version at its end.
fn name(symbol: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    symbol.rsplit_once("_V").filter(|(_, version)| is_number(version)).map_or(symbol, |(name, _)| name)
}

fn level(name: &str) -> Result<u8> {
    Ok(match name {
        "win:LogAlways" => 0,
        "win:Critical" => 1,
        "win:Error" => 2,
        "win:Warning" => 3,
        "win:Informational" => 4,
        "win:Verbose" => 5,
        other => bail!("unknown level {other}"),
    })
}
