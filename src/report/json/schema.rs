//! The JSON Schema of the JSON formats, generated from the types that they write.

use schemars::Schema;
use schemars::generate::SchemaSettings;

use super::ndjson::Line;
use super::types::document::Document;
use super::types::processes::Processes;

/// JSON Schema, draft 2020-12: of the document; `$defs/Processes` is that of the document of several processes,
/// `$defs/Line` that of a line of NDJSON.
pub(crate) fn schema() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<Line>();
    generator.subschema_for::<Processes>();
    let mut schema = generator.into_root_schema_for::<Document>();
    schema.insert("title".to_owned(), "gcwatch/1".into());
    schema
}
