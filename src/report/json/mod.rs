//! JSON: one document, or one line per collection. The types of the wire stand apart from the model.

mod assertions;
mod blocks;
mod convert;
mod held;
mod holders;
mod ndjson;
mod number;
mod read;
mod roots;
mod schema;
mod summary;
mod sums;
mod types;
mod writer;

pub(crate) use ndjson::NdjsonReport;
pub(crate) use number::Number;
pub(crate) use read::read;
pub(crate) use schema::schema;
pub(crate) use writer::JsonReport;

#[cfg(test)]
mod tests;
