//! Checks gcwatch's JSON against the schema that `gcwatch schema` prints.

use std::sync::OnceLock;

use anyhow::{Result, anyhow, bail};
use jsonschema::Validator;
use serde_json::{Value, json};

use super::Gcwatch;

/// The output of `gcwatch schema`, and validators for its parts.
pub(crate) struct Schema {
    pub(crate) json: Value,
    document: Validator,
    processes: Validator,
    line: Validator,
    /// Those of `gcwatch graph`, by `kind`.
    graphs: Vec<(&'static str, Validator)>,
}

/// The documents of `gcwatch graph`: their `kind`, and the part of the schema.
pub(crate) const GRAPHS: [(&str, &str); 4] = [
    ("gcwatch-graph", "GraphDocument"),
    ("gcwatch-graph-difference", "GraphDifference"),
    ("gcwatch-graph-object", "GraphObject"),
    ("gcwatch-graph-type", "GraphType"),
];

/// The schema of the tested gcwatch.
pub(crate) fn schema() -> Result<&'static Schema> {
    static SCHEMA: OnceLock<Result<Schema, String>> = OnceLock::new();
    SCHEMA.get_or_init(|| Schema::load().map_err(|e| format!("{e:?}"))).as_ref().map_err(|e| anyhow!("{e}"))
}

impl Schema {
    fn load() -> Result<Schema> {
        let printed = Gcwatch::new().args("schema").output()?.expect(0)?;
        let json: Value = serde_json::from_slice(&printed.stdout)?;
        let part = |name: &str| json!({ "$schema": json["$schema"], "$ref": format!("#/$defs/{name}"), "$defs": json["$defs"] });
        let build =
            |schema: &Value| jsonschema::validator_for(schema).map_err(|e| anyhow!("the schema: {e}"));
        Ok(Schema {
            document: build(&json)?,
            processes: build(&part("Processes"))?,
            line: build(&part("Line"))?,
            graphs: GRAPHS
                .iter()
                .map(|(kind, name)| Ok((*kind, build(&part(name))?)))
                .collect::<Result<_>>()?,
            json,
        })
    }

    /// Checks a document of `--format json`.
    pub(crate) fn check_document(&self, document: &Value) -> Result<()> {
        check(&self.document, document)
    }

    /// Checks a document of several processes.
    pub(crate) fn check_processes(&self, document: &Value) -> Result<()> {
        check(&self.processes, document)
    }

    /// Checks a document of `gcwatch graph --format json`.
    pub(crate) fn check_graph(&self, document: &Value) -> Result<()> {
        let found = self.graphs.iter().find(|(kind, _)| document["kind"] == *kind);
        let (_, validator) = found.ok_or_else(|| anyhow!("no schema of {}", document["kind"]))?;
        check(validator, document)
    }

    /// Checks a line of `--format ndjson`.
    pub(crate) fn check_line(&self, line: &Value) -> Result<()> {
        check(&self.line, line)
    }
}

fn check(validator: &Validator, value: &Value) -> Result<()> {
    let wrong: Vec<String> =
        validator.iter_errors(value).take(5).map(|e| format!("{}: {e}", e.instance_path())).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let text: String = value.to_string().chars().take(600).collect();
    bail!("against the schema:\n{}\n{text}", wrong.join("\n"))
}
