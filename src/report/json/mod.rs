//! JSON: one document, or one line per collection. The types of the wire stand apart from the model.

mod ndjson;
mod number;
mod processes;
mod read;
mod schema;
mod types;
mod wire;
mod writer;

pub(crate) use ndjson::{NdjsonReport, overall_line};
pub(crate) use number::Number;
pub(crate) use processes::JsonProcesses;
pub(crate) use read::read;
pub(crate) use schema::schema;
pub(crate) use types::document::{TOOL, Tool};
pub(crate) use writer::JsonReport;

#[cfg(test)]
mod tests;
