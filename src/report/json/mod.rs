//! JSON: one document, or one line per collection. The types of the wire stand apart from the model.

mod ndjson;
mod number;
mod processes;
mod read;
mod types;
mod wire;
mod writer;

use schemars::Schema;
use schemars::generate::SchemaSettings;

use ndjson::Line;
pub(crate) use ndjson::{NdjsonReport, overall_line};
pub(crate) use number::Number;
pub(crate) use processes::JsonProcesses;
#[cfg(feature = "fuzz")]
pub(crate) use read::Read;
pub(crate) use read::read;
use types::document::Document;
pub(crate) use types::document::{TOOL, Tool};
use types::processes::Processes;
pub(crate) use writer::JsonReport;

/// JSON Schema, draft 2020-12: of the document; `$defs/Processes` is that of the document of several processes,
/// `$defs/Line` that of a line of NDJSON, `$defs/GraphDocument` and others those of `gcwatch graph`.
pub(crate) fn schema() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<Line>();
    generator.subschema_for::<Processes>();
    super::graph::add_schemas(&mut generator);
    let mut schema = generator.into_root_schema_for::<Document>();
    schema.insert("title".to_owned(), "gcwatch/1".into());
    schema
}

#[cfg(test)]
mod tests;
