//! A provider: its keywords, tasks, opcodes and templates, by name.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail, ensure};

use super::element::Element;
use super::words::{number, word};

/// Where the providers are.
const PATH: [&str; 4] = ["instrumentationManifest", "instrumentation", "events", "provider"];
/// What a provider may hold; what is not read here says nothing about the bytes of an event or about its name.
const PARTS: [&str; 7] = ["keywords", "tasks", "opcodes", "maps", "templates", "events", "levels"];

/// A task, and the opcodes that only it has.
#[derive(Debug)]
pub(super) struct Task<'m> {
    pub(super) message: &'m str,
    /// The message of each opcode.
    pub(super) opcodes: BTreeMap<&'m str, &'m str>,
}

#[derive(Debug)]
pub(super) struct Provider<'m> {
    /// The mask of each keyword.
    keywords: BTreeMap<&'m str, u64>,
    pub(super) tasks: BTreeMap<&'m str, Task<'m>>,
    /// The message of each opcode that all tasks have.
    pub(super) opcodes: BTreeMap<&'m str, &'m str>,
    pub(super) templates: BTreeMap<&'m str, &'m Element>,
    pub(super) events: Vec<&'m Element>,
}

impl<'m> Provider<'m> {
    /// Reads the provider of this name.
    pub(super) fn read(document: &'m Element, name: &str) -> Result<Provider<'m>> {
        let providers = document.at(&PATH);
        let mut named = providers.iter().filter(|provider| provider.optional("name") == Some(name));
        let provider = *named.next().with_context(|| format!("the manifest has no provider {name}"))?;
        ensure!(named.next().is_none(), "the manifest has the provider {name} twice");
        if let Some(part) = provider.children.iter().find(|part| !PARTS.contains(&part.name.as_str())) {
            bail!("the provider {name} has the unknown part <{}>", part.name);
        }
        let mut keywords = BTreeMap::new();
        for keyword in provider.at(&["keywords", "keyword"]) {
            add(&mut keywords, keyword.required("name")?, number(keyword.required("mask")?)?)?;
        }
        let mut tasks = BTreeMap::new();
        for task in provider.at(&["tasks", "task"]) {
            let (message, opcodes) = (task.required("message")?, messages(task)?);
            add(&mut tasks, task.required("name")?, Task { message, opcodes })?;
        }
        let mut templates = BTreeMap::new();
        for template in provider.at(&["templates", "template"]) {
            add(&mut templates, template.required("tid")?, template)?;
        }
        let (opcodes, events) = (messages(provider)?, provider.at(&["events", "event"]));
        Ok(Provider { keywords, tasks, opcodes, templates, events })
    }

    /// A line for each keyword, in the order of their bits.
    pub(super) fn keyword_lines(&self) -> Result<String> {
        let mut keywords: Vec<_> = self.keywords.iter().map(|(name, mask)| (*mask, *name)).collect();
        keywords.sort_unstable();
        let mut text = String::new();
        for (mask, name) in keywords {
            writeln!(text, "keyword {mask:#x} {}", word(name.strip_suffix("Keyword").unwrap_or(name))?)?;
        }
        Ok(text)
    }

    /// The bits of keywords, whose names have spaces between them.
    pub(super) fn mask(&self, names: &str) -> Result<u64> {
        names.split_ascii_whitespace().try_fold(0, |bits, name| {
            let mask = self.keywords.get(name).with_context(|| format!("there is no keyword {name}"))?;
            Ok(bits | mask)
        })
    }
}

/// The messages of the opcodes that a task or a provider has.
fn messages(element: &Element) -> Result<BTreeMap<&str, &str>> {
    let mut messages = BTreeMap::new();
    for opcode in element.at(&["opcodes", "opcode"]) {
        add(&mut messages, opcode.required("name")?, opcode.required("message")?)?;
    }
    Ok(messages)
}

fn add<'m, T>(map: &mut BTreeMap<&'m str, T>, name: &'m str, value: T) -> Result<()> {
    ensure!(map.insert(name, value).is_none(), "{name} is there twice");
    Ok(())
}
