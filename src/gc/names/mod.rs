//! Names of classes, methods and static fields. The profiler sends the definition of each id once; the tables make
//! readable names of them.

mod apply;
mod budget;
mod compose;
mod definitions;
mod event_text;
mod generated;
mod name;
mod origin;
mod tables;

pub(crate) use apply::apply;
pub(crate) use definitions::Definitions;
pub(crate) use event_text::{EventMethod, type_name};
pub(crate) use generated::field;
pub(crate) use name::{DYNAMIC, Name};
pub(crate) use origin::{Origin, framework};
pub(crate) use tables::Tables;
