//! From the model to the types of the wire; each file converts the types of the file of the same name in `types`.

pub(crate) mod assertions;
pub(crate) mod blocks;
pub(crate) mod collection;
pub(crate) mod document;
pub(crate) mod processes;
pub(crate) mod root_stats;
pub(crate) mod roots;
pub(crate) mod summary;
pub(crate) mod watch;
