//! The report on a heap graph: what is there, what holds it, and what is suspicious.

mod amounts;
mod difference;
mod document;
mod followed;
mod noise;
mod object;
mod page;
mod short;
mod steps;
mod suspects;
mod text;
mod waste;
mod waste_text;

use schemars::SchemaGenerator;

pub(crate) use difference::{DifferenceDocument, Side};
pub(crate) use document::{GraphDocument, generation as generation_text};
pub(crate) use followed::{FollowedDocument, IdentityDocument};
pub(crate) use noise::Noise;
pub(crate) use object::{ObjectDocument, TypeDocument, classes_like, classes_named};
pub(crate) use steps::{place as place_text, root as root_text};
pub(crate) use text::{object_text, text, type_text};

/// Describes the documents of `gcwatch graph`: `$defs/GraphDocument`, `GraphDifference`, `GraphObject` and `GraphType`.
pub(crate) fn add_schemas(generator: &mut SchemaGenerator) {
    generator.subschema_for::<GraphDocument>();
    generator.subschema_for::<DifferenceDocument>();
    generator.subschema_for::<ObjectDocument>();
    generator.subschema_for::<TypeDocument>();
}
