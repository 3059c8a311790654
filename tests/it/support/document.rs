//! gcwatch's JSON, always checked against the schema.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::schema;

/// A document of `--format json`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Document(pub(crate) Value);

impl Document {
    pub(crate) fn read(path: &Path) -> Result<Document> {
        let bytes = std::fs::read(path).with_context(|| format!("no document {}", path.display()))?;
        Document::parse(&bytes)
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Document> {
        let value: Value = serde_json::from_slice(bytes).with_context(|| {
            format!("not JSON: {}", String::from_utf8_lossy(&bytes[..bytes.len().min(400)]))
        })?;
        schema()?.check_document(&value)?;
        Ok(Document(value))
    }

    pub(crate) fn gcs(&self) -> Result<&[Value]> {
        self.0.list("/gcs")
    }

    /// The record of a collection.
    pub(crate) fn gc(&self, number: u64) -> Result<&Value> {
        let mut found = self.gcs()?.iter().filter(|gc| gc["number"] == number);
        let gc = found.next().with_context(|| format!("no record of GC {number}"))?;
        ensure!(found.next().is_none(), "GC {number} has two records");
        Ok(gc)
    }

    /// The records of the collections that gcwatch saw from start to end.
    pub(crate) fn complete(&self) -> Result<Vec<&Value>> {
        Ok(self.gcs()?.iter().filter(|gc| gc["complete"] == true).collect())
    }

    /// Fails if the document reports a loss.
    pub(crate) fn nothing_lost(&self) -> Result<()> {
        for what in ["gcs", "events", "ranges", "roots", "saturated"] {
            ensure!(self.0["lost"][what] == 0, "lost: {}", self.0["lost"]);
        }
        for gc in self.gcs()? {
            for what in ["events", "ranges", "roots"] {
                ensure!(gc["missing"][what] == 0, "GC {} misses {}", gc["number"], gc["missing"]);
            }
        }
        Ok(())
    }
}

/// The lines of `--format ndjson`, each checked, in the order start, gc ..., end.
pub(crate) fn lines(bytes: &[u8]) -> Result<Vec<Value>> {
    let mut lines = Vec::new();
    for text in std::str::from_utf8(bytes)?.lines() {
        let line: Value = serde_json::from_str(text).with_context(|| format!("not JSON: {text}"))?;
        schema()?.check_line(&line)?;
        lines.push(line);
    }
    ensure!(lines.len() >= 2, "{} lines", lines.len());
    let last = lines.len() - 1;
    for (n, line) in lines.iter().enumerate() {
        let expected = if n == 0 {
            "start"
        } else if n == last {
            "end"
        } else {
            "gc"
        };
        ensure!(
            line["type"] == expected,
            "line {n} of {} is a {} line, not {expected}",
            last + 1,
            line["type"]
        );
    }
    Ok(lines)
}

/// A short form of a record for messages: a whole one fills screens.
pub(crate) fn brief(gc: &Value) -> String {
    let named = [
        "number",
        "level",
        "generation",
        "kind",
        "incomplete",
        "at_ns",
        "pause_ns",
        "gc_ns",
        "pauses",
        "cost",
    ];
    let mut parts: Vec<String> = named.iter().map(|key| format!("{key} {}", gc[*key])).collect();
    for (part, key) in
        [("moved", "blocks"), ("moved", "bytes"), ("surviving", "blocks"), ("roots", "by_kind")]
    {
        parts.push(format!("{part}.{key} {}", gc[part][key]));
    }
    parts.join(", ")
}

/// Looks values up by JSON pointer; the error says what was there instead.
pub(crate) trait Json {
    fn place(&self, pointer: &str) -> Result<&Value>;

    fn uint(&self, pointer: &str) -> Result<u64> {
        let value = self.place(pointer)?;
        value.as_u64().with_context(|| format!("{pointer} is {value}, not a number"))
    }

    fn text(&self, pointer: &str) -> Result<&str> {
        let value = self.place(pointer)?;
        value.as_str().with_context(|| format!("{pointer} is {value}, not a string"))
    }

    fn list(&self, pointer: &str) -> Result<&[Value]> {
        let value = self.place(pointer)?;
        value.as_array().map(Vec::as_slice).with_context(|| format!("{pointer} is {value}, not a list"))
    }

    /// An address, written as a string.
    fn address(&self, pointer: &str) -> Result<u64> {
        let text = self.text(pointer)?;
        let digits = text.strip_prefix("0x").with_context(|| format!("{text} is no address"))?;
        Ok(u64::from_str_radix(digits, 16)?)
    }
}

impl Json for Value {
    fn place(&self, pointer: &str) -> Result<&Value> {
        self.pointer(pointer).with_context(|| format!("no {pointer} in {self}"))
    }
}
